// Thousands of random requests, crashes, repeated, late and lost messages, and restarts from the
// store in between; after every step the registry must match the simple rules of reference.hpp, and
// the disk must hold the registry's state.
#include "controlplane/api/status.hpp"
#include "tests/unit/controlplane/group/reference.hpp"
#include "tests/unit/controlplane/group/registry_fixture.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <iostream>
#include <map>
#include <set>

namespace tributary::test {
namespace {

constexpr std::uint64_t limit = 30 * second;
constexpr std::uint64_t lease = 12 * second;
constexpr std::uint32_t quota = 5;
constexpr std::uint32_t hosts = 7;

char letter(GroupState state) { return "RCYLDG"[static_cast<std::size_t>(state)]; }

class World {
public:
  explicit World(std::uint64_t seed) : random_(seed) {
    office_.job("j1", quota);
    office_->reserve_tree(TreeNumber{2});
    take();
  }

  void step() {
    switch (below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5: join(); break;
    case 6: leave(); break;
    case 7:
    case 8: renew(); break;
    case 9: pass(below(4) * second); break;
    case 10: host(); break;
    case 11: below(6) == 0 ? destroy() : renew(); break;
    case 12: below(12) == 0 ? restart() : renew_all(); break;
    default: answer();
    }
    take();
    compare();
  }

  /// All members crash and every removal is carried out: no state may be left.
  void wind_up() {
    pass(lease);
    take();
    pass(limit);
    take();
    while (!due_.empty()) {
      answer();
      take();
      compare();
    }
    EXPECT_TRUE(office_->groups().empty());
    EXPECT_EQ(office_->trees_in_use(), 0U);
    EXPECT_EQ(office_->next_deadline(), never);
    const auto disk = office_.disk();
    EXPECT_TRUE(disk.groups.empty() && disk.members.empty() && disk.trees.empty());
  }

  struct Seen {
    std::map<unsigned, int> answers;
    std::map<char, int> states;
    int restarts = 0;
    int late = 0; ///< messages about groups that were gone
  };
  Seen seen;

private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::uint32_t small(std::uint64_t n) { return static_cast<std::uint32_t>(below(n)); }
  std::string some_name() { return std::string(1, static_cast<char>('a' + below(6))); }

  template <typename T> unsigned status(const Result<T>& result) {
    const unsigned status = result ? 200 : api::status_of(result.error().kind);
    ++seen.answers[status];
    return status;
  }

  void join() {
    const std::string name = some_name();
    // Mostly in agreement with other requests for this name.
    const std::uint32_t usual = 2 + (static_cast<unsigned>(name[0]) % 3);
    const std::uint32_t size = below(20) == 0 ? 1 + small(4) : usual;
    const std::uint32_t rank = below(30) == 0 ? small(6) : small(size);
    const std::uint32_t nid =
        below(15) == 0 ? small(hosts) : (rank + static_cast<unsigned char>(name[0])) % hosts;
    const auto joined = office_->join(request_to_join(rank, nid, size, name), office_.now);
    EXPECT_EQ(status(joined), plain_.join(name, size, rank, nid, office_.now))
        << name << " size " << size << " rank " << rank << " nid " << nid << ": "
        << (joined ? "" : joined.error().message);
  }
  void leave() {
    const std::string name = some_name();
    const std::uint32_t rank = small(4);
    EXPECT_EQ(status(office_.leave(rank, name)), plain_.leave(name, rank, office_.now));
  }
  void renew(const std::string& name, std::uint32_t rank) {
    EXPECT_EQ(status(office_->renew("j1", name, rank, office_.now)),
              plain_.renew(name, rank, office_.now));
  }
  void renew() { renew(some_name(), small(4)); }
  void renew_all() {
    for (const char* const name : {"a", "b", "c", "d", "e", "f"}) {
      for (std::uint32_t rank = 0; rank < 4; ++rank) {
        renew(name, rank);
      }
    }
  }
  void destroy() {
    const std::string name = some_name();
    EXPECT_EQ(status(office_->destroy("j1", name, office_.now)), plain_.destroy(name));
  }
  void host() {
    const std::uint32_t nid = small(hosts);
    if (below(4) == 0) {
      office_->lost(Nid{nid});
      plain_.lose(nid);
    } else {
      office_->located(Nid{nid}, office_.now);
      plain_.locate(nid);
    }
  }
  void pass(std::uint64_t ns) {
    office_.pass(ns);
    plain_.pass_to(office_.now);
  }
  void restart() {
    ++seen.restarts;
    due_.clear(); // pending work is lost
    computed_.clear();
    office_.restart();
    office_->reserve_tree(TreeNumber{2});
    plain_.restart(office_.now);
  }

  /// One of the registry's requested actions succeeds, fails, or is answered a second time.
  void answer() {
    if (due_.empty()) {
      return;
    }
    const auto which = std::next(due_.begin(), static_cast<long>(below(due_.size())));
    const group::Action action = which->second;
    if (below(5) != 0) {
      due_.erase(which);
    }
    if (const auto* const compute = std::get_if<group::ComputeRoutes>(&action)) {
      const std::string name = names_.at(compute->group);
      const bool current = is_current(compute->group);
      if (below(6) == 0) {
        office_->routes_failed(compute->group, {group::ErrorKind::unreachable, "no path"},
                               office_.now);
        if (current) {
          plain_.failed(name);
        }
      } else {
        EXPECT_EQ(office_->routes_ready(compute->group, routes_over("s"), office_.now),
                  current && plain_.routes_ready(name));
      }
    } else if (const auto* const install = std::get_if<group::Install>(&action)) {
      const bool current = is_current(install->group);
      if (below(6) == 0) {
        office_->install_failed(install->group, "refused", office_.now);
        if (current) {
          plain_.failed(names_.at(install->group));
        }
      } else {
        office_->installed(install->group, office_.now);
        if (current) {
          plain_.installed(names_.at(install->group), office_.now);
        }
      }
    } else if (const auto* const remove = std::get_if<group::Remove>(&action)) {
      const bool current = is_current(remove->group);
      office_->removed(remove->group, office_.now);
      if (current) {
        plain_.removed(names_.at(remove->group));
      }
    }
  }
  bool is_current(GroupId id) {
    const bool current = office_->find(id) != nullptr;
    seen.late += current ? 0 : 1;
    return current;
  }

  /// Stores changes, and records requested actions. Routes are computed once.
  void take() {
    for (const Group* const group : office_->groups()) {
      names_[group->id] = group->name;
    }
    for (group::Action& action : office_.act()) {
      if (const auto* const compute = std::get_if<group::ComputeRoutes>(&action)) {
        EXPECT_TRUE(computed_.insert(compute->group).second) << "computed a second time";
      }
      if (!std::holds_alternative<group::Gone>(action)) {
        due_.emplace(counter_++, std::move(action));
      }
    }
  }

  void compare() {
    ASSERT_EQ(office_->groups().size(), plain_.groups.size());
    std::set<TreeNumber> numbers;
    TimeNs next = never;
    for (const auto& [name, expected] : plain_.groups) {
      const Group* const group = office_->find("j1", name);
      ASSERT_NE(group, nullptr) << name;
      ++seen.states[letter(group->state)];
      ASSERT_EQ(letter(group->state), expected.state) << name;
      ASSERT_EQ(group->deadline, expected.limit) << name;
      ASSERT_EQ(group->members.size(), expected.members.size()) << name;
      ASSERT_EQ(group->present, expected.in()) << name;
      ASSERT_EQ(group->routed(), expected.routed) << name;
      ASSERT_EQ(group->root.has_value(), expected.root.has_value()) << name;
      next = std::min(next, group->deadline);
      for (const auto& [rank, member] : expected.members) {
        const auto& found = group->members.at(rank);
        ASSERT_EQ(found.nid.value, member.nid);
        ASSERT_EQ(found.state == group::MemberState::joined, member.in);
        if (member.in && expected.state != 'D') {
          ASSERT_EQ(found.lease_end, member.lease);
          next = std::min(next, member.lease);
        }
      }
      if (group->root) {
        ASSERT_EQ(group->members.at(*group->root).nid.value, expected.root);
      }
      for (const auto& tree : group->routes) {
        ASSERT_TRUE(numbers.insert(tree.number).second && tree.number != TreeNumber{2});
        ASSERT_NE(group->cookie.value, 0U);
        ASSERT_EQ(office_->find(tree.number), group);
      }
    }
    ASSERT_EQ(office_->next_deadline(), next);
    compare_disk();
  }

  void compare_disk() {
    const auto disk = office_.disk();
    const auto groups = office_->groups();
    ASSERT_EQ(disk.groups.size(), groups.size());
    std::size_t members = 0;
    std::size_t trees = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      ASSERT_EQ(disk.groups[i].id, groups[i]->id);
      ASSERT_EQ(disk.groups[i].state, groups[i]->state);
      ASSERT_EQ(disk.groups[i].root, groups[i]->root);
      ASSERT_EQ(disk.groups[i].cookie, groups[i]->cookie);
      members += groups[i]->members.size();
      trees += groups[i]->routes.size();
    }
    ASSERT_EQ(disk.members.size(), members);
    ASSERT_EQ(disk.trees.size(), trees);
  }

  Random random_;
  RegistryFixture office_{{.join_limit_ns = limit, .leave_limit_ns = limit, .lease_ns = lease}};
  Reference plain_{quota, limit, lease};
  std::map<std::uint64_t, group::Action> due_;
  std::uint64_t counter_ = 0;
  std::set<GroupId> computed_; ///< since the last restart
  std::map<GroupId, std::string> names_;
};

TEST(Model, random_requests_crashes_and_restarts_lead_where_the_plain_rules_lead) {
  World::Seen seen;
  constexpr std::uint64_t runs = TRIBUTARY_SEED_DIVISOR == 1 ? 20 : 8; // enough for every answer
  for (std::uint64_t run = 0; run < runs; ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    World world(seed() + run);
    for (int step = 0; step < 2'000 && !::testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      world.step();
    }
    if (::testing::Test::HasFailure()) {
      return;
    }
    world.wind_up();
    for (const auto& [status, count] : world.seen.answers) {
      seen.answers[status] += count;
    }
    for (const auto& [state, count] : world.seen.states) {
      seen.states[state] += count;
    }
    seen.restarts += world.seen.restarts;
    seen.late += world.seen.late;
  }
  for (const auto& [status, count] : seen.answers) {
    std::cout << status << ": " << count << "  ";
  }
  for (const auto& [state, count] : seen.states) {
    std::cout << state << ": " << count << "  ";
  }
  std::cout << "restarts: " << seen.restarts << "  late messages: " << seen.late << '\n';
  for (const unsigned status : {200U, 400U, 404U, 409U, 507U}) {
    EXPECT_GT(seen.answers[status], 10) << "hardly any " << status;
  }
  for (const char state : std::string("RCYLD")) {
    EXPECT_GT(seen.states[state], 100) << "hardly ever in " << state;
  }
  EXPECT_GT(seen.restarts, 5 * static_cast<int>(runs));
  EXPECT_GT(seen.late, 10);
}

} // namespace
} // namespace tributary::test
