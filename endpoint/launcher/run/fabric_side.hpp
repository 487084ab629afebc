// What tributary-run has to say to the fabric manager, and hears from it: the job's allocation
// before it starts, its nodes' changes and its ranks' questions while it runs, and the events that
// its ranks are told of. Without a manager the job runs all the same, unless it must not.
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
  /// All must stay where they are. `pump`: the launch has something to be done.
  FabricSide(boost::asio::io_context& io, const Options& options, control::Launch& launch,
             std::function<void()> pump)
      : io_(io), options_(options), launch_(launch), pump_(std::move(pump)) {}

  /// Once all nodes have greeted. The launch gets it, or what stands against it.
  void ask_for_allocation();
  /// A node has changed: the manager is told, and tells those whom it touches.
  void report(control::NodeIndex node);
  /// The launch gets the answer.
  void answer(const control::Question& question);
  /// Gives the job back, for a few seconds at most.
  void end();
  /// Whether the manager gave the job an allocation.
  [[nodiscard]] bool has_allocation() const { return has_allocation_; }

private:
  void allocated(fabric::Allocation allocation, const std::string& error);
  void follow_events(const fabric::Allocation& allocation);
  void say_whether_ranks_reach_it(const fabric::Allocation& allocation) const;
  /// MPI programs reduce in the network by a library that is preloaded. Answers why they cannot,
  /// where they must.
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
