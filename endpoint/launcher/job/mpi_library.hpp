// Which MPI library a program is linked with. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary::launch::job {

enum class MpiLibrary : std::uint8_t { none, open_mpi, mpich };

/// Finds it by the names of shared libraries in the bytes of the program's file. `none` also for
/// scripts and for programs that load their MPI library later.
[[nodiscard]] MpiLibrary mpi_library_of(std::string_view program);

} // namespace tributary::launch::job
