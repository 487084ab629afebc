// A store in one SQLite file.
//
//   store::SqliteStore store("/var/lib/tributary/fabric.db");    locks, checks, raises the epoch
//   group::Registry registry(settings, random, store.load_sound(), now);
//   ...
//   store.apply(registry.take_changes());                  durable when it returns
//
// `apply` is one transaction: all of it is on disk when it returns, or nothing is and it throws;
// `fenced` does not occur, because the locks below keep other managers away. A change that is
// acknowledged after `apply` returned is never lost, whatever kills the process or the machine.
//
// A file belongs to one manager at a time (locks on PATH.lock and on the file itself, which the
// kernel releases however the process ends). A file that is removed or replaced while it is open is
// noticed by `apply` and `expect_in_place`. Files, back-up and versions:
// docs/operate/fabric-manager-store.md.
//
// Shell: blocks on the disk. All calls from one thread.
#pragma once

#include "controlplane/store/store.hpp"

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

class SqliteStore final : public Store {
public:
  /// Opens the file, and creates it when it is missing. Throws StoreError, also for a file of
  /// another format version; then the file is unchanged. If the disk is full, a file with its
  /// tables is opened all the same: it can be read, and the first `apply` that finds room stores
  /// the epoch as well.
  explicit SqliteStore(const std::filesystem::path& file, const StoreOptions& options = {});
  ~SqliteStore() override;
  SqliteStore(SqliteStore&&) noexcept;
  SqliteStore& operator=(SqliteStore&&) noexcept;

  [[nodiscard]] std::uint64_t epoch() const override;
  /// The disk was full when the file was opened, and `apply` has not found room since.
  [[nodiscard]] const std::string& failure() const override;
  [[nodiscard]] records::Snapshot load() override;
  /// The copy is FILE.damaged-EPOCH.
  [[nodiscard]] records::Snapshot load_sound() override;
  void apply(std::span<const records::Change> changes) override;
  /// Throws StoreError when the file was removed or replaced since it was opened, so that writes
  /// would be lost. Checks names only.
  void expect_in_place() override;
  [[nodiscard]] Leadership& leadership() override;

private:
  struct Open;
  std::unique_ptr<Open> open_;
};

/// All records of a file, also while a manager has it open. Throws StoreError.
[[nodiscard]] records::Snapshot read_store(const std::filesystem::path& file);
/// Makes a file that holds these records; the epoch of the next start is above theirs, and the
/// fabric is theirs, unless it is 0. The file
/// must not exist, and does not unless all is in it. Throws StoreError.
void make_store(const std::filesystem::path& file, const records::Snapshot& all);

} // namespace tributary::store
