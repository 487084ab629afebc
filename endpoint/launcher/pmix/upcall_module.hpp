// The module of callbacks that the PMIx library is given. There is one server in a process, so
// there is one receiver of upcalls.
#pragma once

#include "endpoint/launcher/pmix/server.hpp"

#include <pmix.h>
#include <pmix_server.h>

namespace tributary::launch::pmix {

/// Null: nobody; then everything is answered with PMIX_ERR_NOT_AVAILABLE.
void set_upcalls(Upcalls* upcalls);
/// The name space whose ranks may be members of groups; before a rank is started.
void set_job(const std::string& job);
[[nodiscard]] pmix_server_module_t& upcall_module();
/// 4 or 5: of the library of this machine, not of the one that it was built with.
[[nodiscard]] int library_release();

/// Infos as bytes that another node's library understands, and back.
[[nodiscard]] std::string packed(pmix_info_t* infos, std::size_t count);
/// The caller frees them with PMIX_INFO_FREE; null and 0 when it is nothing that can be read.
[[nodiscard]] pmix_info_t* unpacked(const std::string& bytes, std::size_t& count);

} // namespace tributary::launch::pmix
