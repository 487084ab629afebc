// Reports and queries of node inventories: api::Service's nodes. A node that has changed since its
// last report is an event for its jobs.
//
// Inventories are not stored: a restarted manager receives them with the next job that runs there.
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/fabric_controller/touched_jobs.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/job/node_inventory.hpp"
#include "controlplane/job_controller/access.hpp"
#include "controlplane/turns/events.hpp"
#include "controlplane/turns/manager_clock.hpp"

#include <string>

namespace tributary::job_controller {

class NodeReports {
public:
  struct Rooms {
    turns::ManagerClock& clock;
    const group::Registry& registry;
    const Access& access;
    const fabric_controller::TouchedJobs& touched;
    turns::Events& events;
  };
  explicit NodeReports(const Rooms& rooms) : rooms_(rooms) {}

  /// `job`: the reporting job; "" the administrator.
  void take(const std::string& node, job::NodeInventory inventory, const std::string& job);
  void report(const api::Caller& caller, const api::NodeReport& report, const api::Reply& reply);
  void view(const api::Caller& caller, const api::NodesRequest& request,
            const api::Reply& reply) const;

private:
  [[nodiscard]] boost::json::object json_of(const std::string& name,
                                            const job::NodeTable::Node& node) const;

  Rooms rooms_;
  job::NodeTable nodes_;
};

} // namespace tributary::job_controller
