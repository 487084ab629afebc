// Tells the switch at the other end of an interface's cable who hangs here: hellos (wire/hello.hpp)
// through a port of its own that hears nothing. One thread at a time.
#pragma once

#include "lib/link/raw_socket.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/hello.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tributary::library {

class HelloSender {
public:
  /// How often `send_hello` is to be called: twice as often as the hellos promise, so that those
  /// that come late or are lost do not make a switch forget this host.
  static constexpr std::chrono::milliseconds interval{wire::host_hello_interval / 2};

  /// Throws LinkError when there is no such interface, or the process may not open raw sockets.
  /// What of `host_name` cannot stand in a hello is replaced by '-'.
  HelloSender(const std::string& interface, std::uint16_t ethertype, Nid nid,
              const std::string& host_name);

  /// Answers what went wrong, or an empty string. Never blocks. A hello that could not leave is
  /// sent by the next call, in place of its own.
  std::string send_hello() { return send(port_.pending() == 0 ? &hello_ : nullptr); }
  /// Says that this host will announce itself no more.
  void send_leave() { send(&leave_); }
  /// As it stands in the hellos.
  [[nodiscard]] const std::string& host_name() const { return host_name_; }

private:
  /// What waits, and the frame behind it if there is one.
  std::string send(const std::vector<std::byte>* frame);

  link::RawSocket port_;
  std::string host_name_;
  std::vector<std::byte> hello_;
  std::vector<std::byte> leave_;
};

/// The name of this machine, or "host".
[[nodiscard]] std::string machine_name();

} // namespace tributary::library
