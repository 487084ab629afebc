// Calls back when an interface of this network namespace, or a rule of nftables, may have changed.
// Bursts of changes are one call, and calls are `shortest_pause` apart. A change that the kernel
// could not announce is found by the next look, `longest_pause` later at most.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>

namespace tributary::hostd {

class KernelWatch {
public:
  static constexpr std::chrono::milliseconds gathering{20};
  static constexpr std::chrono::milliseconds shortest_pause{500};
  static constexpr std::chrono::seconds longest_pause{30};

  /// Throws std::runtime_error. `changed` is called on the loop.
  KernelWatch(boost::asio::io_context& context, std::function<void()> changed);

private:
  boost::asio::awaitable<void> follow(boost::asio::posix::stream_descriptor& events);
  boost::asio::awaitable<void> look_regularly();
  void gather();

  boost::asio::io_context& context_;
  std::function<void()> changed_;
  boost::asio::posix::stream_descriptor interfaces_;
  boost::asio::posix::stream_descriptor rules_;
  boost::asio::steady_timer soon_;
  bool gathers_ = false;
  boost::asio::steady_timer::time_point last_call_{};
};

} // namespace tributary::hostd
