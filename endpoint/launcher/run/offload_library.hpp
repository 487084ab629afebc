// The library that brings reductions in the network to MPI programs as they are.
#pragma once

#include "endpoint/launcher/messages/protocol.hpp"

#include <optional>
#include <string>

namespace tributary::launch::run {

struct OffloadLibrary {
  std::string name; ///< "" where the program is linked with no MPI library that there is one for
  /// LD_PRELOAD for ranks, in front of what is preloaded here; nothing: it is not installed.
  std::optional<messages::Value> preload;
};
[[nodiscard]] OffloadLibrary offload_library(const std::string& program);

} // namespace tributary::launch::run
