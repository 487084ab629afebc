// Exit codes of tributaryctl.
#pragma once

namespace tributary::cli {

inline constexpr int exit_success = 0;
inline constexpr int exit_failure = 1; ///< the switch or manager cannot be reached, or refused
inline constexpr int exit_usage = 2;

} // namespace tributary::cli
