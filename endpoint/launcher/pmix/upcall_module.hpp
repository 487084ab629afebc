// The module of callbacks that the PMIx library gets. A process has one server, and so one receiver
// of upcalls.
#pragma once

#include "endpoint/launcher/pmix/server.hpp"

#include <pmix.h>
#include <pmix_server.h>

namespace tributary::launch::pmix {

/// Null: no receiver; then everything is answered with PMIX_ERR_NOT_AVAILABLE.
void set_upcalls(Upcalls* upcalls);
/// The name space whose ranks may be members of groups; to be set before a rank is started.
void set_job(const std::string& job);
[[nodiscard]] pmix_server_module_t& upcall_module();
/// 4 or 5: release of the library installed here, not of the one used for the build.
[[nodiscard]] int library_release();

/// Converts infos to bytes that another node's library can read, and back.
[[nodiscard]] std::string packed(pmix_info_t* infos, std::size_t count);
/// The caller frees them with PMIX_INFO_FREE; null and 0 when the bytes cannot be parsed.
[[nodiscard]] pmix_info_t* unpacked(const std::string& bytes, std::size_t& count);

} // namespace tributary::launch::pmix
