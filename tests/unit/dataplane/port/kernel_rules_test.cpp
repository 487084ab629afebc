// Flow rules of an interface, with a stand-in for the kernel's answers.
#include "dataplane/port/kernel_rules.hpp"

#include "dataplane/port/tree_steering.hpp"
#include "tests/unit/dataplane/port/network_namespace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <initializer_list>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include <arpa/inet.h>
#include <linux/ethtool.h>

namespace tributary::port::test {
namespace {

using placement::Bucket;
using placement::Placement;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A driver with a table of rules, as the kernel shows it.
struct Nic {
  std::uint32_t size = 256;
  bool picks_places = false;
  bool replaces = true; ///< else a rule in a place that is taken is refused
  int counts = 0;       ///< errno of the question how many there are
  int takes_mask = 0;   ///< errno of a rule whose address has a mask
  std::map<std::uint32_t, ethtool_rx_flow_spec> rules{};
  std::size_t without_rule = 0; ///< removals
  std::function<void()> between_count_and_list{};

  int answer(ethtool_rxnfc& c) {
    switch (c.cmd) {
    case ETHTOOL_GRXCLSRLCNT:
      c.rule_cnt = static_cast<std::uint32_t>(rules.size());
      c.data = size | (picks_places ? RX_CLS_LOC_SPECIAL : 0U);
      if (between_count_and_list) {
        std::exchange(between_count_and_list, nullptr)();
      }
      return counts;
    case ETHTOOL_GRXCLSRLALL: {
      if (c.rule_cnt < rules.size()) {
        return EMSGSIZE;
      }
      auto* at = reinterpret_cast<std::byte*>(&c) + offsetof(ethtool_rxnfc, rule_locs);
      for (const auto& [place, rule] : rules) {
        std::memcpy(at, &place, sizeof place);
        at += sizeof place;
      }
      c.rule_cnt = static_cast<std::uint32_t>(rules.size());
      c.data = size;
      return 0;
    }
    case ETHTOOL_GRXCLSRULE:
      if (!rules.contains(c.fs.location)) {
        return ENOENT;
      }
      c.fs = rules.at(c.fs.location);
      return 0;
    case ETHTOOL_SRXCLSRLDEL: ++without_rule; return rules.erase(c.fs.location) != 0 ? 0 : ENOENT;
    case ETHTOOL_SRXCLSRLINS: return insert(c.fs);
    default: return EOPNOTSUPP;
    }
  }
  int insert(ethtool_rx_flow_spec& rule) {
    const std::uint32_t mask = ntohl(rule.m_u.usr_ip4_spec.ip4dst);
    if (takes_mask != 0 && mask != 0 && mask != UINT32_MAX) {
      return takes_mask;
    }
    if (rule.location == RX_CLS_LOC_ANY) {
      if (!picks_places) {
        return EINVAL;
      }
      rule.location = 0;
      while (rules.contains(rule.location)) {
        ++rule.location;
      }
    } else if (rules.contains(rule.location) && !replaces) {
      return EEXIST;
    }
    if (rule.location >= size) {
      return ENOSPC;
    }
    rules[rule.location] = rule;
    return 0;
  }
  /// The queue of a frame to this address; -1: whichever the device picks.
  [[nodiscard]] int queue_of(TreeNumber tree) const {
    const std::uint32_t to = wire::FabricAddress::multicast(tree, ReductionId{5}).value;
    for (const auto& [place, rule] : rules) {
      if ((to & ntohl(rule.m_u.usr_ip4_spec.ip4dst)) == ntohl(rule.h_u.usr_ip4_spec.ip4dst)) {
        return static_cast<int>(rule.ring_cookie);
      }
    }
    return -1;
  }
  [[nodiscard]] KernelRules::Ask ask() {
    return [this](ethtool_rxnfc& c) { return answer(c); };
  }
  [[nodiscard]] std::unique_ptr<TreeSteering> steering() {
    return std::make_unique<TreeSteering>(std::make_unique<KernelRules>(ask()));
  }
};

/// As an operator sets it: TCP to a port.
ethtool_rx_flow_spec of_operator(std::uint32_t place) {
  ethtool_rx_flow_spec rule{};
  rule.flow_type = TCP_V4_FLOW;
  rule.h_u.tcp_ip4_spec.pdst = htons(22);
  rule.m_u.tcp_ip4_spec.pdst = 0xFFFF;
  rule.location = place;
  return rule;
}

void expect_as_placed(const Nic& nic, const Placement& placement) {
  for (const std::uint16_t t :
       std::initializer_list<std::uint16_t>{0, 1, 6, 7, 127, 128, 129, 8190, 8191}) {
    EXPECT_EQ(nic.queue_of(TreeNumber{t}), static_cast<int>(placement.worker_of(TreeNumber{t})))
        << t;
  }
}

TEST(KernelRules, bring_each_tree_to_its_workers_queue_and_move_it) {
  for (const bool picks : {false, true}) {
    for (const bool replaces : {false, true}) {
      Nic nic{.picks_places = picks, .replaces = replaces};
      const std::unique_ptr<TreeSteering> steering = nic.steering();
      Placement placement(4);
      steering->place(placement);
      EXPECT_EQ(steering->refused(), 0U) << steering->why_refused();
      EXPECT_THAT(nic.rules, SizeIs(placement::bucket_count));
      expect_as_placed(nic, placement);
      placement.set(Bucket{7}, 0);
      placement.set(Bucket{6}, 1);
      steering->place(placement);
      EXPECT_THAT(nic.rules, SizeIs(placement::bucket_count));
      expect_as_placed(nic, placement);
      EXPECT_EQ(nic.without_rule, replaces ? 0U : 2U);
    }
  }
}

TEST(KernelRules, are_removed_at_the_end_and_the_operators_stay) {
  Nic nic;
  nic.rules[255] = of_operator(255);
  nic.rules[3] = of_operator(3);
  std::unique_ptr<TreeSteering> first = nic.steering();
  first->place(Placement(2));
  EXPECT_EQ(first->refused(), 0U) << first->why_refused();
  EXPECT_EQ(nic.rules.at(255).flow_type, static_cast<std::uint32_t>(TCP_V4_FLOW));
  first.reset();
  EXPECT_THAT(nic.rules, SizeIs(2));
}

TEST(KernelRules, of_a_killed_switch_are_recognised_and_removed) {
  Nic nic;
  nic.rules[9] = of_operator(9);
  Nic before = nic;
  {
    const std::unique_ptr<TreeSteering> killed = nic.steering();
    killed->place(Placement(3));
    before = nic; // as it is when it is killed
  }
  nic.rules = before.rules;
  // Nearly one of a switch: another mask, an address that is no multicast, a rule that drops.
  auto other = before.rules.at(200);
  other.m_u.usr_ip4_spec.ip4dst = UINT32_MAX;
  nic.rules[0] = other;
  other = before.rules.at(200);
  other.h_u.usr_ip4_spec.ip4dst = htonl(0x0A000001);
  nic.rules[1] = other;
  other = before.rules.at(200);
  other.ring_cookie = RX_CLS_FLOW_DISC;
  nic.rules[2] = other;
  KernelRules again(nic.ask());
  EXPECT_EQ(again.left_behind(), placement::bucket_count);
  EXPECT_THAT(nic.rules, SizeIs(4));
  for (const std::uint32_t stays : {0U, 1U, 2U, 9U}) {
    EXPECT_TRUE(nic.rules.contains(stays)) << stays;
  }
}

TEST(KernelRules, that_do_not_fit_the_table_are_named) {
  for (const bool picks : {false, true}) {
    Nic nic{.size = 100, .picks_places = picks};
    nic.rules[50] = of_operator(50);
    const std::unique_ptr<TreeSteering> steering = nic.steering();
    steering->place(Placement(2));
    EXPECT_EQ(steering->refused(), placement::bucket_count - 99);
    EXPECT_EQ(steering->refused_buckets(), "99 to 127");
    EXPECT_NE(steering->why_refused(), "");
    // An operator's rule that goes makes room; what was refused is tried again at the next move.
    nic.rules.erase(50);
    nic.size = 128;
    steering->place(Placement(2));
    EXPECT_EQ(steering->refused(), picks ? 0U : placement::bucket_count - 99);
  }
  Nic full{.size = 0};
  EXPECT_THAT(KernelRules(full.ask()).set(Bucket{0}, 0), HasSubstr("table of 0 rules is full"));
}

TEST(KernelRules, with_a_mask_that_the_driver_refuses_are_refused_in_its_words) {
  Nic nic{.takes_mask = EINVAL};
  const std::unique_ptr<TreeSteering> steering = nic.steering();
  steering->place(Placement(2));
  EXPECT_EQ(steering->refused(), placement::bucket_count);
  EXPECT_EQ(steering->why_refused(), "Invalid argument");
  EXPECT_THAT(nic.rules, IsEmpty());
}

TEST(KernelRules, of_a_driver_without_rules_are_refused_with_what_to_do) {
  Nic nic{.counts = EOPNOTSUPP};
  const std::unique_ptr<TreeSteering> steering = nic.steering();
  steering->place(Placement(2));
  EXPECT_EQ(steering->refused(), placement::bucket_count);
  EXPECT_THAT(steering->why_refused(), HasSubstr("Operation not supported; if its driver has"));
  EXPECT_THAT(steering->why_refused(), HasSubstr("ntuple on"));
}

TEST(KernelRules, are_listed_again_if_one_was_added_meanwhile) {
  Nic nic;
  nic.between_count_and_list = [&] { nic.rules[255] = of_operator(255); };
  KernelRules rules(nic.ask());
  EXPECT_EQ(rules.set(Bucket{0}, 1), "");
  EXPECT_TRUE(nic.rules.contains(254)) << "the last free place";
}

/// The kernel itself: veth has no rules, and neither has an interface that does not exist.
TEST(KernelRules, of_a_veth_pair_are_refused) {
  NetworkNamespace separate;
  if (!separate.unavailable().empty()) {
    GTEST_SKIP() << separate.unavailable();
  }
  separate.add_pair();
  EXPECT_THAT(KernelRules("near").set(Bucket{0}, 0), HasSubstr("Operation not supported"));
  EXPECT_THAT(KernelRules("nowhere").set(Bucket{0}, 0), HasSubstr("No such device"));
}

} // namespace
} // namespace tributary::port::test
