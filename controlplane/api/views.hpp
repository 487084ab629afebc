// The fabric as JSON, for people and programs: docs/protocol/manager-api.md.
//
//   const Views views(sight, now);
//   Answer page = views.list(only, request);
//   json::object one = views.json_of(group);
//
// Made for one request and then discarded: it reads the rooms as they are now. The service decides
// who may look at all; `OnlyJob` hides the groups and trees of other jobs.
//
// Files: views.cpp (selection), group_views.cpp, switch_views.cpp, memory_views.cpp,
// load_views.cpp, tree_views.cpp, topology_views.cpp. Pure.
#pragma once

#include "controlplane/api/page.hpp"
#include "controlplane/api/service.hpp"
#include "controlplane/group/registry.hpp"
#include "controlplane/multicast/planner.hpp"
#include "controlplane/southbound/protocol/switch_report.hpp"
#include "controlplane/topology/discovery.hpp"
#include "controlplane/transaction/coordinator.hpp"
#include "controlplane/trees/engine_loads.hpp"
#include "controlplane/trees/tree_states.hpp"
#include "controlplane/trees/wide_memory.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::api {

/// The rooms that the views read.
struct ReadView {
  const topology::Discovery& discovery;
  const group::Registry& registry;
  const group::Settings& settings;
  const transaction::Coordinator& coordinator;
  const trees::TreeStates& states;
  const trees::EngineLoads& engines;
  const trees::WideMemory& memory;
  const multicast::Planner& planner;
  const std::vector<southbound::protocol::SwitchReport>& switches; ///< by SwitchId
};

/// The only job whose groups, trees and events the caller sees; nothing: all jobs.
using OnlyJob = std::optional<std::string>;

class Views {
public:
  Views(const ReadView& read_view, TimeNs at) : read_view_(&read_view), at_(at) {}

  [[nodiscard]] Answer list(const OnlyJob& only, const ViewRequest& request) const;
  /// The object that `id` names: by number for links, trees and transactions, by name otherwise.
  [[nodiscard]] std::optional<boost::json::object> one(const OnlyJob& only, View what,
                                                       const std::string& id) const;
  /// A page of switches, hosts and links, one list after the other. The first page has the
  /// problems: `problems` and those of the topology and the engines.
  [[nodiscard]] Answer topology_page(const OnlyJob& only, const ViewRequest& request,
                                     std::vector<std::string> problems,
                                     std::span<const std::string> miscabled) const;

  [[nodiscard]] boost::json::object json_of(const group::Group& group) const;
  /// A group without its members, which may be many.
  [[nodiscard]] boost::json::object summary_of(const group::Group& group) const;
  [[nodiscard]] boost::json::object membership(const group::Group& group, std::uint32_t rank) const;
  /// The lease of this member, in ns.
  [[nodiscard]] std::uint64_t lease_of(const group::Group& group, std::uint32_t rank) const;

private:
  [[nodiscard]] const topology::Graph& graph() const { return read_view_->discovery.graph(); }
  [[nodiscard]] static bool sees(const OnlyJob& only, const group::Group& group) {
    return !only || group.job == *only;
  }
  [[nodiscard]] bool sees(const OnlyJob& only, const transaction::TransactionView& view) const;

  // group_views.cpp
  [[nodiscard]] static boost::json::object json_of(const group::Job& job);
  // Pages of lists, here and below: from a number on, or after a job's id.
  void list_groups(Page& page, const OnlyJob& only, const ViewRequest& request,
                   std::uint64_t from) const;
  void list_jobs(Page& page, const std::string& after) const;

  // switch_views.cpp
  [[nodiscard]] boost::json::object switch_json(topology::SwitchId id) const;
  [[nodiscard]] boost::json::object host_json(topology::HostId id, const OnlyJob& only) const;
  [[nodiscard]] boost::json::object link_json(topology::LinkId id) const;
  void list_switches(Page& page, std::uint64_t from) const;
  void list_hosts(Page& page, const OnlyJob& only, const ViewRequest& request,
                  std::uint64_t from) const;
  void list_links(Page& page, const ViewRequest& request, std::uint64_t from) const;

  // memory_views.cpp
  [[nodiscard]] boost::json::object memory_json(topology::SwitchId id, const OnlyJob& only) const;
  void list_memory(Page& page, const OnlyJob& only, const ViewRequest& request,
                   std::uint64_t from) const;

  // load_views.cpp
  [[nodiscard]] boost::json::object load_json(topology::SwitchId id) const;
  void list_loads(Page& page, const ViewRequest& request, std::uint64_t from) const;

  // topology_views.cpp
  /// Adds, as sentences, the engines that had no descriptor for an arm, or may run out of them.
  void add_starved_engines(std::vector<std::string>& problems) const;

  // tree_views.cpp
  [[nodiscard]] boost::json::object tree_json(const group::Group& group, std::size_t index) const;
  [[nodiscard]] boost::json::object
  transaction_json(const transaction::TransactionView& view) const;
  void list_trees(Page& page, const OnlyJob& only, const ViewRequest& request,
                  std::uint64_t from) const;
  void list_transactions(Page& page, const OnlyJob& only, std::uint64_t from) const;

  const ReadView* read_view_;
  TimeNs at_;
};

} // namespace tributary::api
