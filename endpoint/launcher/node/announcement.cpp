#include "endpoint/launcher/node/announcement.hpp"

#include "lib/link/link_error.hpp"
#include "lib/link/raw_socket.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/hello.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::launch::node {

namespace {

constexpr std::string_view made_for_the_fabric = "02:00:00:0";

std::optional<Nid> host_at(const std::string& address) {
  std::uint32_t value = 0;
  std::string digits = address.substr(std::min(address.size(), made_for_the_fabric.size()));
  std::erase(digits, ':');
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (!address.starts_with(made_for_the_fabric) || error != std::errc() ||
      end != digits.data() + digits.size() || value == 0 || !wire::is_valid_nid(Nid{value})) {
    return std::nullopt;
  }
  return Nid{value};
}

std::string in_hello_letters(std::string name, std::size_t longest) {
  name.resize(std::min(name.size(), longest));
  for (char& c : name) {
    c = wire::has_hello_letters_only({&c, 1}) ? c : '-';
  }
  return name;
}

void say(const std::string& interface, Nid nid, const std::string& host) {
  wire::Hello hello;
  hello.kind = wire::HelloKind::host;
  hello.nid = nid;
  hello.interval_ms = static_cast<std::uint16_t>(wire::host_hello_interval.count());
  hello.name = host.empty() ? "host" : in_hello_letters(host, wire::max_hello_name);
  hello.port_name = in_hello_letters(interface, wire::max_hello_port_name);
  const std::vector<std::byte> frame = wire::encode(hello, wire::default_ethertype);
  link::RawSocket port(interface, wire::default_ethertype,
                       {.bypass_queueing = false,
                        .hears = false,
                        .receive_buffer_bytes = 0,
                        .longest_frame = wire::longest_hello_frame_bytes,
                        .frames_at_once = 1});
  if (frame.size() <= port.longest_frame()) {
    std::memcpy(port.room(), frame.data(), frame.size());
    port.push(static_cast<std::uint32_t>(frame.size()));
    port.flush();
  }
}

} // namespace

void announce(const messages::Hello& node, std::optional<Nid> announced) {
  for (const messages::Interface& interface : node.interfaces()) {
    if (const auto nid = host_at(interface.address()); nid && nid != announced && interface.up()) {
      try {
        say(interface.name(), *nid, node.host());
      } catch (const link::LinkError&) {
        // No permission, or the interface has gone: the manager knows the host, or reports that it
        // waits.
      }
    }
  }
}

} // namespace tributary::launch::node
