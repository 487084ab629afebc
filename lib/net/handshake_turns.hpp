// Serialises a server's TLS handshakes: each takes most of a millisecond of its thread, for any
// client. Between two of them everything else that is ready runs; addresses take turns, and within
// one address the latest connection is next: older ones that still wait are more likely to have
// given up, or to be a flood.
//
//   co_await turns.wait("10.1.2.3");          after the first bytes: silent clients hold up no one
//   co_await stream.async_handshake(...)
//
// So a flood of handshakes delays others by one handshake per source address, and otherwise itself.
// On the loop's thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace tributary::net {

class HandshakeTurns : public std::enable_shared_from_this<HandshakeTurns> {
public:
  explicit HandshakeTurns(boost::asio::any_io_executor loop) : loop_(std::move(loop)) {}

  boost::asio::awaitable<void> wait(std::string address);
  [[nodiscard]] std::size_t waiting() const { return waiting_; }

private:
  using Timer = std::shared_ptr<boost::asio::steady_timer>; ///< cancelled when it is its turn
  void next_soon();
  void next();

  boost::asio::any_io_executor loop_;
  std::list<std::string> round_; ///< addresses with waiting handshakes, the next one first
  std::unordered_map<std::string, std::vector<Timer>> by_address_;
  std::size_t waiting_ = 0;
  bool is_due_ = false; ///< `next` is scheduled
};

} // namespace tributary::net
