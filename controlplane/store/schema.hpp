// The tables of a store, and the check of a file before it is used as one.
//
// A file is identified by two numbers in SQLite's header: the application id, "Trib", and the
// format version, which is 1. The tables are listed in docs/operate/fabric-manager-store.md.
#pragma once

#include "controlplane/store/sqlite.hpp"

#include <cstdint>
#include <filesystem>

namespace tributary::store {

/// Only reads: throws StoreError when the file is not a store, is damaged, or has another format
/// version. An empty file passes.
void check_format(Database& database, const std::filesystem::path& file);

/// The epoch of the next start, for a file that has its tables; does not write. Throws StoreError
/// for an empty file: it has no room for them.
std::uint64_t next_epoch(Database& database, const std::filesystem::path& file);

/// Inside a transaction: creates the tables in an empty file, and a fabric's identity where there
/// is none; counts this start as `epochs` ones. Returns the epoch.
std::uint64_t count_start(Database& database, std::uint32_t epochs = 1);

} // namespace tributary::store
