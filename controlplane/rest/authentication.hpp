// Who asks: what the Authorization header says, and who is at the other end of a Unix socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace tributary::rest {

/// The token of "Bearer TOKEN"; or of "Basic ...", where it is the password and the user's name is
/// ignored, for workload managers that know no other login. "" when the header holds neither.
[[nodiscard]] std::string token_of(std::string_view authorization);

/// Takes as long whether the first or the last byte differs.
[[nodiscard]] bool same_secret(std::string_view a, std::string_view b);

/// The user at the other end of a connected Unix socket.
[[nodiscard]] std::optional<uid_t> peer_user(int descriptor);
/// Root, and whoever runs this process.
[[nodiscard]] bool is_administrator(uid_t user);

} // namespace tributary::rest
