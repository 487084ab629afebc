// Four switches with a coordinator, and the queries of its tests.
#pragma once

#include "fabric.hpp"
#include "tests/unit/controlplane/trees/trees.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace tributary::transaction {

inline constexpr TreeNumber tree7{7};
inline constexpr Vni vni{1024};
inline constexpr SwitchId s0{0};
inline constexpr SwitchId s1{1};
inline constexpr SwitchId s2{2};
inline constexpr SwitchId s3{3};

/// Root at switch 0, below it 1, below that 2.
inline test::TreeTarget chain(ContributionCount wait_count = 1) {
  return test::mesh_tree(tree7, vni, {{0, 0}, {1, 0}, {2, 1}}, wait_count);
}

/// Four switches, all connected, all linked to each other.
class CoordinatorTest : public ::testing::Test {
protected:
  CoordinatorTest() { fabric.connect_all(); }

  test::FakeSwitch& at(SwitchId s) { return *fabric.switches[s.value]; }
  [[nodiscard]] bool has_tree(SwitchId s, TreeNumber tree = tree7) {
    return at(s).trees.contains(tree.value);
  }
  [[nodiscard]] bool permits(SwitchId s, topology::Port port, Vni v = vni) {
    return at(s).permissions.contains({port, v.value});
  }
  /// The NID that the port is guarded for by the permission of this VNI.
  [[nodiscard]] std::optional<Nid> guard(SwitchId s, topology::Port port, Vni v = vni) {
    const auto found = at(s).permissions.find({port, v.value});
    return found == at(s).permissions.end() || found->second == 0
               ? std::nullopt
               : std::optional(Nid{found->second});
  }
  [[nodiscard]] unsigned holders() {
    return static_cast<unsigned>(
        std::count_if(fabric.switches.begin(), fabric.switches.end(),
                      [](const auto& s) { return s->trees.contains(tree7.value); }));
  }
  const Outcome& ended(TransactionNumber number) {
    const Outcome* outcome = fabric.outcome(number);
    EXPECT_NE(outcome, nullptr) << "transaction " << number.value << " has not ended";
    static const Outcome none{};
    return outcome == nullptr ? none : *outcome;
  }
  const Outcome& install_chain() {
    const auto number = fabric.set_tree(chain());
    fabric.run();
    return ended(number);
  }
  void refuse_at(SwitchId s, std::string why) {
    at(s).objection = [why = std::move(why)](const control::Prepare&) { return why; };
  }
  /// Delivers all messages for this switch, and its answers.
  void run_only(SwitchId s) {
    while (fabric.can_deliver_down(s.value)) {
      fabric.deliver_down(s.value);
    }
    while (!fabric.channels[s.value].up.empty()) {
      fabric.deliver_up(s.value);
    }
  }

  test::Fabric fabric{test::full_mesh(4)};
};

} // namespace tributary::transaction
