// What the options of a host leave to the environment.
#pragma once

#include "tributary/tributary.h"

namespace tributary::library {

struct Progress {
  bool thread = false;     ///< of the host's own, from the beginning
  bool may_thread = false; ///< nobody asked for the caller's alone: what needs one may begin it
};
/// On whose thread the host makes progress. Throws std::invalid_argument when the option, or
/// TRIBUTARY_PROGRESS where it decides, is none of those there are.
[[nodiscard]] Progress progress_of(const tributary_host_options& options);

/// Whether frames travel through AF_XDP sockets. Throws likewise, of TRIBUTARY_TRANSPORT.
[[nodiscard]] bool wants_af_xdp(const tributary_host_options& options);

} // namespace tributary::library
