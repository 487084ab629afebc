// What ranks need so that their MPI library sends by libfabric, and libfabric by this fabric
// (--transport ofi).
#pragma once

#include "endpoint/launcher/job/rank_environment.hpp"

#include <filesystem>
#include <optional>

namespace tributary::launch::run {

/// Variables for Open MPI (whose usual settings at Debian leave libfabric out) and for MPICH where
/// it is built with it. `folder`: of the provider, where libfabric does not look for it itself.
[[nodiscard]] job::Variables ofi_variables(const std::optional<std::filesystem::path>& folder);

/// The folder of libtributary-fi.so: beside this program in a build, or installed; empty if it is
/// in neither.
[[nodiscard]] std::optional<std::filesystem::path> provider_folder();

} // namespace tributary::launch::run
