// The fabric manager's client on a thread of its own: it waits, and tributary-run must not. Answers
// come on the event loop's thread. It renews the lease of the job's allocation.
#pragma once

#include "endpoint/launcher/fabric/fabric_client.hpp"

#include <boost/asio/io_context.hpp>

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
  FabricThread(boost::asio::io_context& io, fabric::FabricSettings settings);
  /// Gives the job back, for a few seconds at most.
  ~FabricThread();
  FabricThread(const FabricThread&) = delete;
  FabricThread& operator=(const FabricThread&) = delete;

  /// `error` is "" or why there is no allocation.
  void allocate(std::vector<fabric::NodeFacts> nodes,
                std::function<void(fabric::Allocation allocation, std::string error)> done);
  /// What a node has now; there is nobody to be told that this failed but the user.
  void report(std::string node, messages::Hello hello);
  /// Without an answer of the manager: status 0, and why in the body.
  void request(fabric::Request request, std::function<void(fabric::Reply)> done);

private:
  using Clock = std::chrono::steady_clock;

  void run();
  void renew();
  void work(std::function<void()> task);

  boost::asio::io_context& io_;
  fabric::FabricClient client_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
  // The thread's own.
  std::optional<Clock::time_point> next_renewal_; ///< of the allocation's lease
  Clock::time_point renewed_{};
  bool said_ = false;  ///< that the manager does not answer
  std::thread thread_; // last: it uses all of the others
};

} // namespace tributary::launch::run
