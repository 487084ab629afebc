// Fields that existing Slingshot tools read, in their exact form (docs/protocol/manager-api.md).
//
// Their parser reads a MAC address from its top octet down: three octets alone would read as host
// 0, and anything in the upper three would be shifted out of range. So a root is sent as six
// octets, the first three of them zero.
#pragma once

#include "tributary/types.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

namespace tributary::api {

/// "hwRoot" of this host: "00:00:00:01:23:45".
[[nodiscard]] inline std::string hardware_root_text(Nid nid) {
  return fmt::format("00:00:00:{:02x}:{:02x}:{:02x}", nid.value >> 16 & 0x0FU,
                     nid.value >> 8 & 0xFFU, nid.value & 0xFFU);
}

/// The host that a MAC address names: "0:12:34", "00:00:00:00:12:34", or its form on the wire,
/// "02:00:00:00:12:34". Nothing for any other text, or if it is not a unicast NID.
[[nodiscard]] std::optional<Nid> parse_mac(std::string_view text);

} // namespace tributary::api
