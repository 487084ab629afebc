#include "dataplane/lldp/lldpdu.hpp"

#include "tributary/wire/byte_order.hpp"

#include <algorithm>
#include <array>

namespace tributary::lldp {
namespace {

enum Type : std::uint8_t {
  end = 0,
  chassis_id = 1,
  port_id = 2,
  time_to_live = 3,
  port_description = 4,
  system_name = 5,
  system_description = 6,
  capabilities = 7,
};

// Subtypes of identifiers.
constexpr std::uint8_t chassis_is_mac = 4;
constexpr std::uint8_t chassis_is_address = 5;
constexpr std::uint8_t chassis_is_local = 7;
constexpr std::uint8_t port_is_mac = 3;
constexpr std::uint8_t port_is_address = 4;
constexpr std::uint8_t port_is_name = 5;

constexpr std::size_t longest_id = 255;

std::string hex(std::span<const std::byte> bytes, std::string_view between) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes.first(std::min(bytes.size(), longest_text / 3))) {
    text += text.empty() ? "" : between;
    text += digits[std::to_integer<unsigned>(b) >> 4U];
    text += digits[std::to_integer<unsigned>(b) & 15U];
  }
  return text;
}

/// Text that a terminal and a log can show.
std::string printable(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes.first(std::min(bytes.size(), longest_text))) {
    const char c = static_cast<char>(b);
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  return text;
}

std::string id_text(std::span<const std::byte> value, std::uint8_t mac, std::uint8_t address) {
  const auto subtype = std::to_integer<std::uint8_t>(value[0]);
  const auto id = value.subspan(1);
  return subtype == mac && id.size() == 6       ? hex(id, ":")
         : subtype == mac || subtype == address ? hex(id, "")
                                                : printable(id);
}

class Writer {
public:
  explicit Writer(const wire::MacAddress& source) : frame_(wire::ethernet_header_bytes) {
    wire::write_ethernet_header(frame_.data(), destination, source, wire::lldp_ethertype);
  }
  void add(Type type, std::span<const std::byte> value) {
    frame_.push_back(static_cast<std::byte>(std::size_t{type} << 1U | value.size() >> 8U));
    frame_.push_back(static_cast<std::byte>(value.size()));
    frame_.insert(frame_.end(), value.begin(), value.end());
  }
  void add(Type type, std::string_view text) {
    if (!text.empty()) {
      add(type, std::as_bytes(std::span(text.substr(0, longest_text))));
    }
  }
  void add_id(Type type, std::uint8_t subtype, std::string_view text) {
    std::vector<std::byte> value{static_cast<std::byte>(subtype)};
    const auto bytes = std::as_bytes(std::span(text.substr(0, longest_text)));
    value.insert(value.end(), bytes.begin(), bytes.end());
    add(type, value);
  }
  void add_numbers(Type type, std::initializer_list<std::uint16_t> numbers) {
    std::vector<std::byte> value;
    for (const std::uint16_t number : numbers) {
      value.push_back(static_cast<std::byte>(number >> 8U));
      value.push_back(static_cast<std::byte>(number));
    }
    add(type, value);
  }
  std::vector<std::byte> take() {
    add(end, std::span<const std::byte>());
    frame_.resize(std::max(frame_.size(), wire::shortest_ethernet_frame_bytes));
    return std::move(frame_);
  }

private:
  std::vector<std::byte> frame_;
};

} // namespace

std::vector<std::string_view> capability_names(std::uint16_t capabilities) {
  constexpr std::array<std::string_view, 11> all = {
      "other",       "repeater", "bridge", "access_point", "router", "telephone",
      "cable_modem", "station",  "c_vlan", "s_vlan",       "relay"};
  std::vector<std::string_view> names;
  for (std::size_t bit = 0; bit < all.size(); ++bit) {
    if ((capabilities >> bit & 1U) != 0) {
      names.push_back(all[bit]);
    }
  }
  return names;
}

std::vector<std::byte> encode(const Announcement& announcement, const wire::MacAddress& source) {
  Writer out(source);
  out.add_id(chassis_id, chassis_is_local, announcement.chassis);
  out.add_id(port_id, port_is_name, announcement.port);
  out.add_numbers(time_to_live, {announcement.ttl_seconds});
  if (announcement.ttl_seconds != 0) {
    out.add(port_description, announcement.port_description);
    out.add(system_name, announcement.system_name);
    out.add(system_description, announcement.system_description);
    out.add_numbers(capabilities, {announcement.capabilities, announcement.capabilities});
  }
  return out.take();
}

Error decode(std::span<const std::byte> frame, Announcement& out) {
  if (frame.size() < wire::ethernet_header_bytes ||
      wire::ethertype_of(frame.data()) != wire::lldp_ethertype) {
    return Error::no_lldp;
  }
  Announcement found;
  found.ttl_seconds = 0;
  unsigned number = 0;
  std::array<bool, capabilities + 1> seen{};
  for (auto rest = frame.subspan(wire::ethernet_header_bytes); !rest.empty(); ++number) {
    if (rest.size() < 2) {
      return Error::truncated;
    }
    const auto head = wire::load_be<std::uint16_t>(rest.data());
    const auto type = static_cast<unsigned>(head >> 9U);
    const std::size_t length = head & 0x1FFU;
    if (rest.size() - 2 < length) {
      return Error::truncated;
    }
    const auto value = rest.subspan(2, length);
    rest = rest.subspan(2 + length);
    if (number < 3 ? type != number + 1 : type >= chassis_id && type <= time_to_live) {
      return Error::wrong_order;
    }
    if (type == end) {
      break;
    }
    if (type > capabilities || seen[type]) {
      continue;
    }
    seen[type] = true;
    switch (type) {
    case chassis_id:
    case port_id:
      if (value.size() < 2 || value.size() > 1 + longest_id) {
        return Error::bad_id;
      }
      (type == chassis_id ? found.chassis : found.port) =
          type == chassis_id ? id_text(value, chassis_is_mac, chassis_is_address)
                             : id_text(value, port_is_mac, port_is_address);
      break;
    case time_to_live:
      if (value.size() < 2) {
        return Error::bad_ttl;
      }
      found.ttl_seconds = wire::load_be<std::uint16_t>(value.data());
      break;
    case port_description: found.port_description = printable(value); break;
    case system_name: found.system_name = printable(value); break;
    case system_description: found.system_description = printable(value); break;
    default:
      if (value.size() >= 4) {
        found.capabilities = wire::load_be<std::uint16_t>(value.data() + 2);
      }
    }
  }
  if (number < 3) {
    return Error::wrong_order;
  }
  out = std::move(found);
  return Error::none;
}

} // namespace tributary::lldp
