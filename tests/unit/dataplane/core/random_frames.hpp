// Random frames around the interesting cases: few trees, few sequences, few groups, so that frames
// interact; now and then a broken one.
#pragma once

#include "tests/unit/dataplane/core/test_switch.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace tributary::core::test {

using tributary::test::Random;
using tributary::test::seed;

/// Trees 0 to 3 are reduction trees, 4 is an ordinary one, 5 does not exist. Tree 0 waits for 3,
/// tree 1 for 1, tree 2 for 7 with port 3 as its parent, tree 3 for 4. So one endpoint is behind
/// each child port of trees 1 and 3. NID 2 is on another switch, and is reached through spares.
inline TablesBuilder random_test_tables(const EngineTimers& timers) {
  TablesBuilder b(timers);
  for (std::size_t i = 0; i < port_count; ++i) {
    EXPECT_EQ(b.add_port({}), "");
  }
  EXPECT_EQ(b.add_tree(TreeNumber{0}, 3, PortNumber{0}, PortSet{0b00110}), "");
  EXPECT_EQ(b.add_tree(TreeNumber{1}, 1, PortNumber{0}, PortSet{0b00010}), "");
  EXPECT_EQ(b.add_tree(TreeNumber{2}, 7, PortNumber{3}, PortSet{0b00111}), "");
  EXPECT_EQ(b.add_tree(TreeNumber{3}, 4, PortNumber{0}, PortSet{0b11110}), "");
  EXPECT_EQ(b.add_tree(TreeNumber{4}, 0, PortNumber{0}, PortSet{0b11110}), "");
  EXPECT_EQ(b.add_route(Nid{1}, PortNumber{1}), "");
  auto routes = std::make_shared<forwarding_table::Routes>();
  routes->table = {.self = 0,
                   .destinations = 2,
                   .vcs = 1,
                   .words = 1,
                   .classes = std::vector<std::uint16_t>(port_count),
                   .row_of = {0},
                   .rows = {0, 0},
                   .actions = {forwarding_table::Action{.ports = 1, .spares = 2}},
                   .port_words = {0, 0, 0b111000}};
  routes->hosts =
      std::make_shared<const forwarding_table::HostRuns>(forwarding_table::HostRuns{{2, 1, 1}});
  routes->fabric_ports = {0b111000};
  b.set_routes(std::move(routes));
  return b;
}

/// Few descriptors and short timers of 0.1 to 0.4 ms, so that both run out.
inline SwitchSettings random_test_settings() {
  SwitchSettings settings;
  settings.descriptors_per_engine = 2; // so that arms fail for want of one in every run
  settings.timers.limits = {2, 4, 6};
  settings.timers.units = {83, 166, 249, 332};
  return settings;
}

class RandomFrames {
public:
  explicit RandomFrames(std::uint64_t seed) : random_(seed) {}

  /// Below `limit`.
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  PortNumber port() { return PortNumber{static_cast<std::uint8_t>(below(port_count))}; }

  /// A frame that could arrive at `in`, most of the time.
  wire::ReductionFrame reduction() {
    static constexpr wire::Opcode ops[] = {wire::Opcode::int_sum, wire::Opcode::int_sum,
                                           wire::Opcode::int_sum, wire::Opcode::bit_xor,
                                           wire::Opcode::int_max, wire::Opcode::barrier};
    wire::ReductionFrame f = contribution(static_cast<std::uint32_t>(1000 + below(60)),
                                          Nid{static_cast<std::uint32_t>(1 + below(4))});
    if (!one_in(4)) {
      f.word.seqno = SequenceNumber{static_cast<std::uint32_t>(1020 + below(3))};
    }
    f.word.resno = f.word.seqno;
    f.tree = TreeNumber{static_cast<std::uint16_t>(below(one_in(10) ? 6 : 4))};
    f.reduction = ReductionId{static_cast<std::uint8_t>(below(2))};
    f.signature = random_() & wire::signature_mask;
    if (one_in(12)) {
      f.cookie = Cookie{7};
    }
    if (one_in(20)) {
      f.vni = Vni{7};
    }
    f.word.arm = one_in(5);
    f.word.count = static_cast<ContributionCount>(one_in(8) ? below(5) : 1);
    f.word.op = static_cast<std::uint8_t>(ops[one_in(4) ? below(std::size(ops)) : 0]);
    if (one_in(30)) {
      f.word.op = static_cast<std::uint8_t>(below(64));
    }
    f.word.rc = static_cast<std::uint8_t>(one_in(10) ? below(9) : 0);
    f.word.pad = static_cast<std::uint8_t>(below(8));
    for (auto& w : f.payload) {
      w = one_in(3) ? random_() : below(100);
    }
    return f;
  }

  Frame frame() {
    Frame f(reduction());
    if (one_in(20)) {
      wire::store_be<std::uint32_t>(
          f.portals() + wire::portals_offset::dfa,
          wire::FabricAddress::unicast(Nid{static_cast<std::uint32_t>(below(3))}).value);
      f.fix_checksum();
    }
    if (one_in(10)) {
      f.bytes()[below(f.bytes().size())] ^= static_cast<std::byte>(1 + below(255));
      if (one_in(2)) {
        f.fix_checksum();
      }
    }
    if (one_in(30)) {
      f.resize(below(200));
    }
    return f;
  }

private:
  Random random_;
};

} // namespace tributary::core::test
