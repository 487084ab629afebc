// The tables, and how a file of an older version becomes one of today's.
//
// A file says what it is in two numbers of SQLite's header: the application id, "Trib", and the
// format version. Each version has a step that leads to it from the one before; a new file takes
// all steps. Format versions are listed in docs/operate/fabric-manager-store.md.
#pragma once

#include "controlplane/store/sqlite.hpp"

#include <cstdint>
#include <filesystem>
#include <span>

namespace tributary::store {

/// What leads from version N to N + 1, in order, beginning with 0 to 1.
[[nodiscard]] std::span<const char* const> migrations();

/// Looks without touching: throws StoreError when the file is something else, damaged, or of a
/// version above `migrations().size()`.
void check_format(Database& database, const std::filesystem::path& file);

/// The epoch that the next start has, of a file that needs no step; nothing is written. Throws
/// StoreError for one that does: there is no room for them.
std::uint64_t next_epoch(Database& database, const std::filesystem::path& file);

/// Inside a transaction: takes the steps that are missing and counts this start. Answers the epoch.
std::uint64_t migrate_and_count(Database& database,
                                std::span<const char* const> steps = migrations());

} // namespace tributary::store
