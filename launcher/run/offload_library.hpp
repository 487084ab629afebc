// The library that brings reductions in the network to MPI programs as they are.
#pragma once

#include "launcher/messages/protocol.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tributary::launch::run {

/// LD_PRELOAD for ranks, in front of what the user preloads. Nothing where the program is linked
/// with no MPI library that there is one for, or where it is not installed.
[[nodiscard]] std::optional<messages::Value>
offload_library(const std::string& program,
                const std::vector<std::pair<std::string, std::string>>& variables);

} // namespace tributary::launch::run
