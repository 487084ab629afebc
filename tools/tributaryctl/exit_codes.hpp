// How tributaryctl ends.
#pragma once

namespace tributary::cli {

inline constexpr int exit_success = 0;
inline constexpr int exit_failure = 1; ///< who was asked cannot be reached, or refused
inline constexpr int exit_usage = 2;

} // namespace tributary::cli
