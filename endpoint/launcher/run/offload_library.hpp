// The library that offloads the reductions of unmodified MPI programs.
#pragma once

#include "endpoint/launcher/job/mpi_library.hpp"
#include "endpoint/launcher/messages/protocol.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::launch::run {

/// --mpi: which MPI library ranks use.
enum class MpiChoice : std::uint8_t {
  found, ///< the one of which the command is, as far as that can be seen
  open_mpi,
  mpich,
  none ///< the program reduces by the host library, or not at all
};

struct OffloadLibrary {
  std::string name; ///< "" where no offload library is meant, or the MPI library was not found
  /// LD_PRELOAD for ranks, with the value inherited here at its end; nullopt: not installed.
  std::optional<messages::Value> preload;
  /// Neither an MPI library was found nor that the program does without one.
  bool unknown = false;
};
/// `directory`: the ranks' working directory, where relative paths of the command begin.
[[nodiscard]] OffloadLibrary offload_library(const std::vector<std::string>& command,
                                             const std::string& directory, MpiChoice choice);

} // namespace tributary::launch::run
