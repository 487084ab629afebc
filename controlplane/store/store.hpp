// The manager's persistent state, whatever keeps it: one file (sqlite_store.hpp), or etcd for
// managers that stand in for each other (controlplane/etcd/store.hpp).
//
//   records::Snapshot past = store.load_sound();      at the start of a manager
//   store.apply(changes);                             durable when it returns
//   store.apply({});                                  confirms that this manager leads
//
// An `apply` has one of three ends.
//   It returns: all changes are durable, and this manager led the fabric at some time during the
//     call, so what it answers about the state before the call is true.
//   It throws StoreError: nothing of the changes was or will be stored. They may be applied again.
//   It throws StoreError of kind `fenced`: this manager does not lead any more, and never will on
//     this object. Some of the changes may be stored. Nothing may be answered, and nothing sent to
//     switches: the process steps down.
// Where the outcome is unknown, because an answer was lost, `apply` repeats the same changes until
// it is known. It may take as long as etcd is away; `Leadership` says so meanwhile.
//
// All calls from one thread, which they may block, but for `leadership`.
#pragma once

#include "controlplane/records/records.hpp"
#include "controlplane/store/leadership.hpp"
#include "controlplane/store/store_error.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace tributary::store {

class Store {
public:
  Store() = default;
  virtual ~Store() = default;

  /// The epoch of this start, or of this leadership: higher than all before on this store.
  [[nodiscard]] virtual std::uint64_t epoch() const = 0;
  /// Why writing is impossible from the start, although reading is not; "" otherwise.
  [[nodiscard]] virtual const std::string& failure() const = 0;
  /// All readable records; unreadable ones are named in `set_aside`. Throws StoreError.
  [[nodiscard]] virtual records::Snapshot load() = 0;
  /// The same without records that contradict each other (soundness.hpp). If any were left out, a
  /// copy of what was there is kept, and they are erased. Throws StoreError.
  [[nodiscard]] virtual records::Snapshot load_sound() = 0;
  /// In this order. Without changes it only confirms that this manager leads. Throws StoreError.
  virtual void apply(std::span<const records::Change> changes) = 0;
  /// Throws StoreError when a write would be lost or impossible now. Cheap.
  virtual void expect_in_place() = 0;
  /// Valid as long as the store.
  [[nodiscard]] virtual Leadership& leadership() = 0;

protected:
  Store(Store&&) noexcept = default;
  Store& operator=(Store&&) noexcept = default;
};

} // namespace tributary::store
