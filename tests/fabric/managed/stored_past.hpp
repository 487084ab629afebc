// A store in memory: what a manager in the virtual fabric finds again after it was killed.
#pragma once

#include "controlplane/store/records.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::fabric {

class StoredPast {
public:
  StoredPast() { snapshot_.epoch = 0; }
  void apply(std::span<const store::Change> changes);
  /// For the next start: the epoch rises.
  [[nodiscard]] store::Snapshot load();
  [[nodiscard]] std::uint64_t writes() const { return writes_; }

private:
  store::Snapshot snapshot_;
  std::uint64_t writes_ = 0;
};

} // namespace tributary::fabric
