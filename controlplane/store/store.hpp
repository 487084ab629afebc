// The manager's memory on disk: one SQLite file.
//
//   store::Store store("/var/lib/tributary/fabric.db");    locks, migrates, raises the epoch
//   group::Registry registry(settings, random, store.load_sound(), now);
//   ...
//   store.apply(registry.take_changes());                  durable when it returns
//
// `apply` is one transaction: all of it is on disk when it returns, or nothing is and it throws.
// What is acknowledged to anybody after `apply` returned is never lost, whatever kills the process
// or the machine. After a throw the store stays usable: the same changes may be applied again when
// there is room on the disk.
//
// A file belongs to one manager at a time (locks on PATH.lock and on the file itself, which the
// kernel releases however the process ends). A file that is removed or replaced while it is open is
// noticed by `apply` and `expect_in_place`. Files, back-up and versions:
// docs/operate/fabric-manager-store.md.
//
// Shell: blocks on the disk. All calls from one thread.
#pragma once

#include "controlplane/records/records.hpp"
#include "controlplane/store/store_error.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace tributary::store {

struct StoreOptions {
  /// The largest the file may grow to; 0: as the disk allows. Beyond it `apply` says no_room.
  std::uint64_t size_limit_bytes = 0;
};

class Store {
public:
  /// Opens the file, creates it when it is not there, brings an older one up to date. Throws
  /// StoreError; then the file is as it was. Where there is no room, a file of this version is
  /// opened all the same: it can be read, and the first `apply` that finds room stores the epoch as
  /// well.
  explicit Store(const std::filesystem::path& file, const StoreOptions& options = {});
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  /// Of this start.
  [[nodiscard]] std::uint64_t epoch() const;
  /// Why nothing can be written: the disk was full when the file was opened, and `apply` has not
  /// found room since. "" otherwise.
  [[nodiscard]] const std::string& failure() const;
  /// All that is stored and can be read; what cannot is named in `set_aside`. Throws StoreError.
  [[nodiscard]] records::Snapshot load();
  /// The same without records that contradict each other (soundness.hpp), for a manager to start
  /// with. Where anything was left out, the file as it was is copied to FILE.damaged-EPOCH, and
  /// those records are erased from it. Throws StoreError.
  [[nodiscard]] records::Snapshot load_sound();
  /// In this order, whole or not at all. Throws StoreError.
  void apply(std::span<const records::Change> changes);
  /// Throws StoreError when the file was removed or replaced since it was opened, so that what is
  /// written to it would be lost. Looks at names only, and is cheap.
  void expect_in_place();

private:
  struct Open;
  std::unique_ptr<Open> open_;
};

} // namespace tributary::store
