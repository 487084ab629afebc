// A random conversation against a model that keeps the same state in the simplest way: for any
// messages in any order, the published snapshot, the hello of the next channel and the answers
// match the model.

#include "test_agent.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

namespace tributary::agent {
namespace {

constexpr unsigned last_tree = 12; ///< few numbers, so that changes collide
constexpr unsigned port_count = 6;

class Model {
public:
  explicit Model(std::uint64_t seed) : random_(seed) {}

  void step() {
    switch (pick(12)) {
    case 0:
    case 1:
    case 2: prepare(); break;
    case 3:
    case 4:
    case 5: commit(); break;
    case 6: abort(); break;
    case 7:
      if (pick(4) == 0) {
        break_channel();
      }
      break;
    case 8:
      if (pick(2) == 0) {
        reload();
      }
      break;
    case 9: agent_.publish(); break;
    default: publish_and_check(); break;
    }
  }

  void publish_and_check() {
    agent_.publish();
    check_messages();
    check_tables();
  }
  [[nodiscard]] int refusals() const { return refusals_; }
  [[nodiscard]] int reloads() const { return reloads_; }

  void connect() {
    agent_.agent.channel_up(agent_.now);
    agent_.publish();
    const auto messages = agent_.agent.take_messages();
    ASSERT_EQ(messages.size(), 1U);
    ASSERT_TRUE(messages[0].has_hello());
    check_in_force(messages[0].hello().in_force());
    control::ManagerMessage welcome;
    welcome.mutable_welcome();
    agent_.agent.receive(welcome, agent_.now);
  }

private:
  using Changes = std::vector<control::Change>;
  struct TreeState {
    unsigned wait_count, parent;
    std::uint64_t children;
    bool operator==(const TreeState&) const = default;
  };

  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }
  std::uint64_t some_number() { return pick(20); }

  control::Change random_change() {
    switch (pick(5)) {
    case 0:
    case 1: {
      // Now and then a missing port, a parent among the children, no child.
      const unsigned parent = pick(40) == 0 ? 6 + pick(3) : pick(port_count);
      std::uint64_t children = random_() % (1U << port_count);
      if (pick(12) != 0) {
        children &= ~(std::uint64_t{1} << parent);
      }
      control::Change change = set_tree(pick(last_tree + 1), pick(5), parent, {});
      change.mutable_set_tree()->set_children(children);
      return change;
    }
    case 2: return remove_tree(pick(last_tree + 1));
    case 3: {
      const unsigned at = pick(port_count);
      const unsigned vni = pick(4);
      // Port 0 is for NID 1 by its file.
      return pick(2) == 0   ? permit(at, vni)
             : pick(2) == 0 ? permit_closing(at, vni, 1 + pick(2))
                            : permit(at, vni, 1 + pick(2));
    }
    default: return revoke(pick(port_count), pick(4));
    }
  }

  /// Independent of the agent's own check.
  bool possible(const control::Change& change) const {
    if (change.has_set_tree()) {
      const control::Tree& t = change.set_tree();
      return t.parent() < port_count && t.children() != 0 && t.children() >> port_count == 0 &&
             (t.children() >> t.parent() & 1U) == 0 && !of_file_.contains(t.number());
    }
    if (change.has_permit() && change.permit().has_nid()) {
      const control::Permission& p = change.permit();
      return p.port() != 0 || p.nid() == 1;
    }
    return change.kind_case() != control::Change::kRemoveTree ||
           !of_file_.contains(change.remove_tree());
  }

  void prepare() {
    const std::uint64_t number = some_number();
    Changes changes;
    for (unsigned n = pick(4); n > 0; --n) {
      changes.push_back(random_change());
    }
    const bool good = !prepared_.contains(number) &&
                      std::ranges::all_of(changes, [&](const auto& c) { return possible(c); });
    expected_.insert(fmt::format("{} {}", good ? "prepared" : "refused", number));
    refusals_ += good ? 0 : 1;
    if (good) {
      prepared_[number] = changes;
    }
    agent_.prepare(number, changes);
  }

  void commit() {
    const std::uint64_t number = some_number();
    const auto it = prepared_.find(number);
    expected_.insert(fmt::format("{} {}", it == prepared_.end() ? "refused" : "committed", number));
    if (it != prepared_.end()) {
      for (const control::Change& change : it->second) {
        apply(change);
      }
      prepared_.erase(it);
    }
    agent_.commit(number);
  }

  void apply(const control::Change& change) {
    switch (change.kind_case()) {
    case control::Change::kSetTree: {
      const control::Tree& t = change.set_tree();
      trees_[t.number()] = {t.wait_count(), t.parent(), t.children()};
      break;
    }
    case control::Change::kRemoveTree: trees_.erase(change.remove_tree()); break;
    case control::Change::kPermit:
      kept_out_.erase({change.permit().port(), change.permit().vni()});
      permitted_[{change.permit().port(), change.permit().vni()}] = {change.permit().nid(),
                                                                     change.permit().closes()};
      break;
    default: {
      const std::pair place{change.revoke().port(), change.revoke().vni()};
      const auto revoked = permitted_.extract(place);
      // Ports 0 and 1 have a list by their file.
      if (!revoked.empty() && revoked.mapped().second && place.first > 1) {
        kept_out_.insert(place);
      }
    }
    }
  }

  void abort() {
    const std::uint64_t number = some_number();
    prepared_.erase(number);
    agent_.abort(number);
  }

  void break_channel() {
    agent_.agent.channel_down(agent_.now, "the test breaks it");
    prepared_.clear();
    expected_.clear();
    connect();
  }

  void reload() {
    config::Switch file = leaf0();
    file.trees.clear();
    std::map<unsigned, TreeState> of_file;
    for (unsigned n = pick(3); n > 0; --n) {
      const unsigned number = pick(last_tree + 1);
      if (of_file.emplace(number, TreeState{n, 5, 0b11}).second) {
        file.trees.push_back({tree(number), n, port(5), PortSet(0b11), 0});
      }
    }
    const bool clash = std::ranges::any_of(
        of_file, [&](const auto& entry) { return trees_.contains(entry.first); });
    ASSERT_EQ(agent_.agent.refuses(file).empty(), !clash);
    if (clash) {
      return;
    }
    ++reloads_;
    const bool others = of_file != of_file_;
    of_file_ = of_file;
    agent_.agent.file_reloaded(file);
    ASSERT_EQ(agent_.agent.take_disconnect().has_value(), others);
    if (others) {
      break_channel();
    }
  }

  void check_messages() {
    std::multiset<std::string> got;
    for (const auto& message : agent_.agent.take_messages()) {
      const std::string text = text_of(message);
      got.insert(text.substr(0, text.find_first_of(" :", text.find(' ') + 1)));
      if (message.has_committed()) {
        EXPECT_LE(message.committed().version(), agent_.tables->version());
      }
    }
    EXPECT_EQ(got, expected_);
    expected_.clear();
  }

  void check_tables() {
    const core::Tables& tables = *agent_.tables;
    std::size_t count = 0;
    for (unsigned n = 0; n <= last_tree; ++n) {
      const core::MulticastEntry& entry = tables.tree(tree(n));
      const auto& owner = of_file_.contains(n) ? of_file_ : trees_;
      const auto it = owner.find(n);
      ASSERT_EQ(entry.valid, it != owner.end()) << "tree " << n;
      if (entry.valid) {
        ++count;
        EXPECT_EQ((TreeState{entry.wait_count, entry.parent.value, entry.children.bits()}),
                  it->second)
            << "tree " << n;
      }
    }
    EXPECT_EQ(tables.tree_count(), count);
    for (unsigned p = 0; p < port_count; ++p) {
      const auto& vnis = tables.port(port(p)).vnis;
      const bool is_closed =
          std::any_of(permitted_.begin(), permitted_.end(),
                      [&](const auto& one) { return one.first.first == p && one.second.second; });
      const bool lists = p <= 1 || is_closed;
      const bool keeps_out = std::any_of(kept_out_.begin(), kept_out_.end(),
                                         [&](const auto& one) { return one.first == p; });
      ASSERT_EQ(vnis == nullptr, !lists && !keeps_out) << "port " << p;
      if (vnis != nullptr) {
        for (unsigned vni = 0; vni < 12; ++vni) {
          EXPECT_EQ(vnis->test(vni), lists ? permitted_.contains({p, vni}) || (p == 0 && vni == 10)
                                           : !kept_out_.contains({p, vni}))
              << "port " << p << " VNI " << vni;
        }
      }
      std::optional<Nid> guard = p == 0 ? std::optional(Nid{1}) : std::nullopt;
      for (const auto& [place, given] : permitted_) {
        if (place.first == p && given.first != 0 && !guard) {
          guard = Nid{given.first};
        }
      }
      EXPECT_EQ(tables.port(port(p)).nid, guard) << "port " << p;
    }
  }

  void check_in_force(const control::InForce& reported) {
    EXPECT_EQ(reported.version(), agent_.tables->version());
    std::map<unsigned, TreeState> trees, of_file;
    for (const control::Tree& t : reported.trees()) {
      (t.from_file() ? of_file : trees)[t.number()] = {t.wait_count(), t.parent(), t.children()};
    }
    std::map<std::pair<unsigned, unsigned>, std::pair<unsigned, bool>> permitted;
    for (const control::Permission& p : reported.permissions()) {
      permitted[{p.port(), p.vni()}] = {p.nid(), p.closes()};
    }
    EXPECT_EQ(trees, trees_);
    EXPECT_EQ(of_file, of_file_);
    EXPECT_EQ(permitted, permitted_);
  }

  test::Random random_;
  TestAgent agent_{leaf0(), {.hello_interval_ns = 0}};
  std::map<unsigned, TreeState> of_file_{{1, {2, 5, 0b11}}};
  std::map<unsigned, TreeState> trees_;
  /// By port and VNI: the NID, 0 for none, and whether it closes the port.
  std::map<std::pair<unsigned, unsigned>, std::pair<unsigned, bool>> permitted_;
  /// VNIs of permissions that closed an open port and were revoked.
  std::set<std::pair<unsigned, unsigned>> kept_out_;
  std::map<std::uint64_t, Changes> prepared_;
  std::multiset<std::string> expected_;
  int refusals_ = 0;
  int reloads_ = 0;
};

TEST(RandomConversations, leave_the_switch_with_what_the_model_has) {
  SCOPED_TRACE(fmt::format("TRIBUTARY_SEED={}", test::seed()));
  int refusals = 0;
  int reloads = 0;
  for (std::uint64_t run = 0; run < 20; ++run) {
    Model model(test::seed() + run);
    model.connect();
    for (int i = 0; i < 500 && !testing::Test::HasFailure(); ++i) {
      model.step();
    }
    model.publish_and_check();
    ASSERT_FALSE(testing::Test::HasFailure()) << "in run " << run;
    refusals += model.refusals();
    reloads += model.reloads();
  }
  EXPECT_GT(refusals, 100) << "the conversation did not go where refusals are";
  EXPECT_GT(reloads, 20);
}

} // namespace
} // namespace tributary::agent
