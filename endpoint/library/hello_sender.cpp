#include "endpoint/library/hello_sender.hpp"

#include "lib/link/link_error.hpp"
#include "tributary/wire/hello.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace tributary::library {

namespace {

/// A name in characters that hellos can carry.
std::string in_hello_letters(std::string name, std::size_t longest) {
  name.resize(std::min(name.size(), longest));
  for (char& c : name) {
    if (!wire::has_hello_letters_only({&c, 1})) {
      c = '-';
    }
  }
  return name;
}

/// Room for a pending hello and the leave after it; neither is sent by a full burst.
constexpr link::RawSocket::Options only_sends{.bypass_queueing = false,
                                              .hears = false,
                                              .receive_buffer_bytes = 0,
                                              .longest_frame = wire::longest_hello_frame_bytes,
                                              .frames_at_once = 4};

} // namespace

HelloSender::HelloSender(const std::string& interface, std::uint16_t ethertype, Nid nid,
                         const std::string& host_name)
    : port_(std::in_place, interface, ethertype, only_sends), host_name_(hello_name(host_name)) {
  wire::Hello hello;
  hello.kind = wire::HelloKind::host;
  hello.nid = nid;
  hello.interval_ms = static_cast<std::uint16_t>(wire::host_hello_interval.count());
  hello.name = host_name_;
  hello.port_name = in_hello_letters(interface, wire::max_hello_port_name);
  hello_ = wire::encode(hello, ethertype);
  hello.interval_ms = 0;
  leave_ = wire::encode(hello, ethertype);
}

std::string hello_name(std::string name) {
  name = in_hello_letters(std::move(name), wire::max_hello_name);
  return name.empty() ? "host" : name;
}

std::string HelloSender::send(const std::vector<std::byte>* frame) {
  try {
    if (frame != nullptr) {
      if (frame->size() > port_->longest_frame()) {
        throw link::link_error(EMSGSIZE, port_->interface(), "announcing this host");
      }
      std::memcpy(port_->room(), frame->data(), frame->size());
      port_->push(static_cast<std::uint32_t>(frame->size()));
    }
    port_->flush();
  } catch (const link::LinkError& error) {
    return error.what();
  }
  return port_->pending() == 0
             ? std::string()
             : fmt::format("interface '{}' takes no frames right now", port_->interface());
}

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "host";
}

} // namespace tributary::library
