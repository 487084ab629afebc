// Which job has which VNI: given out one a job, or brought by the caller.
//
// A VNI is what keeps one job's frames out of another's groups, so no two jobs have one in common,
// whether it was given out or brought. A job holds a VNI as often as it claimed it (once for
// itself, once for each group that brings it) and has lost it when it has released it as often.
//
// Pure.
#pragma once

#include "controlplane/group/number_pool.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tributary::group {

class VniTable {
public:
  /// Gives out `first` to `last`; any may be brought.
  VniTable(Vni first, Vni last) : pool_(first.value, last.value) {}

  /// The next VNI that no job has, claimed once.
  std::optional<Vni> give_out(const std::string& job);
  /// False when another job has it.
  bool claim(Vni vni, const std::string& job);
  void release(Vni vni);

  /// "" when nobody has it.
  [[nodiscard]] std::string_view holder(Vni vni) const;
  [[nodiscard]] NumberPool& pool() { return pool_; }
  [[nodiscard]] const NumberPool& pool() const { return pool_; }

private:
  struct Held {
    std::string job;
    std::uint32_t claims = 0;
  };
  std::map<Vni, Held> held_;
  NumberPool pool_;
};

} // namespace tributary::group
