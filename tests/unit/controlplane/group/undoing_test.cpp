// Undone requests leave no state behind, whatever they were and whenever they arrived.
#include "tests/unit/controlplane/group/registry_fixture.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <random>

namespace tributary::test {
namespace {

constexpr std::uint32_t hosts_there_are = 6;

std::string text_of(const Group& g) {
  std::string text =
      fmt::format("{} {} {} {} size {} state {} present {} root {} unanswered {} created {} since "
                  "{} deadline {} "
                  "vni {} cookie {} ending '{}' error '{}' routes {} not located {}\n",
                  g.id.value, g.job, g.name, g.step, g.size, static_cast<int>(g.state), g.present,
                  g.root ? static_cast<int>(*g.root) : -1, g.unanswered, g.created.value,
                  g.state_since.value, g.deadline.value, g.vni.value, g.cookie.value,
                  g.end_reason.message, g.error, g.routes.size(), g.not_located.size());
  for (const auto& [rank, m] : g.members) {
    text += fmt::format("  {}: {} {} {} {}{}\n", rank, m.nid.value, m.host,
                        static_cast<int>(m.state), m.lease_end == never ? "" : " leased",
                        g.not_located.contains(rank) ? " not located" : "");
  }
  return text;
}

/// The earliest deadline, by a scan over groups and members.
TimeNs first_deadline(const Registry& registry) {
  TimeNs first = registry.vnis().next_deadline();
  for (const Group* group : registry.groups()) {
    first = std::min(first, group->deadline);
    for (const auto& [rank, m] : group->members) {
      first = std::min(first, m.lease_end);
    }
  }
  return first;
}

/// Its complete visible state, except the remaining time of leases: a repeated request renews one.
std::string text_of(Registry& registry) {
  std::string text =
      fmt::format("{} trees, {} VNIs in quarantine, the first until {}\n", registry.trees_in_use(),
                  registry.vnis().quarantined(), registry.vnis().next_deadline().value);
  for (const group::Job* job : registry.jobs()) {
    const auto whose = registry.job_of_token(job->token);
    text += fmt::format("job {} {} {} vni {} deleting {} opened by its token {}:", job->id,
                        job->multicast_limit, job->token, job->vni ? job->vni->value : 0,
                        job->deleting, whose.ok());
    for (const auto& [name, id] : job->groups) {
      text += fmt::format(" {}={}", name, id.value);
    }
    text += "\n";
  }
  for (const Group* group : registry.groups()) {
    text += text_of(*group);
    for (const auto& tree : group->routes) {
      const Group* owner = registry.find(tree.number);
      text += fmt::format("  tree {} of {}\n", tree.number.value, owner->name);
    }
  }
  for (std::uint32_t nid = 1; nid <= hosts_there_are; ++nid) {
    text += fmt::format("host {}:", nid);
    for (const Group* group : registry.groups_of(Nid{nid})) {
      text += fmt::format(" {}", group->id.value);
    }
    text += "\n";
  }
  return text;
}

class Requests {
public:
  explicit Requests(std::uint64_t seed) : random_(seed) { fixture.hosts(1, hosts_there_are - 1); }

  void one() {
    const std::string job = some("j", 3);
    const std::string name = some("g", 4);
    const std::uint32_t size = 1 + small(4);
    switch (small(12)) {
    case 0: {
      group::JobBounds bounds;
      if (small(2) == 0) {
        bounds.vnis = {Vni{static_cast<std::uint16_t>(1024 + small(4))}};
      }
      static_cast<void>(fixture->create_job(job, 1 + small(4), bounds));
      static_cast<void>(fixture->set_limit(job, 1 + small(4)));
      break;
    }
    case 1:
      if (small(3) == 0) {
        static_cast<void>(fixture->delete_job(job, fixture.now));
      }
      break;
    case 2: {
      const std::vector<std::string> steps = {some("", 2)};
      static_cast<void>(fixture->end_steps(job, steps, fixture.now));
      break;
    }
    case 3: static_cast<void>(fixture->create_group({job, name, size}, fixture.now)); break;
    case 4:
    case 5: {
      group::MulticastRequest request{.job = job,
                                      .step = some("", 2),
                                      .members = {},
                                      .vni = Vni{static_cast<std::uint16_t>(1024 + small(4))}};
      for (std::uint32_t nid = 1 + small(hosts_there_are); nid > 0 && request.members.size() < 3;
           --nid) {
        request.members.push_back(Nid{nid});
      }
      static_cast<void>(fixture->create_multicast(request, fixture.now));
      break;
    }
    case 6: static_cast<void>(fixture->destroy(job, name, fixture.now)); break;
    case 7: static_cast<void>(fixture->leave(job, name, small(4), fixture.now)); break;
    default: {
      const std::uint32_t rank = small(size);
      static_cast<void>(fixture->join(
          request_to_join(rank, 1 + small(hosts_there_are), 1 + rank + small(2), name, job),
          fixture.now));
    }
    }
  }

  /// The manager's and the clock's actions between requests.
  void go_on() {
    if (small(5) == 0) {
      fixture.pass(small(20) * second);
    }
    if (small(8) == 0) {
      fixture->located(Nid{hosts_there_are}, fixture.now);
    } else if (small(8) == 0) {
      fixture->lost(Nid{hosts_there_are});
    }
    for (const group::Action& action : fixture.act()) {
      if (const auto* compute = std::get_if<group::ComputeRoutes>(&action)) {
        pending_.push_back(compute->group);
      } else if (const auto* remove = std::get_if<group::Remove>(&action)) {
        removing_.push_back(remove->group);
      }
    }
    if (!pending_.empty() && small(2) == 0) {
      const GroupId id = pending_.back();
      pending_.pop_back();
      if (fixture->routes_ready(id, routes_over("s"), fixture.now)) {
        fixture->installed(id, fixture.now);
      }
    }
    if (!removing_.empty() && small(2) == 0) {
      fixture->removed(removing_.back(), fixture.now);
      removing_.pop_back();
    }
    static_cast<void>(fixture.act());
  }

  std::uint32_t small(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  RegistryFixture fixture;

private:
  std::string some(const std::string& kind, std::uint32_t n) {
    return kind + std::to_string(small(n));
  }

  std::mt19937_64 random_;
  std::vector<GroupId> pending_;
  std::vector<GroupId> removing_;
};

TEST(Undoing, takes_back_whatever_was_asked_for_and_nothing_else) {
  int undone = 0;
  for (std::uint64_t round = 0; round < 15; ++round) {
    SCOPED_TRACE(round);
    Requests world(seed() + round);
    for (int step = 0; step < 100; ++step) {
      const std::string before = text_of(*world.fixture);
      world.fixture->begin_requests();
      for (std::uint32_t n = 1 + world.small(5); n > 0; --n) {
        world.one();
      }
      if (world.small(2) == 0) {
        undone += text_of(*world.fixture) != before ? 1 : 0;
        world.fixture->undo_requests();
        ASSERT_EQ(text_of(*world.fixture), before);
        ASSERT_EQ(world.fixture->next_deadline(), first_deadline(*world.fixture));
        ASSERT_TRUE(world.fixture->take_changes().empty());
        ASSERT_TRUE(world.fixture->take_actions().empty());
      } else {
        world.fixture->keep_requests();
      }
      world.go_on();
    }
    // The disk never saw undone requests, and has the rest.
    std::vector<GroupId> known;
    for (const Group* group : world.fixture->groups()) {
      known.push_back(group->id);
    }
    std::vector<GroupId> stored;
    for (const auto& record : world.fixture.disk().groups) {
      stored.push_back(record.id);
    }
    ASSERT_EQ(known, stored);
  }
  EXPECT_GT(undone, 150) << "too few requests changed anything";
}

} // namespace
} // namespace tributary::test
