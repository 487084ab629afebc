// The manager's memory on disk: one SQLite file.
//
//   store::Store store("/var/lib/tributary/fabric.db");    locks, migrates, raises the epoch
//   group::Registry registry(settings, random, store.load(), now);
//   ...
//   store.apply(registry.take_changes());                  durable when it returns
//
// `apply` is one transaction: all of it is on disk when it returns, or nothing is and it throws.
// What is acknowledged to anybody after `apply` returned is never lost, whatever kills the process
// or the machine. After a throw the store stays usable: the same changes may be applied again when
// there is room on the disk.
//
// A file belongs to one manager at a time (a lock on PATH.lock, which the kernel releases however
// the process ends). Files, back-up and versions: docs/operate/fabric-manager-store.md.
//
// Shell: blocks on the disk. All calls from one thread.
#pragma once

#include "controlplane/store/records.hpp"
#include "controlplane/store/store_error.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace tributary::store {

struct StoreOptions {
  /// The largest the file may grow to; 0: as the disk allows. Beyond it `apply` says no_room.
  std::uint64_t size_limit_bytes = 0;
};

class Store {
public:
  /// Opens the file, creates it when it is not there, brings an older one up to date. Throws
  /// StoreError; then the file is as it was.
  explicit Store(const std::filesystem::path& file, const StoreOptions& options = {});
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  /// Of this start.
  [[nodiscard]] std::uint64_t epoch() const;
  /// All that is stored. Throws StoreError.
  [[nodiscard]] Snapshot load();
  /// In this order, whole or not at all. Throws StoreError.
  void apply(std::span<const Change> changes);

private:
  struct Open;
  std::unique_ptr<Open> open_;
};

} // namespace tributary::store
