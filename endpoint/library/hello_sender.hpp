// Announces this host to the switch at the other end of an interface's link: hellos
// (wire/hello.hpp) through a send-only port of its own. One thread at a time. Where the node's host
// agent announces the host, a program's sender has only its name.
#pragma once

#include "lib/link/raw_socket.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/hello.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tributary::library {

class HelloSender {
public:
  /// How often `send_hello` is to be called: twice as often as the hellos promise, so that late or
  /// lost ones do not make a switch forget this host.
  static constexpr std::chrono::milliseconds interval{wire::host_hello_interval / 2};

  /// Throws LinkError when the interface does not exist, or the process may not open raw sockets.
  /// Characters of `host_name` that a hello cannot carry are replaced by '-'.
  HelloSender(const std::string& interface, std::uint16_t ethertype, Nid nid,
              const std::string& host_name);
  /// Sends nothing: the host agent announces this host, by this name.
  explicit HelloSender(std::string announced_name) : host_name_(std::move(announced_name)) {}

  /// Returns what went wrong, or an empty string. Never blocks. A hello that could not leave is
  /// sent by the next call, in place of its own.
  std::string send_hello() {
    return port_ ? send(port_->pending() == 0 ? &hello_ : nullptr) : std::string();
  }
  /// Announces that this host leaves.
  void send_leave() {
    if (port_) {
      send(&leave_);
    }
  }
  /// As the hellos carry it.
  [[nodiscard]] const std::string& host_name() const { return host_name_; }

private:
  /// Sends a pending frame, and then `frame` if not null.
  std::string send(const std::vector<std::byte>* frame);

  std::optional<link::RawSocket> port_;
  std::string host_name_;
  std::vector<std::byte> hello_;
  std::vector<std::byte> leave_;
};

/// A name as hellos carry it: other characters are replaced by '-'.
[[nodiscard]] std::string hello_name(std::string name);

/// The name of this machine, or "host".
[[nodiscard]] std::string machine_name();

} // namespace tributary::library
