// What the options of a host leave to the environment.
#pragma once

#include "tributary/tributary.h"

namespace tributary::library {

/// Whether the host makes progress on a thread of its own. Throws std::invalid_argument when the
/// option, or TRIBUTARY_PROGRESS where it decides, is none of those there are.
[[nodiscard]] bool has_progress_thread(const tributary_host_options& options);

/// Whether frames travel through AF_XDP sockets. Throws likewise, of TRIBUTARY_TRANSPORT.
[[nodiscard]] bool wants_af_xdp(const tributary_host_options& options);

} // namespace tributary::library
