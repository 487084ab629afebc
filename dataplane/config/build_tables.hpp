// From a switch's configuration to the snapshot its workers read.
#pragma once

#include "dataplane/config/config.hpp"
#include "lib/configuration/diagnostic.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tributary::config {

/// Null if the core rejects something; `findings` then contains the reason and its line. A
/// configuration that was parsed without error always builds.
[[nodiscard]] std::shared_ptr<const core::Tables>
build_tables(const Switch& config, std::uint64_t version,
             std::vector<configuration::Diagnostic>& findings);

} // namespace tributary::config
