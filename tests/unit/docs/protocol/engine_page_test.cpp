// docs/protocol/engine.md against the core: the reasons for which frames are dropped, and the order
// in which a switch asks.
#include "dataplane/core/drop_reason.hpp"
#include "tests/support/page_table.hpp"
#include "tests/unit/dataplane/core/wide_frames.hpp"
#include "tests/unit/docs/protocol/names_in.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tributary::core::test {
namespace {

using tributary::test::names_in;
using tributary::test::page_table;

constexpr auto page = "docs/protocol/engine.md";
constexpr Nid guarded{0x12345};
constexpr std::size_t payload = 64;
constexpr std::uint32_t longest = 1000;

std::vector<std::string> reasons() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < drop_reason_count; ++i) {
    names.emplace_back(name_of(static_cast<DropReason>(i)));
  }
  return names;
}

TEST(EnginePage, lists_every_drop_reason_and_no_other_one) {
  std::vector<std::string> listed;
  for (const auto& row : page_table(page, "| drop reason |")) {
    ASSERT_EQ(row.size(), 3U);
    EXPECT_THAT(row[1], ::testing::AnyOf("in", "out", "both")) << row[0];
    const auto names = names_in(row[0]);
    ASSERT_EQ(names.size(), 1U) << row[0];
    listed.push_back(names[0]);
  }
  EXPECT_THAT(listed, ::testing::UnorderedElementsAreArray(reasons()));
}

TEST(QueuesPage, names_no_drop_reason_that_there_is_not) {
  for (const auto& row : page_table("docs/protocol/queues.md", "| reason | counted for |")) {
    EXPECT_THAT(names_in(row[0]), ::testing::IsSubsetOf(reasons()));
  }
}

TEST(EnginePage, names_no_drop_reason_that_there_is_not) {
  for (const std::string_view head :
       {"| case | action | counted as |", "| asked | otherwise |", "| asked, in this order |"}) {
    const auto rows = page_table(page, head);
    ASSERT_FALSE(rows.empty()) << head;
    for (const auto& row : rows) {
      if (row.size() == 3 && row[1].find("drop") == std::string::npos) {
        continue; // it does not count a drop there
      }
      for (const auto& name : names_in(row.back())) {
        EXPECT_THAT(reasons(), ::testing::Contains(name)) << row[0];
      }
    }
  }
}

/// A wide contribution to a tree of 16 slots, and its ingress port.
struct Given {
  Frame frame = [] {
    wire::WideFrame f = wide_contribution(5, guarded, ReductionId{9});
    f.payload_bytes = payload;
    return wide_frame(f);
  }();
  PortNumber in = child;

  [[nodiscard]] std::uint32_t dfa() {
    return wire::load_be<std::uint32_t>(frame.portals() + wire::portals_offset::dfa);
  }
  void set_dfa(std::uint32_t value) {
    wire::store_be<std::uint32_t>(frame.portals() + wire::portals_offset::dfa, value);
  }
};

/// A change that fails a check, by the page's reason for it. Each leaves the fields of earlier
/// checks unchanged, except the checksum, which is written last.
const std::vector<std::pair<std::string, std::function<void(Given&)>>>& breaks() {
  static const std::vector<std::pair<std::string, std::function<void(Given&)>>> all = {
      {"runt", [](Given& g) { g.frame.resize(33); }},
      {"too_long", [](Given& g) { g.frame.resize(longest + 1); }},
      {"foreign_ethertype", [](Given& g) { g.frame.bytes()[12] = std::byte{0x08}; }},
      {"bad_version", [](Given& g) { g.frame.set(0, 0x46); }},
      {"bad_checksum",
       [](Given& g) { g.frame.set(10, 0xFF & ~std::to_integer<unsigned>(g.frame.portals()[10])); }},
      {"source_guard", [](Given& g) { g.frame.set(13, 0x99); }},
      {"vni_not_permitted", [](Given& g) { g.frame.set(4, 0x77); }},
      {"bad_action", [](Given& g) { g.set_dfa(g.dfa() ^ 4U); }},
      {"unknown_tree", [](Given& g) { g.set_dfa(g.dfa() ^ 1U << 15); }},
      {"not_on_tree", [](Given& g) { g.in = stranger; }},
      {"bad_length", [](Given& g) { g.frame.set(3, 48 + payload + 1); }},
      {"truncated", [](Given& g) { g.frame.resize(wire::wide_header_bytes + payload - 1); }},
      {"bad_request", [](Given& g) { g.frame.set(30, 7); }},
      {"bad_form", [](Given& g) { g.frame.set(31, 0x12); }},
      {"bad_reduction_id", [](Given& g) { g.set_dfa(g.dfa() | 3U << 21); }},
  };
  return all;
}

TestSwitch asking_switch() {
  TestSwitch s;
  TablesBuilder builder({}, default_wide_memory);
  auto vnis = std::make_shared<VniSet>();
  vnis->set(vni.value);
  for (std::size_t i = 0; i < port_count; ++i) {
    EXPECT_EQ(builder.add_port({.nid = guarded, .vnis = vnis, .longest_frame = longest}), "");
  }
  EXPECT_EQ(
      builder.add_tree(tree, wait_count, parent, children, {.slots = 16, .payload_bytes = payload}),
      "");
  s.adopt(std::move(builder));
  return s;
}

/// The frame that fails these questions and no other one.
std::string dropped_as(TestSwitch& s, const std::vector<std::size_t>& failed) {
  Given given;
  // The later ones first: where two write the same field, the earlier one takes precedence.
  bool checksum_fails = false;
  for (auto i = failed.rbegin(); i != failed.rend(); ++i) {
    checksum_fails |= breaks()[*i].first == "bad_checksum";
    if (breaks()[*i].first != "bad_checksum") {
      breaks()[*i].second(given);
    }
  }
  if (given.frame.bytes().size() >= shortest_frame_bytes) {
    given.frame.fix_checksum();
    if (checksum_fails) {
      std::ranges::find(breaks(), "bad_checksum",
                        &std::pair<std::string, std::function<void(Given&)>>::first)
          ->second(given);
    }
  }
  const Decision d = s.give(given.in, given.frame);
  return d.action == Action::drop ? std::string(name_of(d.reason)) : std::string(name_of(d.action));
}

TEST(EnginePage, a_switch_asks_in_the_order_of_the_page) {
  std::vector<std::string> order;
  for (const std::string_view head : {"| asked | otherwise |", "| asked, in this order |"}) {
    for (const auto& row : page_table(page, head)) {
      for (const auto& name : names_in(row.back())) {
        order.push_back(name);
      }
    }
  }
  // The page's names again, as far as one frame can fail them all, each at its last place.
  std::vector<std::string> wanted;
  for (const auto& [name, function] : breaks()) {
    wanted.push_back(name);
  }
  std::vector<std::string> of_one_frame;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool again = std::find(order.begin() + static_cast<std::ptrdiff_t>(i) + 1, order.end(),
                                 order[i]) != order.end();
    if (!again && std::ranges::find(wanted, order[i]) != wanted.end()) {
      of_one_frame.push_back(order[i]);
    }
  }
  EXPECT_EQ(of_one_frame, wanted);

  TestSwitch s = asking_switch();
  EXPECT_EQ(dropped_as(s, {}), name_of(Action::forward)) << "nothing is wrong with it";
  for (std::size_t i = 0; i < breaks().size(); ++i) {
    EXPECT_EQ(dropped_as(s, {i}), breaks()[i].first) << "alone";
    std::vector<std::size_t> rest;
    for (std::size_t j = i; j < breaks().size(); ++j) {
      rest.push_back(j);
    }
    EXPECT_EQ(dropped_as(s, rest), breaks()[i].first) << "with all that is asked later";
    for (std::size_t j = i + 1; j < breaks().size(); ++j) {
      EXPECT_EQ(dropped_as(s, {i, j}), breaks()[i].first) << "with " << breaks()[j].first;
    }
  }
}

} // namespace
} // namespace tributary::core::test
