// Who may have what of a node's fabric interface.

#include "endpoint/agent/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

namespace tributary::host_agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr TimeNs start{1'000 * ns_per_second};
constexpr TimeNs at(std::uint64_t seconds) { return start + seconds * ns_per_second; }

const Peer root{.pid = 1};
const Peer alice{.pid = 100, .uid = 1000, .gid = 100, .cgroup = "/user.slice/alice"};
const Peer bob{.pid = 200, .uid = 2000, .gid = 100, .cgroup = "/user.slice/bob"};

Settings with_service(Vni first = Vni{1024}, Vni last = Vni{2047}) {
  Settings settings;
  settings.services = {{.name = "all", .first = first, .last = last}};
  return settings;
}

AddJobRequest job(const std::string& name, std::uint16_t vni,
                  std::optional<std::uint32_t> uid = std::nullopt) {
  return {.job = name, .vni = Vni{vni}, .uid = uid};
}

/// The reason and the message of a refusal; fails the test if there is none.
template <typename F> std::pair<Reason, std::string> refusal_of(F&& f) {
  try {
    f();
  } catch (const AgentError& error) {
    return {error.reason(), error.what()};
  }
  ADD_FAILURE() << "it was not refused";
  return {};
}

TEST(HostAgentRegistry, AUserOfNoJobIsRefusedAndLearnsWhatToDo) {
  Registry registry({}, 0);
  const auto [reason, text] =
      refusal_of([&] { static_cast<void>(registry.choose(alice, {}, start)); });
  EXPECT_EQ(reason, Reason::no_job);
  EXPECT_THAT(text, HasSubstr("tributary-run"));
  EXPECT_EQ(registry.counts().refused[static_cast<std::size_t>(Reason::no_job)], 1U);
}

TEST(HostAgentRegistry, AJobThatRootDeclaresIsOpenToItsUserAlone) {
  Registry registry({}, 0);
  const auto added = registry.add(root, job("j1", 1024, alice.uid), start);
  EXPECT_TRUE(added.is_new);
  EXPECT_FALSE(added.job.is_own);
  EXPECT_EQ(registry.choose(alice, {}, start).id, "j1");
  EXPECT_EQ(refusal_of([&] { static_cast<void>(registry.choose(bob, {}, start)); }).first,
            Reason::no_job);
  // Neither by its name, nor by its VNI.
  EXPECT_EQ(
      refusal_of([&] { static_cast<void>(registry.choose(bob, {.job = "j1"}, start)); }).first,
      Reason::no_job);
  EXPECT_EQ(
      refusal_of([&] { static_cast<void>(registry.choose(bob, {.vni = Vni{1024}}, start)); }).first,
      Reason::no_job);
}

TEST(HostAgentRegistry, AUserDeclaresJobsOnlyByLeaveOfAServiceAndOnlyOfHisOwn) {
  Registry none({}, 0);
  EXPECT_EQ(refusal_of([&] { static_cast<void>(none.add(alice, job("j", 1024), start)); }).first,
            Reason::not_permitted);
  Registry registry(with_service(), 0);
  EXPECT_TRUE(registry.add(alice, job("j", 1024), start).job.is_own);
  const auto outside =
      refusal_of([&] { static_cast<void>(registry.add(alice, job("k", 2048), start)); });
  EXPECT_EQ(outside.first, Reason::not_permitted);
  EXPECT_THAT(outside.second, HasSubstr("2048"));
  EXPECT_EQ(refusal_of([&] {
              static_cast<void>(registry.add(alice, job("k", 1030, bob.uid), start));
            }).first,
            Reason::not_permitted);
}

TEST(HostAgentRegistry, AServiceIsForItsUsersAndGroups) {
  Settings settings;
  settings.services = {{.name = "users", .users = {alice.uid}, .first = Vni{10}, .last = Vni{10}},
                       {.name = "group", .groups = {77}, .first = Vni{20}, .last = Vni{20}}};
  Registry registry(settings, 0);
  EXPECT_TRUE(registry.add(alice, job("a", 10), start).is_new);
  EXPECT_EQ(refusal_of([&] { static_cast<void>(registry.add(bob, job("b", 10), start)); }).first,
            Reason::not_permitted);
  Peer member = bob;
  member.groups = {5, 77};
  EXPECT_TRUE(registry.add(member, job("b", 20), start).is_new);
}

TEST(HostAgentRegistry, TheAdministratorsGroupMayWhatRootMay) {
  Settings settings;
  settings.administrators = 55;
  Registry registry(settings, 0);
  Peer prolog = bob;
  prolog.groups = {55};
  EXPECT_FALSE(registry.add(prolog, job("j", 1024, alice.uid), start).job.is_own);
  EXPECT_EQ(registry.choose(alice, {}, start).id, "j");
  EXPECT_EQ(registry.end(prolog, {.job = "j"}, start).id, "j");
}

TEST(HostAgentRegistry, RootOfAContainerIsAUserLikeAnyOther) {
  Registry registry({}, 0);
  const Peer guest{.pid = 9, .is_confined = true};
  static_cast<void>(registry.add(root, job("j", 1024, alice.uid), start));
  EXPECT_EQ(
      refusal_of([&] { static_cast<void>(registry.choose(guest, {.job = "j"}, start)); }).first,
      Reason::no_job);
  const auto [reason, text] =
      refusal_of([&] { static_cast<void>(registry.add(guest, job("k", 1025, bob.uid), start)); });
  EXPECT_EQ(reason, Reason::not_permitted);
  EXPECT_THAT(text, HasSubstr("CAP_NET_ADMIN"));
  EXPECT_EQ(refusal_of([&] { static_cast<void>(registry.end(guest, {.job = "j"}, start)); }).first,
            Reason::not_permitted);
  EXPECT_EQ(registry.choose(root, {.job = "j"}, start).uid, alice.uid);
  static_cast<void>(registry.add(root, job("own", 1026, 0), start));
  EXPECT_EQ(registry.choose(guest, {}, start).id, "own");
}

TEST(HostAgentRegistry, TheVniOfAnotherIsTaken) {
  Registry registry(with_service(), 0);
  static_cast<void>(registry.add(alice, job("a", 1024), start));
  const auto refused =
      refusal_of([&] { static_cast<void>(registry.add(bob, job("b", 1024), start)); });
  EXPECT_EQ(refused.first, Reason::taken);
  EXPECT_THAT(refused.second, HasSubstr("\"a\""));
  EXPECT_EQ(refusal_of([&] { static_cast<void>(registry.add(bob, job("a", 1025), start)); }).first,
            Reason::taken);
}

TEST(HostAgentRegistry, AJobThatAUserSquatsEndsWhenAnAdministratorDeclaresAnotherThere) {
  Registry registry(with_service(), 0);
  const Mark squatted = registry.add(alice, job("a", 1024), start).job.mark;
  const auto added = registry.add(root, job("b", 1024, bob.uid), start);
  ASSERT_EQ(added.displaced.size(), 1U);
  EXPECT_EQ(added.displaced[0].id, "a");
  EXPECT_EQ(added.displaced[0].mark, squatted);
  EXPECT_NE(added.job.mark, squatted);
  EXPECT_EQ(registry.choose(bob, {}, start).id, "b");
  EXPECT_THAT(
      refusal_of([&] { static_cast<void>(registry.choose(alice, {.job = "a"}, at(3))); }).second,
      HasSubstr("ended on this node 3 s ago"));
  // What an administrator declared, nothing displaces.
  EXPECT_EQ(refusal_of([&] {
              static_cast<void>(registry.add(root, job("c", 1024, alice.uid), start));
            }).first,
            Reason::taken);
  EXPECT_EQ(refusal_of([&] { static_cast<void>(registry.add(bob, job("b", 1025), start)); }).first,
            Reason::taken);
}

TEST(HostAgentRegistry,
     AUsersLauncherMayDeclareWhatAnAdministratorHasDeclaredForHimAndNothingChanges) {
  Registry registry({}, 0); // no service
  AddJobRequest of_prolog = job("slurm-17", 1024, alice.uid);
  of_prolog.manager.token = "right";
  const Mark mark = registry.add(root, of_prolog, start).job.mark;
  AddJobRequest of_launcher = job("slurm-17", 1024);
  of_launcher.is_attached = true;
  of_launcher.lifetime_ns = ns_per_second;
  of_launcher.manager.token = "other";
  const auto added = registry.add(alice, of_launcher, at(1));
  EXPECT_TRUE(added.is_unchanged);
  EXPECT_FALSE(added.is_new);
  EXPECT_EQ(added.job.mark, mark);
  EXPECT_EQ(registry.next_deadline(), never);
  EXPECT_EQ(registry.choose(alice, {}, at(9)).manager.token, "right");
  EXPECT_EQ(
      refusal_of([&] { static_cast<void>(registry.end(alice, {.job = "slurm-17"}, at(9))); }).first,
      Reason::not_permitted);
  // Neither another VNI, nor another user, nor another user's name.
  EXPECT_EQ(refusal_of([&] {
              static_cast<void>(registry.add(alice, job("slurm-17", 1025), at(9)));
            }).first,
            Reason::not_permitted);
  EXPECT_EQ(
      refusal_of([&] { static_cast<void>(registry.add(bob, job("slurm-17", 1024), at(9))); }).first,
      Reason::not_permitted);
  EXPECT_EQ(refusal_of([&] {
              static_cast<void>(registry.add(bob, job("slurm-17", 1024, alice.uid), at(9)));
            }).first,
            Reason::not_permitted);
}

TEST(HostAgentRegistry, AJobDeclaredAgainKeepsItsMark) {
  Registry registry(with_service(), 0);
  const auto first = registry.add(alice, job("a", 1024), start);
  AddJobRequest again = job("a", 1024);
  again.manager.token = "new";
  const auto second = registry.add(alice, again, at(1));
  EXPECT_FALSE(second.is_new);
  EXPECT_EQ(second.job.mark, first.job.mark);
  EXPECT_EQ(registry.choose(alice, {}, at(1)).manager.token, "new");
  // Its VNI would change what sockets may send that are there already.
  EXPECT_EQ(
      refusal_of([&] { static_cast<void>(registry.add(alice, job("a", 1025), at(2))); }).first,
      Reason::taken);
}

TEST(HostAgentRegistry, SeveralJobsOfAUserNeedAName) {
  Registry registry(with_service(), 0);
  static_cast<void>(registry.add(alice, job("a", 1024), start));
  static_cast<void>(registry.add(alice, job("b", 1025), start));
  const auto refused = refusal_of([&] { static_cast<void>(registry.choose(alice, {}, start)); });
  EXPECT_EQ(refused.first, Reason::several_jobs);
  EXPECT_THAT(refused.second, HasSubstr("TRIBUTARY_JOB_ID"));
  EXPECT_EQ(registry.choose(alice, {.job = "b"}, start).vni, Vni{1025});
  EXPECT_EQ(registry.choose(alice, {.vni = Vni{1024}}, start).id, "a");
  const auto both = refusal_of(
      [&] { static_cast<void>(registry.choose(alice, {.job = "a", .vni = Vni{1025}}, start)); });
  EXPECT_EQ(both.first, Reason::not_permitted);
  EXPECT_THAT(both.second, HasSubstr("has VNI 1024, not 1025"));
}

TEST(HostAgentRegistry, AJobWithACgroupIsForTheProcessesInIt) {
  Registry registry({}, 0);
  AddJobRequest request = job("j5", 1024, alice.uid);
  request.cgroup = "/system.slice/slurmstepd.scope/job_5";
  static_cast<void>(registry.add(root, request, start));
  EXPECT_THAT(refusal_of([&] { static_cast<void>(registry.choose(alice, {}, start)); }).second,
              HasSubstr("in cgroup \"/user.slice/alice\""));
  Peer inside = alice;
  inside.cgroup = "/system.slice/slurmstepd.scope/job_5/step_0/user/task_0";
  EXPECT_EQ(registry.choose(inside, {}, start).id, "j5");
  inside.cgroup = "/system.slice/slurmstepd.scope/job_55";
  EXPECT_EQ(refusal_of([&] { static_cast<void>(registry.choose(inside, {}, start)); }).first,
            Reason::no_job);
  // The same user's other job, of no cgroup: each process has its own.
  static_cast<void>(registry.add(root, job("login", 1030, alice.uid), start));
  inside.cgroup = "/system.slice/slurmstepd.scope/job_5";
  EXPECT_EQ(registry.choose(inside, {}, start).id, "j5");
  EXPECT_EQ(registry.choose(alice, {}, start).id, "login");
}

TEST(HostAgentRegistry, JobsEndByTheirTime) {
  Registry registry(with_service(), 0);
  AddJobRequest request = job("a", 1024);
  request.lifetime_ns = 5 * ns_per_second;
  static_cast<void>(registry.add(alice, request, start));
  EXPECT_EQ(registry.next_deadline(), at(5));
  EXPECT_THAT(registry.expire(at(4)), IsEmpty());
  // Not a moment longer, though there was no call of expire.
  EXPECT_EQ(refusal_of([&] { static_cast<void>(registry.choose(alice, {}, at(5))); }).first,
            Reason::no_job);
  ASSERT_EQ(registry.expire(at(5)).size(), 1U);
  EXPECT_EQ(registry.next_deadline(), never);
}

TEST(HostAgentRegistry, AJobOfAUsersOwnEndsAtTheLimitAtTheLatest) {
  Settings settings = with_service();
  settings.limits.longest_own_job_ns = 10 * ns_per_second;
  Registry registry(settings, 0);
  EXPECT_EQ(registry.add(alice, job("a", 1024), start).job.until, at(10));
  AddJobRequest request = job("b", 1025);
  request.lifetime_ns = never.value - 1;
  EXPECT_EQ(registry.add(alice, request, start).job.until, at(10));
  EXPECT_EQ(registry.add(root, job("c", 1026, alice.uid), start).job.until, never);
}

TEST(HostAgentRegistry, AnAttachedJobOutlivesItsConnectionByAWhile) {
  Registry registry(with_service(), 0);
  AddJobRequest request = job("a", 1024);
  request.is_attached = true;
  const Mark mark = registry.add(alice, request, start).job.mark;
  registry.detach("a", at(1));
  EXPECT_EQ(registry.choose(alice, {}, at(10)).id, "a");
  // Attached again in time: the same job, and its time is open again.
  EXPECT_EQ(registry.add(alice, request, at(10)).job.mark, mark);
  EXPECT_THAT(registry.expire(at(60)), IsEmpty());
  registry.detach("a", at(60));
  EXPECT_EQ(registry.expire(at(70)).size(), 1U);
  registry.detach("a", at(80)); // of a job that is gone
}

TEST(HostAgentRegistry, OnlyWhoDeclaredAJobAndAdministratorsEndIt) {
  Registry registry(with_service(), 0);
  static_cast<void>(registry.add(alice, job("a", 1024), start));
  static_cast<void>(registry.add(root, job("r", 1025, alice.uid), start));
  EXPECT_EQ(refusal_of([&] { static_cast<void>(registry.end(bob, {.job = "a"}, start)); }).first,
            Reason::not_permitted);
  EXPECT_EQ(refusal_of([&] { static_cast<void>(registry.end(alice, {.job = "r"}, start)); }).first,
            Reason::not_permitted);
  EXPECT_EQ(refusal_of([&] { static_cast<void>(registry.end(alice, {.job = "x"}, start)); }).first,
            Reason::no_job);
  EXPECT_EQ(registry.end(alice, {.job = "a"}, start).id, "a");
  EXPECT_EQ(registry.end(root, {.job = "r"}, start).id, "r");
}

TEST(HostAgentRegistry, AMarkIsNotGivenAgainWhileASocketWithItLives) {
  // The last serial number but one: the series begins again soon.
  Registry registry(with_service(), Marks::serial_mask - 1);
  const Mark last = registry.add(alice, job("a", 1024), start).job.mark;
  EXPECT_EQ(last.value, 0x54FFFFFFU);
  const Mark first = registry.add(alice, job("b", 1025), start).job.mark;
  EXPECT_EQ(first.value, 0x54000001U);
  registry.opened({.inode = 7, .uid = alice.uid, .mark = first});
  static_cast<void>(registry.end(alice, {.job = "b"}, start));
  Registry again(with_service(), 0x54000000U);
  again.adopt(registry.record(), start);
  EXPECT_EQ(again.add(alice, job("c", 1026), start).job.mark.value, 0x54000002U);
  again.keep_only({});
  Registry later(with_service(), 0x54000000U);
  later.adopt(again.record(), start);
  EXPECT_EQ(later.add(alice, job("d", 1027), start).job.mark.value, 0x54000001U);
}

TEST(HostAgentRegistry, AUserHoldsNoMoreSocketsThanAllowedAndRootAsManyAsItLikes) {
  Settings settings;
  settings.limits.sockets_per_user = 2;
  Registry registry(settings, 0);
  for (std::uint64_t inode = 1; inode <= 2; ++inode) {
    EXPECT_FALSE(registry.is_at_socket_limit(alice));
    registry.opened({.inode = inode, .uid = alice.uid, .mark = Mark{1}});
    registry.opened({.inode = 100 + inode, .uid = 0, .mark = Mark{1}});
  }
  EXPECT_TRUE(registry.is_at_socket_limit(alice));
  EXPECT_FALSE(registry.is_at_socket_limit(bob));
  EXPECT_FALSE(registry.is_at_socket_limit(root));
  registry.keep_only({2, 101});
  EXPECT_FALSE(registry.is_at_socket_limit(alice));
  EXPECT_EQ(registry.sockets_of(Mark{1}), 2U);
}

TEST(HostAgentRegistry, AnEndPointIsGivenToOneSocketAndAgainAsLateAsPossible) {
  constexpr std::size_t all = std::size_t{end_points_per_host} - first_given_end_point;
  Registry registry(Settings{}, 0);
  const std::uint16_t first = registry.new_end_point();
  EXPECT_EQ(first, first_given_end_point);
  registry.opened({.inode = 1, .uid = alice.uid, .mark = Mark{1}, .end_point = first});
  registry.keep_only({});
  EXPECT_EQ(registry.new_end_point(), first + 1)
      << "that of a program that ended a moment ago waits";

  Registry after(Settings{}, 0);
  after.adopt(registry.record(), start);
  std::unordered_set<std::uint64_t> inodes;
  std::unordered_set<std::uint16_t> given;
  for (std::uint64_t inode = 1; inode <= all; ++inode) {
    ASSERT_TRUE(after.has_end_point());
    const std::uint16_t number = after.new_end_point();
    EXPECT_GE(number, first_given_end_point);
    EXPECT_LT(number, end_points_per_host);
    EXPECT_TRUE(given.insert(number).second) << number;
    after.opened({.inode = inode, .uid = 0, .mark = Mark{1}, .end_point = number});
    inodes.insert(inode);
  }
  EXPECT_FALSE(after.has_end_point());
  EXPECT_EQ(refusal_of([&] { static_cast<void>(after.new_end_point()); }).first, Reason::limit);
  inodes.erase(17);
  after.keep_only(inodes);
  EXPECT_TRUE(after.has_end_point());
  EXPECT_FALSE(given.insert(after.new_end_point()).second) << "the one that became free";
}

TEST(HostAgentRegistry, JobsAreLimited) {
  Settings settings = with_service();
  settings.limits.jobs_per_user = 2;
  settings.limits.jobs = 4;
  Registry registry(settings, 0);
  static_cast<void>(registry.add(alice, job("a", 1024), start));
  static_cast<void>(registry.add(alice, job("b", 1025), start));
  EXPECT_EQ(
      refusal_of([&] { static_cast<void>(registry.add(alice, job("c", 1026), start)); }).first,
      Reason::limit);
  EXPECT_FALSE(registry.add(alice, job("a", 1024), start).is_new); // known ones may change
  // Users do not use up what administrators may declare, and these do not what users may.
  for (std::uint16_t n = 0; n < 4; ++n) {
    EXPECT_TRUE(
        registry
            .add(root, job("r" + std::to_string(n), static_cast<std::uint16_t>(1030 + n), bob.uid),
                 start)
            .is_new);
  }
  EXPECT_EQ(refusal_of([&] {
              static_cast<void>(registry.add(root, job("s", 1040, bob.uid), start));
            }).first,
            Reason::limit);
  static_cast<void>(registry.add(bob, job("x", 1050), start));
  static_cast<void>(registry.add(bob, job("y", 1051), start));
  const Peer carol{.pid = 300, .uid = 3000, .gid = 100};
  EXPECT_EQ(
      refusal_of([&] { static_cast<void>(registry.add(carol, job("z", 1052), start)); }).first,
      Reason::limit);
}

TEST(HostAgentRegistry, AUserDoesNotKeepTheAgentBusyWithJobsThatComeAndGo) {
  Settings settings = with_service();
  settings.limits.jobs_per_user = 3;
  Registry registry(settings, 0);
  const auto comes_and_goes = [&](const Peer& peer, TimeNs now) {
    static_cast<void>(registry.add(peer, job("a", 1024), now));
    static_cast<void>(registry.add(peer, job("a", 1024), now)); // a known one costs nothing
    static_cast<void>(registry.end(peer, {.job = "a"}, now));
  };
  for (int i = 0; i < 3; ++i) {
    comes_and_goes(alice, at(1));
  }
  const auto [reason, text] = refusal_of([&] { comes_and_goes(alice, at(10)); });
  EXPECT_EQ(reason, Reason::limit);
  EXPECT_THAT(text, HasSubstr("try again later"));
  comes_and_goes(bob, at(10));
  for (int i = 0; i < 9; ++i) {
    static_cast<void>(registry.add(root, job("a", 1024, alice.uid), at(10)));
    static_cast<void>(registry.end(root, {.job = "a"}, at(10)));
  }
  comes_and_goes(alice, at(11));
}

TEST(HostAgentRegistry, AProgramThatOutlivesItsJobDoesNotHearTheNextUsersOfItsVni) {
  Registry registry({}, 0);
  const Job first = registry.add(root, job("a", 1024, alice.uid), start).job;
  registry.opened({.inode = 1, .uid = alice.uid, .mark = first.mark, .vni = first.vni});
  EXPECT_EQ(registry.overhearing(first), nullptr);
  static_cast<void>(registry.end(root, {.job = "a"}, start));
  Registry again({}, registry.record().highest_mark);
  again.adopt(registry.record(), start); // a restart does not forget it
  const Job own = again.add(root, job("b", 1024, alice.uid), start).job;
  EXPECT_EQ(again.overhearing(own), nullptr) << "it is the same user's";
  static_cast<void>(again.end(root, {.job = "b"}, start));
  const Job other = again.add(root, job("c", 1025, bob.uid), start).job;
  EXPECT_EQ(again.overhearing(other), nullptr) << "it has another VNI";
  const Job next = again.add(root, job("d", 1024, bob.uid), start).job;
  const Socket* const by = again.overhearing(next);
  ASSERT_NE(by, nullptr);
  EXPECT_THAT(again.overheard_error(next, *by).what(), HasSubstr("user 1000"));
  again.keep_only({});
  EXPECT_EQ(again.overhearing(next), nullptr);
  again.opened({.inode = 2, .uid = 0, .mark = first.mark, .vni = next.vni});
  EXPECT_EQ(again.overhearing(next), nullptr) << "root's";
}

TEST(HostAgentRegistry, ARestartTakesOverJobsAndSockets) {
  Registry before(with_service(), 41);
  AddJobRequest attached = job("a", 1024);
  attached.is_attached = true;
  const Mark mark = before.add(alice, attached, start).job.mark;
  static_cast<void>(before.add(root, job("r", 1025, bob.uid), start));
  before.opened({.inode = 9, .uid = alice.uid, .mark = mark});
  Registry after(with_service(), before.record().highest_mark);
  after.adopt(before.record(), at(1));
  EXPECT_EQ(after.choose(alice, {}, at(1)).mark, mark);
  EXPECT_EQ(after.sockets_of(mark), 1U);
  EXPECT_EQ(after.highest_mark(), before.highest_mark());
  // What was attached must be attached again.
  ASSERT_EQ(after.expire(at(11)).size(), 1U);
  EXPECT_EQ(after.choose(bob, {}, at(11)).id, "r");
}

/// Any requests of three users and root, in any order: what holds at all times.
TEST(HostAgentRegistry, NoTwoUsersHaveOrHearOneVniAndNoTwoJobsHaveOneMark) {
  std::mt19937 random(36);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  Settings settings = with_service(Vni{1}, Vni{6});
  settings.limits = {.jobs = 8, .jobs_per_user = 3, .sockets_per_user = 4};
  Registry registry(settings, Marks::serial_mask - 20);
  std::map<std::uint64_t, Mark> alive;
  std::map<std::uint64_t, std::pair<Vni, std::uint32_t>> heard; // also of sockets that are closed
  std::uint64_t inode = 1;
  TimeNs now = start;
  std::size_t done = 0;
  for (int step = 0; step < 20'000; ++step) {
    now = now + below(3) * ns_per_second;
    Peer peer{.pid = 5, .uid = below(4), .gid = 100};
    try {
      switch (below(5)) {
      case 0:
      case 1: {
        AddJobRequest request =
            job("j" + std::to_string(below(6)), static_cast<std::uint16_t>(1 + below(7)));
        if (below(3) == 0) {
          request.uid = 1 + below(3);
        }
        if (below(2) == 0) {
          request.lifetime_ns = below(20) * ns_per_second;
        }
        request.is_attached = below(4) == 0;
        const auto added = registry.add(peer, request, now);
        for (const auto& [number, mark] : alive) {
          ASSERT_TRUE(!added.is_new || mark != added.job.mark) << "socket " << number;
        }
        break;
      }
      case 2:
        static_cast<void>(registry.end(peer, {.job = "j" + std::to_string(below(6))}, now));
        break;
      case 3: {
        const Job& chosen = registry.choose(peer, {}, now);
        ASSERT_EQ(chosen.uid, peer.uid);
        if (!registry.is_at_socket_limit(peer) && registry.overhearing(chosen) == nullptr) {
          for (const auto& [number, mark] : alive) {
            const auto& [vni, user] = heard.at(number);
            ASSERT_TRUE(vni != chosen.vni || user == peer.uid || user == 0) << "socket " << number;
          }
          registry.opened(
              {.inode = inode, .uid = peer.uid, .mark = chosen.mark, .vni = chosen.vni});
          heard[inode] = {chosen.vni, peer.uid};
          alive[inode++] = chosen.mark;
        }
        break;
      }
      default: {
        std::unordered_set<std::uint64_t> left;
        std::erase_if(alive, [&](const auto&) { return below(3) == 0; });
        for (const auto& [number, mark] : alive) {
          left.insert(number);
        }
        registry.keep_only(left);
        registry.detach("j" + std::to_string(below(6)), now);
        static_cast<void>(registry.expire(now));
      }
      }
      ++done;
    } catch (const AgentError&) {
    }
    std::map<Vni, std::uint32_t> owners;
    std::set<Mark> marks;
    for (const auto& [id, each] : registry.jobs()) {
      ASSERT_EQ(owners.try_emplace(each.vni, each.uid).first->second, each.uid) << id;
      ASSERT_TRUE(marks.insert(each.mark).second) << id;
    }
    ASSERT_LE(registry.jobs().size(), settings.limits.jobs);
  }
  EXPECT_GT(done, 1'000U);
  EXPECT_GT(registry.counts().sockets_opened, 100U);
}

} // namespace
} // namespace tributary::host_agent
