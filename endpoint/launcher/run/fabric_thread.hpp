// The fabric manager's client on a thread of its own: it blocks, and tributary-run must not.
// Answers are delivered on the event loop's thread. It renews the lease of the job's allocation.
#pragma once

#include "endpoint/launcher/fabric/fabric_client.hpp"

#include <boost/asio/io_context.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace tributary::launch::run {

class FabricThread {
public:
  /// `ask_for`: how long to ask for an allocation while the manager is away; 0: once.
  FabricThread(boost::asio::io_context& io, fabric::FabricSettings settings,
               std::chrono::seconds ask_for);
  /// Releases the job, for a few seconds at most.
  ~FabricThread();
  FabricThread(const FabricThread&) = delete;
  FabricThread& operator=(const FabricThread&) = delete;

  /// `error`: why the allocation failed; "" on success.
  void allocate(std::vector<fabric::NodeFacts> nodes,
                std::function<void(fabric::Allocation allocation, std::string error)> done);
  /// Reports what a node has now; a failure is reported to the user only.
  void report(std::string node, messages::Hello hello);
  /// Without an answer of the manager: status 0, and the reason in the body.
  void request(fabric::Request request, std::function<void(fabric::Reply)> done);

private:
  using Clock = std::chrono::steady_clock;

  void run();
  void renew();
  void work(std::function<void()> task);
  [[nodiscard]] fabric::Allocation allocate(const std::vector<fabric::NodeFacts>& nodes);

  boost::asio::io_context& io_;
  fabric::FabricClient client_;
  std::chrono::seconds ask_for_;
  std::atomic<bool> is_asking_ = false; ///< for an allocation
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  // Used only by the thread.
  std::optional<Clock::time_point> next_renewal_; ///< of the lease
  Clock::time_point renewed_{};
  bool said_ = false;  ///< the missing answer of the manager was reported
  std::thread thread_; // last: it uses all of the others
};

} // namespace tributary::launch::run
