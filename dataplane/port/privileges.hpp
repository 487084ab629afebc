// The capabilities that each kind of port needs, checked before anything is opened, so that the
// message names what is missing instead of what failed for lack of it.
#pragma once

#include "dataplane/config/config.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::port {

/// The privileges of this process; a value, so that tests can provide it.
struct Privileges {
  std::uint64_t capabilities = 0;        ///< effective set, one bit per capability number
  std::uint64_t locked_memory_bytes = 0; ///< RLIMIT_MEMLOCK

  static Privileges of_this_process();
  /// Bit `capability` of the effective set, e.g. CAP_NET_ADMIN.
  [[nodiscard]] bool has(unsigned capability) const {
    return (capabilities >> capability & 1U) != 0;
  }
};

/// Empty if a port of this kind can be opened; otherwise the names of what is missing, such as
/// "CAP_NET_ADMIN, CAP_NET_RAW".
[[nodiscard]] std::string missing_privileges(config::PortKind kind, const Privileges& have);

} // namespace tributary::port
