// Identity of a caller: by the Authorization header, or by the peer of a Unix socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace tributary::rest {

/// The token of "Bearer TOKEN", or the password of "Basic ...", whose user name is ignored, for
/// workload managers that support no other login. "" when the header holds neither.
[[nodiscard]] std::string token_of(std::string_view authorization);

/// Compares in constant time.
[[nodiscard]] bool same_secret(std::string_view a, std::string_view b);

/// The user at the other end of a connected Unix socket.
[[nodiscard]] std::optional<uid_t> peer_user(int descriptor);
/// Root, and the user that runs this process.
[[nodiscard]] bool is_administrator(uid_t user);

} // namespace tributary::rest
