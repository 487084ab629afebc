// The coordinator with kinds other than trees: sets of routes, in which tables of different epochs
// must not be in force together. A change goes through intermediate tables, which are compatible
// with both; one that keeps its epoch is applied in one step. And two kinds at the same time.
#include "controlplane/transaction/coordinator.hpp"

#include "tests/unit/controlplane/trees/trees.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tributary::transaction {
namespace {

using test::Random;

constexpr unsigned fabric_size = 6;
constexpr KindNumber routes{9};
constexpr KindNumber flags{10};

/// A switch's table of routes: those of one epoch, or those that are compatible with any.
class Table final : public Content {
public:
  Table(unsigned epoch, unsigned rows, bool between) : epoch(epoch), rows(rows), between(between) {}
  [[nodiscard]] bool same_as(const Content& other) const override {
    const Table& o = static_cast<const Table&>(other);
    return epoch == o.epoch && rows == o.rows && between == o.between;
  }
  [[nodiscard]] bool may_meet(const Table& other) const {
    return between || other.between || epoch == other.epoch;
  }
  unsigned epoch;
  unsigned rows;
  bool between;
};

const Table& table_of(const Content& content) { return static_cast<const Table&>(content); }

class RoutesKind : public Kind {
public:
  [[nodiscard]] KindNumber number() const override { return routes; }
  [[nodiscard]] std::string describe(const Subject& subject) const override {
    return "route set " + std::to_string(subject.number);
  }
  [[nodiscard]] std::optional<std::string> object_to(const Target& target) const override {
    return target.subject.number == 0 ? std::optional<std::string>("sets begin at 1")
                                      : std::nullopt;
  }
  [[nodiscard]] std::optional<std::string> object_to(const Subject&, const Part& part,
                                                     const Inventory::Switch&) const override {
    return table_of(*part.content).rows > 100 ? std::optional<std::string>("its table has 100 rows")
                                              : std::nullopt;
  }
  [[nodiscard]] Order order(const Subject& subject, const Target* target,
                            const Inventory& inventory) const override {
    Order order;
    std::map<SwitchId, ContentPtr> wanted;
    for (const Part& part : target == nullptr ? std::vector<Part>{} : target->parts) {
      wanted.emplace(part.at, part.content);
    }
    const Inventory::Placement* placement = inventory.find(subject);
    const std::set<SwitchId> holders =
        placement == nullptr ? std::set<SwitchId>{} : placement->holders;
    const bool at_once = target == nullptr ||
                         all_may_meet(subject, *target->parts.front().content, inventory, holders);
    for (const auto& [at, content] : wanted) {
      if (!at_once && !inventory.holds({at, content}, subject)) {
        order.moves.push_back({at, between(*content), 0});
      }
    }
    for (const SwitchId at : holders) {
      if (!wanted.contains(at) && inventory.is_connected(at)) {
        order.moves.push_back({at, nullptr, at_once ? 0U : 1U});
      }
    }
    const bool all_sent =
        at_once || std::ranges::all_of(holders, [&](SwitchId at) {
          return inventory.is_connected(at) ||
                 all_may_meet(subject, *target->parts.front().content, inventory, {at});
        });
    for (const auto& [at, content] : wanted) {
      if (all_sent && !inventory.holds({at, content}, subject)) {
        order.moves.push_back({at, content, at_once ? 0U : 2U});
      }
    }
    return order;
  }
  [[nodiscard]] ContentPtr alone(const Subject& subject, const Part& part,
                                 const Inventory& inventory) const override {
    const Inventory::Placement* placement = inventory.find(subject);
    std::set<SwitchId> others = placement->holders;
    for (const Part& other : placement->wanted->parts) {
      others.insert(other.at);
    }
    others.erase(part.at);
    return all_may_meet(subject, *part.content, inventory, others) ? part.content
                                                                   : between(*part.content);
  }

private:
  static ContentPtr between(const Content& content) {
    const Table& table = table_of(content);
    return std::make_shared<Table>(table.epoch, table.rows, true);
  }
  static bool all_may_meet(const Subject& subject, const Content& content,
                           const Inventory& inventory, const std::set<SwitchId>& others) {
    return std::ranges::all_of(others, [&](SwitchId at) {
      const std::vector<const Content*> held = inventory.held(at, subject);
      return inventory.is_heard(at) && std::ranges::all_of(held, [&](const Content* one) {
               return table_of(content).may_meet(table_of(*one));
             });
    });
  }
};

/// All in one step, in any order.
class FlagsKind final : public RoutesKind {
public:
  [[nodiscard]] KindNumber number() const override { return flags; }
  [[nodiscard]] std::string describe(const Subject& subject) const override {
    return "flag " + std::to_string(subject.number);
  }
  [[nodiscard]] Order order(const Subject& subject, const Target* target,
                            const Inventory& inventory) const override {
    Order order;
    for (std::uint32_t i = 0; i < fabric_size; ++i) {
      const auto part = target == nullptr
                            ? std::vector<Part>::const_iterator{}
                            : std::ranges::find(target->parts, SwitchId{i}, &Part::at);
      if (target != nullptr && part != target->parts.end()) {
        order.moves.push_back({SwitchId{i}, part->content, 0});
      } else if (!inventory.held(SwitchId{i}, subject).empty() &&
                 inventory.is_connected(SwitchId{i})) {
        order.moves.push_back({SwitchId{i}, nullptr, 0});
      }
    }
    return order;
  }
  [[nodiscard]] ContentPtr alone(const Subject&, const Part& part,
                                 const Inventory&) const override {
    return part.content;
  }
};

/// An obedient switch, in the coordinator's own terms.
struct TestSwitch {
  std::map<Subject, ContentPtr> held;
  std::map<std::uint64_t, Changes> prepared;
  std::string objection;
  std::optional<SessionNumber> session;
  std::deque<Message> down;
  std::deque<Answer> up;

  void deliver_down() {
    const Message message = std::move(down.front());
    down.pop_front();
    switch (message.verb) {
    case Message::Verb::prepare:
      if (!objection.empty()) {
        up.push_back({Answer::Verb::refused, message.number, objection});
        return;
      }
      prepared[message.number] = message.changes;
      up.push_back({Answer::Verb::prepared, message.number});
      return;
    case Message::Verb::abort: prepared.erase(message.number); return;
    case Message::Verb::commit: break;
    }
    const auto changes = prepared.extract(message.number);
    if (!changes) {
      up.push_back({Answer::Verb::refused, message.number, "nothing is prepared"});
      return;
    }
    for (const auto& [subject, content] : changes.mapped().contents) {
      if (content) {
        held[subject] = content;
      } else {
        held.erase(subject);
      }
    }
    up.push_back({Answer::Verb::committed, message.number});
  }
  void hang_up() {
    session.reset();
    down.clear();
    up.clear();
    prepared.clear();
  }
};

class KindsTest : public ::testing::Test {
protected:
  KindsTest() { connect_all(); }

  static Target set_of(std::uint64_t number, unsigned epoch, unsigned rows,
                       std::vector<std::uint32_t> at, KindNumber kind = routes) {
    Target target{.subject = {kind, number}, .parts = {}, .needs = {}};
    for (const std::uint32_t s : at) {
      target.parts.push_back({SwitchId{s}, std::make_shared<Table>(epoch, rows, false)});
    }
    return target;
  }
  TransactionNumber set(const Target& target) {
    const auto number = coordinator_.set(target, now_);
    collect();
    return number;
  }
  void connect(std::uint32_t at) {
    TestSwitch& s = switches_[at];
    s.session = SessionNumber{++sessions_};
    Hello hello{.ports = 64, .capacity = {}, .in_force = {}, .own = {}, .permissions = {}};
    hello.in_force.assign(s.held.begin(), s.held.end());
    coordinator_.connected(SwitchId{at}, *s.session, hello, now_);
    collect();
  }
  void connect_all() {
    for (std::uint32_t at = 0; at < fabric_size; ++at) {
      if (!switches_[at].session) {
        connect(at);
      }
    }
  }
  void hang_up(std::uint32_t at) {
    if (const auto session = switches_[at].session) {
      switches_[at].hang_up();
      coordinator_.lost(SwitchId{at}, *session, "it was cut", now_);
      collect();
    }
  }
  void deliver_up(std::uint32_t at) {
    const Answer answer = std::move(switches_[at].up.front());
    switches_[at].up.pop_front();
    coordinator_.receive(SwitchId{at}, *switches_[at].session, answer, now_);
    collect();
  }
  /// Moves one message if one can be moved.
  bool step(std::uint32_t at, bool down) {
    TestSwitch& s = switches_[at];
    if (down && !s.down.empty()) {
      s.deliver_down();
      check_meetings();
      return true;
    }
    if (!down && !s.up.empty()) {
      deliver_up(at);
      return true;
    }
    return false;
  }
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t at = 0; at < fabric_size; ++at) {
        while (step(at, true) || step(at, false)) {
          moved = true;
        }
      }
    }
  }
  const Outcome& ended(TransactionNumber number) {
    const auto found = std::ranges::find(outcomes_, number, &Outcome::transaction);
    EXPECT_NE(found, outcomes_.end());
    static const Outcome none{};
    return found == outcomes_.end() ? none : *found;
  }
  [[nodiscard]] const Table* held(std::uint32_t at, const Subject& subject) const {
    const auto found = switches_[at].held.find(subject);
    return found == switches_[at].held.end() ? nullptr : &table_of(*found->second);
  }
  /// Incompatible tables are never in force together.
  void check_meetings() {
    for (const TestSwitch& a : switches_) {
      for (const TestSwitch& b : switches_) {
        for (const auto& [subject, content] : a.held) {
          const auto other = b.held.find(subject);
          if (subject.kind == routes && other != b.held.end()) {
            EXPECT_TRUE(table_of(*content).may_meet(table_of(*other->second)));
          }
          between_seen_ += subject.kind == routes && table_of(*content).between;
        }
      }
    }
  }

  topology::Graph graph_ = test::full_mesh(fabric_size);
  RoutesKind routes_kind_;
  FlagsKind flags_kind_;
  Coordinator coordinator_{graph_, {&routes_kind_, &flags_kind_}, {}};
  std::vector<TestSwitch> switches_{fabric_size};
  std::vector<Outcome> outcomes_;
  TimeNs now_{1};
  std::uint64_t sessions_ = 0;
  std::uint64_t between_seen_ = 0;

  void collect() {
    for (Addressed& m : coordinator_.take_messages()) {
      if (switches_[m.to.value].session == m.session) {
        switches_[m.to.value].down.push_back(std::move(m.message));
      }
    }
    for (Outcome& o : coordinator_.take_outcomes()) {
      outcomes_.push_back(std::move(o));
    }
    for (const Closure& closure : coordinator_.take_closures()) {
      switches_[closure.at.value].hang_up();
    }
  }
};

TEST_F(KindsTest, AKindSpeaksForItself) {
  EXPECT_EQ(ended(set(set_of(0, 1, 1, {0}))).text, "route set 0 is not installed: sets begin at 1");
  EXPECT_EQ(ended(set(set_of(4, 1, 200, {0, 1}))).text,
            "route set 4 is not installed: s0: its table has 100 rows");
  EXPECT_THROW(Coordinator(graph_, {&routes_kind_, &routes_kind_}, {}), std::invalid_argument);
}

TEST_F(KindsTest, TheFirstTablesComeAllAtOnce) {
  const auto number = set(set_of(1, 1, 5, {0, 1, 2}));
  for (std::uint32_t at = 0; at < 3; ++at) {
    EXPECT_EQ(switches_[at].down.size(), 1U);
  }
  run();
  EXPECT_EQ(ended(number).text, "route set 1 is installed");
  EXPECT_EQ(held(2, {routes, 1})->rows, 5U);
  EXPECT_EQ(held(3, {routes, 1}), nullptr);
  EXPECT_EQ(between_seen_, 0U);
}

TEST_F(KindsTest, AnotherEpochGoesThroughTablesInBetween) {
  set(set_of(1, 1, 5, {0, 1, 2}));
  run();
  const auto number = set(set_of(1, 2, 6, {1, 2, 3}));
  EXPECT_EQ(switches_[1].down.size(), 2U) << "sent twice, under two numbers";
  EXPECT_NE(switches_[1].down[0].number, switches_[1].down[1].number);
  run();
  EXPECT_EQ(ended(number).text, "route set 1 is changed");
  EXPECT_GT(between_seen_, 0U);
  EXPECT_EQ(held(0, {routes, 1}), nullptr);
  for (std::uint32_t at = 1; at < 4; ++at) {
    EXPECT_EQ(held(at, {routes, 1})->epoch, 2U);
    EXPECT_FALSE(held(at, {routes, 1})->between);
  }
}

TEST_F(KindsTest, TheSameEpochDoesNot) {
  set(set_of(1, 1, 5, {0, 1, 2}));
  run();
  set(set_of(1, 1, 7, {0, 1, 2}));
  run();
  EXPECT_EQ(held(0, {routes, 1})->rows, 7U);
  EXPECT_EQ(between_seen_, 0U);
}

TEST_F(KindsTest, ARefusalOfTheSecondThingRollsTheFirstBack) {
  set(set_of(1, 1, 5, {0, 1}));
  run();
  const auto number = set(set_of(1, 2, 5, {0, 1}));
  switches_[1].deliver_down();
  switches_[1].objection = "no room";
  run();
  EXPECT_EQ(ended(number).result, Result::refused);
  EXPECT_EQ(ended(number).text, "route set 1 is not changed: s1: no room");
  EXPECT_EQ(held(0, {routes, 1})->epoch, 1U);
  EXPECT_EQ(held(1, {routes, 1})->epoch, 1U);
  EXPECT_TRUE(switches_[0].prepared.empty());
  EXPECT_TRUE(switches_[1].prepared.empty());
}

TEST_F(KindsTest, SwitchesThatWereAwayTogetherComeBackThroughTablesInBetween) {
  set(set_of(1, 1, 5, {0, 1, 2}));
  run();
  const auto number = set(set_of(1, 2, 5, {0, 1, 2}));
  for (std::uint32_t at = 0; at < 3; ++at) { // prepared twice each
    while (step(at, true)) {
    }
  }
  for (std::uint32_t at = 0; at < 3; ++at) {
    while (step(at, false)) {
    }
  }
  hang_up(1); // decided
  hang_up(2);
  run();
  EXPECT_EQ(ended(number).out_of_sync.size(), 3U) << "the one that is there cannot go on alone";
  EXPECT_TRUE(held(0, {routes, 1})->between);
  EXPECT_EQ(held(1, {routes, 1})->epoch, 1U);
  connect(1);
  connect(2);
  run();
  EXPECT_TRUE(coordinator_.out_of_sync({routes, 1}).empty());
  for (std::uint32_t at = 0; at < 3; ++at) {
    EXPECT_EQ(held(at, {routes, 1})->epoch, 2U);
    EXPECT_FALSE(held(at, {routes, 1})->between);
  }
}

TEST_F(KindsTest, KindsDoNotWaitForEachOtherUnderTheSameNumber) {
  const auto route = set(set_of(7, 1, 5, {0, 1}));
  const auto flag = set(set_of(7, 3, 5, {1, 2}, flags));
  run();
  EXPECT_EQ(ended(route).text, "route set 7 is installed");
  EXPECT_EQ(ended(flag).text, "flag 7 is installed");
  EXPECT_EQ(held(1, {routes, 7})->epoch, 1U);
  EXPECT_EQ(held(1, {flags, 7})->epoch, 3U);
  EXPECT_EQ(coordinator_.wanted_at(SwitchId{1}).size(), 2U);
  coordinator_.remove({flags, 7}, now_);
  collect();
  run();
  EXPECT_EQ(held(1, {flags, 7}), nullptr);
  EXPECT_NE(held(1, {routes, 7}), nullptr);
}

TEST_F(KindsTest, ThroughLossesAtRandomMomentsNoEpochsMeetAndAllComesToRest) {
  Random random(test::seed());
  std::map<Subject, Target> model;
  unsigned losses = 0;
  unsigned epoch = 0;
  for (unsigned round = 0; round < 100 && !HasFailure(); ++round) {
    for (unsigned i = 0; i < 400; ++i) {
      const auto at = static_cast<std::uint32_t>(random() % fabric_size);
      const std::uint64_t what = random() % 100;
      if (what < 3) {
        std::vector<std::uint32_t> places;
        for (std::uint32_t s = 0; s < fabric_size; ++s) {
          if (s == at || random() % 2 == 0) {
            places.push_back(s);
          }
        }
        const Target target = set_of(1 + random() % 3, epoch += random() % 2 == 0 ? 1U : 0U,
                                     1 + static_cast<unsigned>(random() % 9), places,
                                     random() % 4 == 0 ? flags : routes);
        set(target);
      } else if (what < 5) {
        hang_up(at);
        ++losses;
      } else if (what < 10) {
        if (!switches_[at].session) {
          connect(at);
        }
      } else if (what < 11) {
        now_ = now_ + random() % 1'000'000'000;
        coordinator_.poll(now_);
        collect();
      } else {
        step(at, what % 2 == 0);
      }
    }
    connect_all();
    run();
    for (std::uint64_t number = 1; number <= 3; ++number) {
      for (const KindNumber kind : {routes, flags}) {
        const Subject subject{kind, number};
        EXPECT_TRUE(coordinator_.out_of_sync(subject).empty()) << "round " << round;
        const Target* wanted = coordinator_.wanted(subject);
        for (std::uint32_t s = 0; s < fabric_size; ++s) {
          const auto part = wanted == nullptr ? nullptr : [&]() -> const Content* {
            const auto found = std::ranges::find(wanted->parts, SwitchId{s}, &Part::at);
            return found == wanted->parts.end() ? nullptr : found->content.get();
          }();
          const Table* const is = held(s, subject);
          ASSERT_EQ(is != nullptr, part != nullptr) << "round " << round << ", switch " << s;
          EXPECT_TRUE(is == nullptr || is->same_as(*part));
        }
      }
    }
    EXPECT_EQ(coordinator_.next_deadline(), never);
  }
  const auto committed = std::ranges::count(outcomes_, Result::committed, &Outcome::result);
  EXPECT_GT(committed, 500);
  EXPECT_GT(losses, 400U);
  EXPECT_GT(between_seen_, 100U);
}

} // namespace
} // namespace tributary::transaction
