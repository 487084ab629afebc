// Tells the switch at the other end of an interface's cable who hangs here: a socket of its own
// that sends hellos (wire/hello.hpp) and hears nothing. One thread at a time.
#pragma once

#include "endpoint/transport/file_descriptor.hpp"
#include "tributary/types.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tributary::transport {

class Announcer {
public:
  /// How often `announce` is to be called. The hellos themselves promise the next one within twice
  /// that, so that one that comes late, or is lost, does not make a switch forget this host.
  static constexpr std::chrono::milliseconds interval{1000};

  /// Throws TransportError when there is no such interface, or the process may not open raw
  /// sockets. What of `host_name` cannot stand in a hello is replaced by '-'.
  Announcer(const std::string& interface, std::uint16_t ethertype, Nid nid,
            const std::string& host_name);

  /// Answers what went wrong, or an empty string. Never blocks.
  std::string announce() { return send(hello_); }
  /// Says that this host will announce itself no more.
  void say_good_bye() { send(good_bye_); }
  /// As it stands in the hellos.
  [[nodiscard]] const std::string& host_name() const { return host_name_; }

private:
  std::string send(const std::vector<std::byte>& frame);

  std::string interface_;
  std::string host_name_;
  int interface_index_ = 0;
  FileDescriptor socket_;
  std::vector<std::byte> hello_;
  std::vector<std::byte> good_bye_;
};

/// The name of this machine, or "host".
[[nodiscard]] std::string machine_name();

} // namespace tributary::transport
