// Switches, channels and the manager die at any moment while trees come, change and go. After each
// step the tables in force are checked; after each round, once all have returned, every switch must
// hold exactly its desired state.
#include "controlplane/transaction/coordinator.hpp"

#include "fabric.hpp"
#include "tests/unit/controlplane/trees/trees.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::transaction {
namespace {

using test::Fabric;
using test::FakeTree;
using test::Random;

constexpr unsigned switch_count = 7;
constexpr std::uint16_t tree_count = 10;

class KillTest {
public:
  explicit KillTest(std::uint64_t seed) : random_(seed) {
    for (std::uint32_t i = 0; i < switch_count; ++i) {
      fabric_.switches[i]->on_change = [this, i](const control::Change& c) { changed(i, c); };
    }
    fabric_.connect_all();
  }

  /// Number of kills of a switch, a channel, or the manager, with activity in between.
  void round(unsigned kills) {
    refusing_ = chance(3);
    for (std::uint32_t i = 0; i < switch_count; ++i) {
      fabric_.switches[i]->objection = [this](const control::Prepare&) -> std::string {
        return refusing_ && chance(30) ? "not now" : "";
      };
    }
    const unsigned end = kills_ + kills;
    while (kills_ < end && !::testing::Test::HasFailure()) {
      step();
    }
    come_to_rest();
    check_agreement();
  }

  unsigned kills() const { return kills_; }
  unsigned kills_amid_transactions = 0;
  unsigned kills_of_manager = 0;
  unsigned order_checks = 0;
  std::map<Result, unsigned> results;
  unsigned with_switches_out_of_sync = 0;

private:
  struct Request {
    TreeNumber tree;
    std::optional<Target> target; ///< none: removal
    unsigned kills = 0;           ///< when it was requested
    bool alone = false; ///< its switches were connected, in sync, and had no other request
  };

  bool chance(unsigned one_in) { return random_() % one_in == 0; }
  SwitchId any_switch() { return SwitchId{static_cast<std::uint32_t>(random_() % switch_count)}; }

  // ---- events ----

  void step() {
    const std::uint64_t what = random_() % 200;
    if (what < 4) {
      request();
    } else if (what < 5) {
      kill();
    } else if (what < 12) {
      reconnect();
    } else if (what < 13) {
      auto& channel = fabric_.channels[any_switch().value];
      channel.frozen = !channel.frozen;
    } else if (what < 18) {
      fabric_.advance(random_() % 400'000'000);
    } else {
      deliver();
    }
    take_outcomes();
  }

  void request() {
    const TreeNumber number{static_cast<std::uint16_t>(1 + random_() % tree_count)};
    Request request{number, std::nullopt, killed(),
                    pending(number) == 0 && fabric_.out_of_sync(number).empty()};
    if (!chance(4)) {
      const Target* now = fabric_.wanted(number);
      const bool keep_count = request.alone && now != nullptr && chance(2);
      const ContributionCount count = keep_count ? count_of(*now) : ++last_count_;
      request.target = test::mesh_tree(number, Vni{static_cast<std::uint16_t>(number.value % 3)},
                                       test::random_parents(random_, switch_count), count);
      request.alone = request.alone && all_connected(*request.target);
      by_count_[count] = request;
      removals_.erase(number);
    } else if (const Target* now = fabric_.wanted(number)) {
      request.alone = request.alone && fabric_.out_of_sync(number).empty() && all_connected(*now);
      removals_[number] = request;
      removed_[number] = *now;
    }
    const auto transaction =
        request.target ? fabric_.set_tree(*request.target) : fabric_.remove_tree(number);
    requests_.emplace(transaction, std::move(request));
  }

  void kill() {
    ++kills_;
    bool under_way = false;
    for (const TransactionView& view : fabric_.coordinator->transactions()) {
      under_way = under_way || view.state == TransactionState::preparing ||
                  view.state == TransactionState::committing;
    }
    kills_amid_transactions += under_way;
    switch (random_() % 5) {
    case 0: kill_manager(); break;
    case 1:
    case 2: {
      const SwitchId at = any_switch();
      for (const auto& [number, tree] : fabric_.switches[at.value]->trees) {
        held_[at.value].erase(number);
      }
      fabric_.kill_switch(at);
      break;
    }
    default: fabric_.break_channel(any_switch());
    }
  }

  void kill_manager() {
    ++kills_of_manager;
    take_outcomes();
    std::vector<Target> stored;
    // A decision may be on disk already, or not yet.
    const bool decided_is_stored = chance(2);
    for (std::uint16_t n = 1; n <= tree_count; ++n) {
      const TreeNumber number{n};
      if (decided_is_stored) {
        const Target* wanted = fabric_.wanted(number);
        model_[number] = wanted == nullptr ? std::nullopt : std::optional(*wanted);
      }
      if (model_[number]) {
        stored.push_back(*model_[number]);
      }
    }
    requests_.clear();
    fabric_.kill_manager();
    fabric_.start_manager(stored);
  }

  void reconnect() {
    const SwitchId at = any_switch();
    if (!fabric_.channels[at.value].session) {
      fabric_.connect(at);
    }
  }

  void deliver() {
    const std::size_t i = any_switch().value;
    if (chance(2) && fabric_.can_deliver_down(i)) {
      fabric_.deliver_down(i);
    } else if (!fabric_.channels[i].up.empty() && !fabric_.channels[i].frozen) {
      fabric_.deliver_up(i);
    }
  }

  void come_to_rest() {
    for (auto& channel : fabric_.channels) {
      channel.frozen = false;
    }
    if (refusing_) { // a refused tree is requested again at the next hello
      refusing_ = false;
      for (std::uint32_t i = 0; i < switch_count; ++i) {
        fabric_.break_channel(SwitchId{i});
      }
    }
    fabric_.connect_all();
    fabric_.run();
    take_outcomes();
    EXPECT_EQ(fabric_.coordinator->next_deadline(), never) << "something is waited for still";
    EXPECT_TRUE(requests_.empty()) << "some transactions have not ended";
  }

  // ---- checks ----

  [[nodiscard]] bool all_connected(const Target& target) const {
    return std::all_of(target.parts.begin(), target.parts.end(), [&](const auto& part) {
      return fabric_.coordinator->is_connected(part.at);
    });
  }

  [[nodiscard]] unsigned killed() const { return kills_ + static_cast<unsigned>(fabric_.closures); }
  [[nodiscard]] std::size_t pending(TreeNumber tree) const {
    return static_cast<std::size_t>(std::count_if(
        requests_.begin(), requests_.end(), [&](const auto& r) { return r.second.tree == tree; }));
  }

  void take_outcomes() {
    for (const Outcome& outcome : std::exchange(fabric_.outcomes, {})) {
      if (outcome.purpose == Purpose::reconcile) {
        continue;
      }
      ++results[outcome.result];
      with_switches_out_of_sync += !outcome.out_of_sync.empty();
      const auto found = requests_.find(outcome.transaction);
      ASSERT_NE(found, requests_.end()) << "an outcome too many";
      const Request request = found->second;
      requests_.erase(found);
      if (outcome.result == Result::committed) {
        model_[request.tree] = request.target;
      } else {
        EXPECT_FALSE(outcome.text.empty());
        check_nothing_of(request);
      }
    }
  }

  /// It was refused: no switch has ever received a Commit for it.
  void check_nothing_of(const Request& request) {
    if (!request.target || by_count_[count_of(*request.target)].kills != request.kills) {
      return;
    }
    const ContributionCount count = count_of(*request.target);
    const auto& before = model_[request.tree];
    if (before && count_of(*before) == count) {
      return; // cannot be distinguished from the previous one
    }
    for (const auto& s : fabric_.switches) {
      const auto tree = s->trees.find(request.tree.value);
      EXPECT_FALSE(tree != s->trees.end() && tree->second.wait_count == count)
          << s->name() << " holds a part of a refused tree";
    }
  }

  /// Distinguishes one tree from the next.
  static ContributionCount count_of(const Target& target) {
    return trees::part_of(*target.parts.front().content).wait_count;
  }
  static FakeTree fake(const Part& in) {
    const multicast::TreePart& part = trees::part_of(*in.content);
    FakeTree tree{part.parent, 0, part.wait_count};
    for (const topology::Port port : part.children) {
      tree.children |= std::uint64_t{1} << port;
    }
    return tree;
  }
  [[nodiscard]] bool holds(const Part& part, TreeNumber number) const {
    const auto& trees = fabric_.switches[part.at.value]->trees;
    const auto found = trees.find(number.value);
    return found != trees.end() && found->second == fake(part);
  }

  void changed(std::uint32_t at, const control::Change& change) {
    if (change.kind_case() == control::Change::kSetTree) {
      const std::uint32_t number = change.set_tree().number();
      check_no_circle(number);
      check_set(at, TreeNumber{static_cast<std::uint16_t>(number)}, change.set_tree().wait_count());
      held_[at].insert(number);
    } else if (change.kind_case() == control::Change::kRemoveTree) {
      check_removed(at, TreeNumber{static_cast<std::uint16_t>(change.remove_tree())});
      held_[at].erase(change.remove_tree());
    }
  }

  /// In no state, whatever was killed, can a frame loop.
  void check_no_circle(std::uint32_t number) {
    for (std::uint32_t start = 0; start < switch_count; ++start) {
      std::uint32_t at = start;
      for (unsigned hops = 0; at < switch_count; ++hops) {
        const auto& trees = fabric_.switches[at]->trees;
        const auto tree = trees.find(number);
        if (tree == trees.end()) {
          break;
        }
        ASSERT_LE(hops, switch_count) << "tree " << number << " runs in a circle";
        at = tree->second.parent; // in a full mesh the port is the switch
      }
    }
  }

  /// A switch that frames reach already, and the root's switch in any case, gets an entry only when
  /// all switches below it hold theirs; unless something was killed since the request.
  void check_set(std::uint32_t at, TreeNumber number, ContributionCount count) {
    const auto found = by_count_.find(count);
    if (found == by_count_.end() || found->second.kills != killed() || !found->second.alone) {
      return;
    }
    const Target& target = *found->second.target;
    const auto depth_0 = target.parts.front().at.value == at;
    if (!depth_0 && !held_[at].contains(number.value)) {
      return;
    }
    ++order_checks;
    std::set<std::uint32_t> above{at};
    for (const Part& part : target.parts) { // by depth
      if (above.contains(trees::part_of(*part.content).parent)) {
        above.insert(part.at.value);
        EXPECT_TRUE(holds(part, number))
            << "tree " << number.value << ": switch " << at << " leads down to switch "
            << part.at.value << ", which does not hold its part";
      }
    }
  }

  /// A switch loses the tree only after the one above it.
  void check_removed(std::uint32_t at, TreeNumber number) {
    const auto removal = removals_.find(number);
    const auto old = removed_.find(number);
    if (removal == removals_.end() || old == removed_.end() || !removal->second.alone ||
        removal->second.kills != killed() || pending(number) != 1) {
      return;
    }
    for (const Part& part : old->second.parts) {
      const topology::Port up = trees::part_of(*part.content).parent;
      if (part.at.value == at && up < switch_count) {
        ++order_checks;
        EXPECT_FALSE(fabric_.switches[up]->trees.contains(number.value))
            << "tree " << number.value << ": switch " << up << " still leads down to switch " << at;
      }
    }
  }

  void check_agreement() {
    std::vector<std::map<std::uint32_t, FakeTree>> trees(switch_count);
    std::vector<test::FakePermissions> permissions(switch_count);
    for (std::uint16_t n = 1; n <= tree_count; ++n) {
      const TreeNumber number{n};
      const Target* wanted = fabric_.wanted(number);
      ASSERT_EQ(wanted != nullptr, model_[number].has_value()) << "tree " << n;
      EXPECT_TRUE(fabric_.out_of_sync(number).empty()) << "tree " << n;
      if (wanted == nullptr) {
        continue;
      }
      EXPECT_EQ(*wanted, *model_[number]) << "tree " << n;
      for (const Part& part : wanted->parts) {
        trees[part.at.value].emplace(n, fake(part));
      }
      for (const Need& need : wanted->needs) {
        permissions[need.at.at.value].emplace(std::pair(need.at.port, need.vni.value),
                                              need.nid->value);
      }
    }
    for (std::uint32_t i = 0; i < switch_count; ++i) {
      EXPECT_TRUE(fabric_.switches[i]->trees == trees[i]) << "switch " << i;
      EXPECT_TRUE(fabric_.switches[i]->permissions == permissions[i]) << "switch " << i;
      EXPECT_TRUE(fabric_.switches[i]->prepared.empty()) << "switch " << i;
    }
  }

  Random random_;
  Fabric fabric_{test::full_mesh(switch_count)};
  bool refusing_ = false;
  unsigned kills_ = 0;
  ContributionCount last_count_ = 0;
  std::map<TransactionNumber, Request> requests_; ///< under way
  std::map<TreeNumber, std::optional<Target>> model_;
  std::map<ContributionCount, Request> by_count_;
  std::map<TreeNumber, Request> removals_;
  std::map<TreeNumber, Target> removed_;
  std::map<std::uint32_t, std::set<std::uint32_t>> held_; ///< before the checked change
};

TEST(Kills, AThousandAtRandomMomentsEndInAgreement) {
  KillTest test(test::seed());
  for (unsigned round = 0; round < 100; ++round) {
    test.round(10);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "round " << round;
  }
  EXPECT_EQ(test.kills(), 1000U);
  EXPECT_GT(test.kills_amid_transactions, 500U);
  EXPECT_GT(test.kills_of_manager, 100U);
  EXPECT_GT(test.order_checks, 100U);
  EXPECT_GT(test.results[Result::committed], 100U);
  EXPECT_GT(test.results[Result::refused], 100U);
  EXPECT_GT(test.results[Result::timed_out], 0U);
  EXPECT_GT(test.with_switches_out_of_sync, 0U);
  std::cout << test.kills() << " kills, " << test.kills_amid_transactions
            << " of them amid transactions, " << test.kills_of_manager << " of the manager; "
            << test.results[Result::committed] << " transactions committed ("
            << test.with_switches_out_of_sync << " with switches out of sync), "
            << test.results[Result::refused] << " refused, " << test.results[Result::timed_out]
            << " timed out; order looked at " << test.order_checks << " times\n";
}

double processor_seconds_since(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(Throughput, OfThousandsOfTransactionsAtOnce) {
  // Sixteen leaves and four spines, as many trees as a table holds, five switches each.
  Fabric fabric(test::leaf_spine(16, 4));
  fabric.connect_all();
  Random random(test::seed());
  constexpr unsigned trees = 8000 / TRIBUTARY_SEED_DIVISOR;
  const std::clock_t begin = std::clock();
  for (std::uint16_t n = 0; n < trees; ++n) {
    const auto leaf = static_cast<std::uint32_t>(random() % 13);
    const auto spine = static_cast<std::uint32_t>(random() % 4);
    test::TreeTarget target{.number = TreeNumber{n}, .parts = {}, .vni = Vni{n}, .edges = {}};
    target.parts.push_back({.at = SwitchId{leaf},
                            .parent = test::first_host_port,
                            .children = {static_cast<topology::Port>(spine)},
                            .wait_count = 3});
    target.parts.push_back({.at = SwitchId{16 + spine},
                            .parent = static_cast<topology::Port>(leaf),
                            .children = {},
                            .wait_count = 3,
                            .depth = 1});
    target.edges.push_back(test::host_edge(SwitchId{leaf}));
    for (std::uint32_t other = leaf + 1; other < leaf + 4; ++other) {
      target.parts[1].children.push_back(static_cast<topology::Port>(other));
      target.parts.push_back({.at = SwitchId{other},
                              .parent = static_cast<topology::Port>(spine),
                              .children = {test::first_host_port},
                              .wait_count = 1,
                              .depth = 2});
      target.edges.push_back(test::host_edge(SwitchId{other}));
    }
    fabric.set_tree(target);
  }
  fabric.run();
  const double took = processor_seconds_since(begin);
  for (std::uint16_t n = 0; n < trees; ++n) {
    fabric.remove_tree(TreeNumber{n});
  }
  fabric.run();
  const double took_both = processor_seconds_since(begin);
  EXPECT_EQ(std::count_if(fabric.outcomes.begin(), fabric.outcomes.end(),
                          [](const Outcome& o) {
                            return o.result == Result::committed && o.purpose != Purpose::reconcile;
                          }),
            2 * trees);
  for (const auto& s : fabric.switches) {
    EXPECT_TRUE(s->trees.empty() && s->permissions.empty()) << s->name();
  }
  std::cout << trees << " trees over 5 switches: installed in " << took << " s of processor time, "
            << static_cast<unsigned>(trees / took) << " a second; removed in " << took_both - took
            << " s, " << static_cast<unsigned>(trees / (took_both - took))
            << " a second; the fake switches' work and " << fabric.delivered
            << " messages counted in\n";
}

} // namespace
} // namespace tributary::transaction
