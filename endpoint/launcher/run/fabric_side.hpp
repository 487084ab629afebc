// tributary-run's exchanges with the fabric manager: the job's allocation before it starts, its
// nodes' changes and its ranks' questions while it runs, and the events that its ranks receive.
// Without a manager the job runs all the same, unless one is required.
#pragma once

#include "endpoint/launcher/control/event_relay.hpp"
#include "endpoint/launcher/control/launch.hpp"
#include "endpoint/launcher/run/event_thread.hpp"
#include "endpoint/launcher/run/fabric_thread.hpp"
#include "endpoint/launcher/run/options.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <string>

namespace tributary::launch::run {

class FabricSide {
public:
  /// The arguments must outlive this object. `pump`: called when the launch has something to do.
  FabricSide(boost::asio::io_context& io, const Options& options, control::Launch& launch,
             std::function<void()> pump)
      : io_(io), options_(options), launch_(launch), pump_(std::move(pump)) {}

  /// Call it once all nodes have sent their hello. The launch gets the allocation or the reason why
  /// not.
  void ask_for_allocation();
  /// A node has changed: notifies the manager, which notifies those concerned.
  void report(control::NodeIndex node);
  /// Passes the answer to the launch.
  void answer(const control::Question& question);
  /// Releases the job, for a few seconds at most.
  void end();
  /// Whether the manager gave the job an allocation.
  [[nodiscard]] bool has_allocation() const { return has_allocation_; }

private:
  void allocated(fabric::Allocation allocation, const std::string& error);
  void follow_events(const fabric::Allocation& allocation);
  void say_whether_ranks_reach_it(const fabric::Allocation& allocation) const;
  /// Sets up the preloaded library by which MPI programs reduce in the network. Returns why that is
  /// not possible, if it is required.
  [[nodiscard]] std::string offload(fabric::Allocation& allocation) const;

  boost::asio::io_context& io_;
  const Options& options_;
  control::Launch& launch_;
  std::function<void()> pump_;
  std::unique_ptr<FabricThread> fabric_;
  manager_client::ClientSettings manager_; ///< with the job's token, once there is one
  control::EventRelay relay_;
  std::unique_ptr<EventThread> events_;
  bool has_allocation_ = false;
};

} // namespace tributary::launch::run
