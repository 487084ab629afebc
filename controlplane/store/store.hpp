// The manager's persistent state: one SQLite file.
//
//   store::Store store("/var/lib/tributary/fabric.db");    locks, checks, raises the epoch
//   group::Registry registry(settings, random, store.load_sound(), now);
//   ...
//   store.apply(registry.take_changes());                  durable when it returns
//
// `apply` is one transaction: all of it is on disk when it returns, or nothing is and it throws. A
// change that is acknowledged after `apply` returned is never lost, whatever kills the process or
// the machine. After a throw the store stays usable: the same changes may be applied again when the
// disk has room.
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
  /// Maximum size of the file; 0: limited by the disk only. Beyond it `apply` throws no_room.
  std::uint64_t size_limit_bytes = 0;
  /// By how much this start raises the epoch: more than 1 where managers on a newer copy of the
  /// file may have started since.
  std::uint32_t epochs = 1;
};

class Store {
public:
  /// Opens the file, and creates it when it is missing. Throws StoreError, also for a file of
  /// another format version; then the file is unchanged. If the disk is full, a file with its
  /// tables is opened all the same: it can be read, and the first `apply` that finds room stores
  /// the epoch as well.
  explicit Store(const std::filesystem::path& file, const StoreOptions& options = {});
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  /// The epoch of this start.
  [[nodiscard]] std::uint64_t epoch() const;
  /// Why writing is impossible: the disk was full when the file was opened, and `apply` has not
  /// found room since. "" otherwise.
  [[nodiscard]] const std::string& failure() const;
  /// All readable records; unreadable ones are named in `set_aside`. Throws StoreError.
  [[nodiscard]] records::Snapshot load();
  /// The same without records that contradict each other (soundness.hpp), for the start of a
  /// manager. If any were left out, the original file is copied to FILE.damaged-EPOCH, and those
  /// records are erased from it. Throws StoreError.
  [[nodiscard]] records::Snapshot load_sound();
  /// In this order, all or none. Throws StoreError.
  void apply(std::span<const records::Change> changes);
  /// Throws StoreError when the file was removed or replaced since it was opened, so that writes
  /// would be lost. Checks names only, and is cheap.
  void expect_in_place();

private:
  struct Open;
  std::unique_ptr<Open> open_;
};

} // namespace tributary::store
