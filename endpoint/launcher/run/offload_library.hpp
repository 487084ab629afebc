// The library that offloads the reductions of unmodified MPI programs.
#pragma once

#include "endpoint/launcher/messages/protocol.hpp"

#include <optional>
#include <string>

namespace tributary::launch::run {

struct OffloadLibrary {
  std::string name; ///< "" where no offload library matches the MPI library of the program
  /// LD_PRELOAD for ranks, with the value inherited here at its end; nullopt: not installed.
  std::optional<messages::Value> preload;
};
[[nodiscard]] OffloadLibrary offload_library(const std::string& program);

} // namespace tributary::launch::run
