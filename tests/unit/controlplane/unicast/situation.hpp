// A fabric with faults, and the verifier's result.
#pragma once

#include "controlplane/unicast/algorithm.hpp"
#include "controlplane/unicast/verify.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace tributary::unicast {

struct Fabric {
  Shape shape;
  Network network;
  explicit Fabric(Shape made) : shape(std::move(made)), network(network_of(shape)) {}

  [[nodiscard]] Faults dead_leaves(std::initializer_list<std::uint32_t> leaves) const {
    Faults faults(shape);
    for (const std::uint32_t leaf : leaves) {
      faults.leaves.insert(leaf);
    }
    return faults;
  }
  [[nodiscard]] Verification check(const TableSet& tables, const Faults& real) const {
    const std::array<const TableSet*, 1> sets{&tables};
    return check(sets, real);
  }
  [[nodiscard]] Verification check(std::span<const TableSet* const> sets,
                                   const Faults& real) const {
    return verify(network, sets, port_states(shape, network, real), live_leaves(shape, real));
  }
  [[nodiscard]] Verification check(Algorithm& algorithm, const Faults& known,
                                   const Faults& real) const {
    return check(algorithm.tables(known), real);
  }
  [[nodiscard]] Verification check(Algorithm& algorithm, const Faults& known) const {
    return check(algorithm, known, known);
  }
};

/// Another algorithm's tables with every action changed: shows the purpose of a rule by leaving it
/// out.
template <typename Change> class Changed final : public Algorithm {
public:
  Changed(Algorithm& algorithm, Change change)
      : algorithm_(algorithm), change_(std::move(change)) {}
  [[nodiscard]] TableSet tables(const Faults& known) override {
    TableSet set = algorithm_.tables(known);
    for (forwarding_table::SwitchTable& table : set.switches) {
      std::ranges::for_each(table.actions, change_);
    }
    return set;
  }

private:
  Algorithm& algorithm_;
  Change change_;
};

} // namespace tributary::unicast
