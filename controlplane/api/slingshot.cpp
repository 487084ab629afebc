#include "controlplane/api/slingshot.hpp"

#include "tributary/wire/fabric_address.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>

namespace tributary::api {
std::optional<Nid> parse_mac(std::string_view text) {
  std::array<std::uint8_t, 6> octets{};
  std::size_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    if (count == octets.size() || end - at < 1 || *at == ':') {
      return std::nullopt;
    }
    const char* const limit = end - at > 2 ? at + 2 : end;
    const auto [after, error] = std::from_chars(at, limit, octets[count], 16);
    if (error != std::errc{}) {
      return std::nullopt;
    }
    ++count;
    at = after;
    if (at == end) {
      break;
    }
    if (*at++ != ':') {
      return std::nullopt;
    }
  }
  const std::size_t low = count - 3;
  if (count != 3 && (count != 6 || (octets[0] & ~2U) != 0 || octets[1] != 0 || octets[2] != 0)) {
    return std::nullopt;
  }
  const Nid nid{std::uint32_t{octets[low]} << 16 | std::uint32_t{octets[low + 1]} << 8 |
                octets[low + 2]};
  return wire::is_valid_nid(nid) ? std::optional(nid) : std::nullopt;
}

} // namespace tributary::api
