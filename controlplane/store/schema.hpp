// The tables, and the migration of older files.
//
// A file is identified by two numbers in SQLite's header: the application id, "Trib", and the
// format version. Each version has a step that migrates the previous one; a new file takes all
// steps. Format versions are listed in docs/operate/fabric-manager-store.md.
#pragma once

#include "controlplane/store/sqlite.hpp"

#include <cstdint>
#include <filesystem>
#include <span>

namespace tributary::store {

/// The step from version N to N + 1, in order, starting with 0 to 1.
[[nodiscard]] std::span<const char* const> migrations();

/// Only reads: throws StoreError when the file is not a store, is damaged, or has a version above
/// `migrations().size()`.
void check_format(Database& database, const std::filesystem::path& file);

/// The epoch of the next start, for a file that needs no migration; does not write. Throws
/// StoreError for one that does: it has no room for the steps.
std::uint64_t next_epoch(Database& database, const std::filesystem::path& file);

/// Inside a transaction: runs the missing steps and counts this start. Returns the epoch.
std::uint64_t migrate_and_count(Database& database,
                                std::span<const char* const> steps = migrations());

} // namespace tributary::store
