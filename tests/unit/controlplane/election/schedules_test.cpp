// Random schedules of two or three managers and an etcd: crashes, pauses, hung turns, lost and
// delayed and repeated messages, clocks that run at different speeds, etcd away, depositions and
// resignations. Times are a tenth of the real ones.
//
//   never two managers lead by their clocks, but where one was deposed
//   epochs of leaders rise
//   a fenced write of an older epoch is never stored after one of a newer one
//   no acknowledged write is lost, and no confirmed read misses one that was acknowledged before it
//   some time after the faults a manager leads
#include "controlplane/election/election.hpp"

#include "tests/support/etcd_model.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tributary::election {
namespace {

using test::EtcdModel;
using Kind = Call::Kind;
using Operation = EtcdModel::Operation;
using Condition = EtcdModel::Compare;

constexpr std::uint64_t unit = ns_per_ms; // of a tenth of real times
constexpr Timing timing{.lease_ns = 300 * unit,
                        .renew_ns = 20 * unit,
                        .silence_ns = 50 * unit,
                        .retry_ns = 10 * unit,
                        .look_ns = 100 * unit,
                        .stuck_ns = 200 * unit,
                        .name_ns = 100 * unit};
constexpr std::uint64_t faults_end = 900 * unit;
constexpr std::uint64_t end = 2'200 * unit;

Operation read(const char* key) { return {.kind = Operation::Kind::range, .key = key}; }
Operation put(const std::string& key, const std::string& value, std::int64_t lease = 0) {
  return {.kind = Operation::Kind::put, .key = key, .value = value, .lease = lease};
}
const std::vector<Operation> looked = {read("leader"), read("epoch"), read("successor")};

Sight sight_of(const EtcdModel::Answer& answer, std::int64_t revision) {
  Sight sight{.revision = revision};
  if (!answer.found[0].empty()) {
    const EtcdModel::Entry& entry = answer.found[0][0].second;
    const std::size_t slash = entry.value.find('/');
    sight.leader = LeaderKey{.name = "m",
                             .instance = entry.value.substr(0, slash),
                             .addresses = {},
                             .epoch = std::stoull(entry.value.substr(slash + 1)),
                             .lease = entry.lease,
                             .created = entry.created};
  }
  if (!answer.found[1].empty()) {
    sight.epoch = std::stoull(answer.found[1][0].second.value);
    sight.epoch_changed = answer.found[1][0].second.changed;
  }
  if (!answer.found[2].empty()) {
    sight.successor = answer.found[2][0].second.value;
  }
  return sight;
}

class Schedule {
public:
  explicit Schedule(std::uint64_t seed) : random_(seed) {
    loss_percent_ = below(3) == 0 ? below(30) : 0;
    most_delay_ = (below(4) == 0 ? 60 : 3) * unit;
    may_depose_ = below(3) == 0;
    managers_.resize(2 + below(2));
    for (std::size_t i = 0; i < managers_.size(); ++i) {
      start(i);
      at(below(200 * unit), [this, i] { next_fault(i); });
    }
    // An outage of etcd for all.
    if (below(3) == 0) {
      away_from_ = below(faults_end);
      away_to_ = away_from_ + below(400 * unit);
    }
  }

  void run() {
    while (!events_.empty() && events_.begin()->first <= end && !testing::Test::HasFailure()) {
      const auto event = events_.extract(events_.begin());
      now_ = event.key();
      etcd_.advance_to(now_);
      event.mapped()();
      look_at_all();
    }
    bool leads = false;
    for (const Manager& one : managers_) {
      leads |= standing(one) == Standing::leads && one.is_ready;
    }
    EXPECT_TRUE(leads) << "no manager leads after the faults";
  }
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  [[nodiscard]] std::uint64_t takeovers() const { return last_epoch_; }

private:
  struct Manager {
    std::uint64_t generation = 0; ///< rises with each start
    std::string instance;
    std::unique_ptr<Election> election;
    std::uint64_t offset = 0;
    std::uint64_t rate_per_mille = 1000;
    std::uint64_t paused_to = 0;
    std::uint64_t hung_to = 0;
    std::vector<std::function<void()>> waits; ///< what arrived during a pause
    bool is_ready = false;                    ///< leads, and has read the value
    std::uint64_t value = 0;
    bool is_busy = false; ///< with a write, or a confirmation
    std::size_t seen = 0; ///< of the history
  };

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  void at(std::uint64_t after, std::function<void()> what) {
    events_.emplace(now_ + after, std::move(what));
  }
  [[nodiscard]] TimeNs clock(const Manager& one) const {
    return {one.offset + now_ / 1000 * one.rate_per_mille};
  }
  [[nodiscard]] Standing standing(const Manager& one) const {
    return one.election->standing(clock(one));
  }

  void start(std::size_t i) {
    Manager& one = managers_[i];
    const std::uint64_t generation = one.generation + 1;
    one = {};
    one.generation = generation;
    one.instance = std::to_string(i) + "." + std::to_string(generation);
    one.offset = below(10'000'000) * unit; // clocks are hours apart
    one.rate_per_mille = 970 + below(61);
    one.election = std::make_unique<Election>(timing, std::to_string(i), one.instance, clock(one));
    one.seen = etcd_.history().size();
    wake(i);
    tick(i, generation);
  }
  /// Runs when the manager does, unless it was started again meanwhile.
  void deliver(std::size_t i, std::uint64_t generation, std::function<void()> what) {
    Manager& one = managers_[i];
    if (one.generation != generation) {
      return;
    }
    if (now_ < one.paused_to) {
      one.waits.push_back(std::move(what));
    } else {
      what();
    }
  }
  /// To etcd and back, each way lost, delayed or, to etcd, repeated.
  template <typename F> void ask(std::size_t i, F request, std::function<void(bool)> answered) {
    const std::uint64_t generation = managers_[i].generation;
    // The caller's time limit.
    const auto is_over = std::make_shared<bool>(false);
    const auto finish = [this, i, generation, is_over, answered](bool arrived) {
      deliver(i, generation, [is_over, answered, arrived] {
        if (!std::exchange(*is_over, true)) {
          answered(arrived);
        }
      });
    };
    at(timing.silence_ns, [finish] { finish(false); });
    const std::uint64_t copies = is_faulty() && below(10) == 0 ? 2 : 1;
    for (std::uint64_t copy = 0; copy < copies; ++copy) {
      if (is_lost()) {
        continue;
      }
      at(delay() + copy * below(200 * unit), [this, request, finish, copy] {
        const bool happened = request();
        if (happened && copy == 0 && !is_lost()) {
          at(delay(), [finish] { finish(true); });
        }
      });
    }
  }
  [[nodiscard]] bool is_faulty() const { return now_ < faults_end; }
  std::uint64_t delay() { return is_faulty() ? 1 + below(most_delay_) : unit; }
  bool is_lost() {
    return (now_ >= away_from_ && now_ < away_to_) || (is_faulty() && below(100) < loss_percent_);
  }

  void next_fault(std::size_t i) {
    if (!is_faulty()) {
      return;
    }
    Manager& one = managers_[i];
    switch (below(6)) {
    case 0: start(i); break; // kill -9
    case 1:
    case 2: {
      one.paused_to = now_ + below(400 * unit);
      const std::uint64_t generation = one.generation;
      at(one.paused_to - now_, [this, i, generation] {
        Manager& again = managers_[i];
        if (again.generation == generation) {
          for (const auto& waiting : std::exchange(again.waits, {})) {
            deliver(i, generation, waiting);
          }
          wake(i);
        }
      });
      break;
    }
    case 3: one.hung_to = now_ + below(600 * unit); break;
    case 4:
      if (may_depose_ && one.election->leader()) {
        one.election->depose(one.election->leader()->lease);
      }
      break;
    default:
      if (below(3) == 0 && one.election->role() == Role::leader) {
        one.election->resign(std::to_string(below(managers_.size())));
      }
    }
    at(below(300 * unit), [this, i] { next_fault(i); });
  }

  /// Turns, and the watch.
  void tick(std::size_t i, std::uint64_t generation) {
    Manager& one = managers_[i];
    if (one.generation != generation) {
      return;
    }
    if (now_ >= one.paused_to) {
      if (now_ >= one.hung_to) {
        one.election->progressed(clock(one));
      }
      for (; one.seen < etcd_.history().size(); ++one.seen) {
        const EtcdModel::Event& event = etcd_.history()[one.seen];
        if (event.key == "leader") {
          EtcdModel::Answer answer;
          answer.found.resize(3);
          if (!event.erased) {
            answer.found[0].emplace_back("leader", event.entry);
          }
          one.election->watched(event.entry.changed, sight_of(answer, event.entry.changed).leader);
        }
      }
      work(i);
      wake(i);
    }
    at(10 * unit, [this, i, generation] { tick(i, generation); });
  }

  void wake(std::size_t i) {
    Manager& one = managers_[i];
    if (now_ < one.paused_to) {
      return;
    }
    if (one.election->role() == Role::over) {
      start(i); // it exits, and is started again
      return;
    }
    const auto call = one.election->next(clock(one));
    if (!call) {
      return;
    }
    const auto answer = std::make_shared<Answer>(NoAnswer{});
    ask(
        i,
        [this, i, call = *call, answer, instance = one.instance,
         created = one.election->created()] { return serve(i, instance, created, call, *answer); },
        [this, i, number = call->number, answer](bool arrived) {
          Manager& asker = managers_[i];
          asker.election->answered(clock(asker), number, arrived ? *answer : NoAnswer{});
          wake(i);
        });
  }

  /// What etcd does with a call. A repeated one leaves the answer to the first as it is.
  bool serve(std::size_t i, const std::string& instance, Revision created, const Call& call,
             Answer& answer) {
    const std::string name = "manager/" + std::to_string(i);
    Answer now = Done{};
    try {
      switch (call.kind) {
      case Kind::grant: now = Granted{etcd_.grant(timing.lease_ns), timing.lease_ns}; break;
      case Kind::renew: now = Renewed{etcd_.renew(call.lease) ? timing.lease_ns : 0}; break;
      case Kind::depose: etcd_.revoke(call.lease); break;
      case Kind::enter: {
        const EtcdModel::Entry* const there = etcd_.find(name);
        if (there != nullptr && there->value != instance) {
          now = Entered{"there"};
        } else {
          etcd_.transact({}, {put(name, instance, call.lease)}, {});
          now = Entered{};
        }
        break;
      }
      case Kind::look: now = sight_of(etcd_.transact({}, looked, {}), etcd_.revision()); break;
      case Kind::campaign: now = campaign(instance, call); break;
      case Kind::resign:
        etcd_.transact({{Condition::Target::created, "leader", created}},
                       {{.kind = Operation::Kind::erase, .key = "leader"},
                        put("successor", call.successor, call.lease)},
                       {});
        break;
      }
    } catch (const EtcdModel::Error&) {
      return false; // its lease is gone: to a campaign, no answer
    }
    if (std::holds_alternative<NoAnswer>(answer)) {
      answer = now;
    }
    return true;
  }

  Answer campaign(const std::string& instance, const Call& call) {
    const std::uint64_t epoch = call.sight.epoch + 1;
    std::vector<Operation> then = looked;
    then.push_back(put("leader", instance + "/" + std::to_string(epoch), call.lease));
    then.push_back(put("epoch", std::to_string(epoch)));
    then.push_back(put("commit", std::to_string(epoch) + "/0"));
    const EtcdModel::Answer answer =
        etcd_.transact({{Condition::Target::created, "leader", 0},
                        {Condition::Target::changed, "epoch", call.sight.epoch_changed}},
                       then, looked);
    if (!answer.succeeded) {
      return Lost{sight_of(answer, etcd_.revision())};
    }
    EXPECT_GT(epoch, last_epoch_) << "an epoch was used twice";
    last_epoch_ = epoch;
    return Won{etcd_.revision()};
  }

  // ---- what a leader does ----

  void work(std::size_t i) {
    Manager& one = managers_[i];
    if (one.is_busy || standing(one) != Standing::leads) {
      return;
    }
    one.is_busy = true;
    if (!one.is_ready) {
      const auto value = std::make_shared<std::uint64_t>(0);
      fenced(
          i, {}, [this, value] { *value = stored(); },
          [&one, value] {
            one.value = *value;
            one.is_ready = true;
          });
    } else if (below(2) == 0) {
      // A read: answered from memory, after a confirmation that began after the request.
      fenced(
          i, {}, [] {},
          [this, &one, floor = acknowledged_] {
            EXPECT_GE(one.value, floor) << "a confirmed read misses an acknowledged write";
            EXPECT_LE(one.value, stored());
          });
    } else {
      const std::uint64_t value = one.value + 1;
      fenced(
          i, value, [] {},
          [this, &one, value] {
            one.value = value;
            acknowledged_ = std::max(acknowledged_, value);
            EXPECT_GE(stored(), acknowledged_) << "an acknowledged write was lost";
          });
    }
  }
  [[nodiscard]] std::uint64_t stored() const {
    const EtcdModel::Entry* const value = etcd_.find("value");
    return value == nullptr ? 0 : std::stoull(value->value);
  }
  /// A write, or without a value a confirmation; repeated until its outcome is known.
  void fenced(std::size_t i, std::optional<std::uint64_t> value, std::function<void()> at_etcd,
              std::function<void()> accepted) {
    Manager& one = managers_[i];
    const auto succeeded = std::make_shared<std::optional<bool>>();
    const std::int64_t created = one.election->created();
    const std::uint64_t epoch = one.election->epoch();
    ask(
        i,
        [this, created, epoch, value, at_etcd, succeeded] {
          std::vector<Operation> then = {read("leader")};
          std::vector<Condition> conditions = {{Condition::Target::created, "leader", created}};
          if (value) {
            then.push_back(put("value", std::to_string(*value)));
            const std::uint64_t before = stored();
            // As Commit does with the number of a write: a late one changes nothing.
            if (before != *value) {
              conditions.push_back(
                  {Condition::Target::value, "value", 0, std::to_string(*value - 1)});
            }
            if (*value == 1 && before == 0) {
              conditions.resize(1);
            }
          }
          const bool holds = etcd_.transact(conditions, then, {}).succeeded;
          if (holds && value) {
            EXPECT_GE(epoch, written_epoch_) << "an older leader wrote after a newer one";
            written_epoch_ = epoch;
          }
          if (!*succeeded) {
            *succeeded = holds;
            at_etcd();
          }
          return true;
        },
        [this, i, value, at_etcd, accepted, succeeded](bool arrived) {
          Manager& asker = managers_[i];
          if (asker.election->role() != Role::leader) {
            return;
          }
          if (!arrived) {
            return fenced(i, value, at_etcd, accepted);
          }
          asker.is_busy = false;
          if (**succeeded) {
            accepted();
          } else {
            asker.election->fenced();
            wake(i);
          }
        });
  }

  void look_at_all() {
    int leaders = 0;
    for (const Manager& one : managers_) {
      leaders += standing(one) == Standing::leads ? 1 : 0;
    }
    if (!may_depose_) {
      EXPECT_LE(leaders, 1) << "two managers lead by their clocks";
    }
  }

  test::Random random_;
  EtcdModel etcd_;
  std::uint64_t now_ = 0;
  std::multimap<std::uint64_t, std::function<void()>> events_;
  std::vector<Manager> managers_;
  std::uint64_t loss_percent_ = 0;
  std::uint64_t most_delay_ = 0;
  bool may_depose_ = false;
  std::uint64_t away_from_ = 0;
  std::uint64_t away_to_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t last_epoch_ = 0;
  std::uint64_t written_epoch_ = 0;
};

TEST(Election, keeps_its_promises_in_100000_random_schedules) {
  constexpr std::uint64_t schedules = 100'000 / TRIBUTARY_SEED_DIVISOR;
  std::uint64_t acknowledged = 0;
  std::uint64_t takeovers = 0;
  for (std::uint64_t i = 0; i < schedules; ++i) {
    Schedule schedule(test::seed() + i);
    schedule.run();
    ASSERT_FALSE(HasFailure()) << "schedule " << i << " of seed " << test::seed();
    acknowledged += schedule.acknowledged();
    takeovers += schedule.takeovers();
  }
  std::cout << schedules << " schedules: " << takeovers << " leaders, " << acknowledged
            << " acknowledged writes\n";
  EXPECT_GT(takeovers, 3 * schedules / 2) << "the faults are too few";
  EXPECT_GT(acknowledged, 5 * schedules);
}

} // namespace
} // namespace tributary::election
