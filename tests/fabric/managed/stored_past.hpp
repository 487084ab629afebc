// A store in memory: the state that a manager in the virtual fabric recovers after it was killed.
#pragma once

#include "controlplane/records/records.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::fabric {

class StoredPast {
public:
  /// `fabric` is the identity of the fabric that the store was made with.
  explicit StoredPast(std::uint64_t fabric = 0xFAB) {
    snapshot_.epoch = 0;
    snapshot_.fabric = fabric;
  }
  void apply(std::span<const records::Change> changes);
  /// For the next start: the epoch rises.
  [[nodiscard]] records::Snapshot load();
  [[nodiscard]] std::uint64_t writes() const { return writes_; }

private:
  records::Snapshot snapshot_;
  std::uint64_t writes_ = 0;
};

} // namespace tributary::fabric
