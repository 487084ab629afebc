// Host options that are taken from the environment.
#pragma once

#include "tributary/tributary.h"
#include "tributary/types.hpp"

#include <optional>
#include <string>

namespace tributary::library {

struct Progress {
  bool thread = false;     ///< a thread of the host's own, from the beginning
  bool may_thread = false; ///< progress on the caller's thread was not required: a function that
                           ///< needs a thread may begin one
};
/// The thread on which the host makes progress. Throws std::invalid_argument when the option, or
/// TRIBUTARY_PROGRESS where it decides, has an unknown value.
[[nodiscard]] Progress progress_of(const tributary_host_options& options);

/// Whether frames travel through AF_XDP sockets. Throws as above, for TRIBUTARY_TRANSPORT.
[[nodiscard]] bool wants_af_xdp(const tributary_host_options& options);

/// The job that the environment names, by TRIBUTARY_JOB_ID or as existing tools name it.
[[nodiscard]] std::optional<std::string> job_of_environment();
/// The VNI in TRIBUTARY_VNI. Throws std::invalid_argument if it is not one.
[[nodiscard]] std::optional<Vni> vni_of_environment();

} // namespace tributary::library
