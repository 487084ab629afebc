// Base64 (RFC 4648, section 4), in which etcd's gateway writes keys and values. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tributary::etcd::protocol {

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Nothing when the text is not base64 with its padding.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

} // namespace tributary::etcd::protocol
