// Who leads a fabric, decided by a manager for itself: what to ask etcd next, whether it may act
// now, and when its leadership is over.
//
//   Election election(timing, "fabric-a", "5f0c...", now);
//   while (const auto call = election.next(now)) ...       one call at a time
//   election.answered(now, call->number, Granted{...});     NoAnswer when it did not come in time
//   election.standing(now)                                  may it answer, and change switches?
//   election.next_deadline(now)                             when to ask again without an event
//
//   +---------+  grants a lease, enters its name, finds no leader's key and takes it
//   | standby | ------------------------------------------------------------------+
//   +---------+                                                                   v
//   +------+  another leads, or its lease is gone, or it resigned            +--------+
//   | over | <-------------------------------------------------------------- | leader |
//   +------+                                                                 +--------+
//
// The leader's key is attached to the lease: it vanishes with it. What the key alone cannot do is
// done by others: every write compares the key (etcd/protocol/commit.hpp), and switches refuse
// older epochs.
//
// Time. `now` is of the clock that also runs while the machine sleeps (CLOCK_BOOTTIME), not the
// manager's own, which hides pauses. Only durations are used, so clocks may be hours apart; they
// may run `drift` apart.
//   A lease lasts until its last answered renewal was sent, plus its length, less the drift.
//   A leader without an answer for `silence_ns`, or beyond its lease, is suspended. The suspension
//   is latched: it ends when a read of the leader's key that was begun after it shows the key
//   unchanged, and the lease lasts. So an answer from before a pause ends nothing.
//
// A leader renews only while it makes progress: `progressed` says that its turns continue,
// `writing` and `wrote` frame its writes. Otherwise its lease ends, and another takes over.
//
// Pure.
#pragma once

#include "controlplane/store/leadership.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tributary::election {

/// As etcd numbers them; 0: none.
using LeaseId = std::int64_t;
using Revision = std::int64_t;

struct Timing {
  std::uint64_t lease_ns = 3 * ns_per_second;
  /// Pause between renewals of a leader. A standby renews three times a lease.
  std::uint64_t renew_ns = 100 * ns_per_ms;
  /// A leader that has no answer for this time is suspended.
  std::uint64_t silence_ns = 400 * ns_per_ms;
  /// Pause after a call without an answer.
  std::uint64_t retry_ns = 50 * ns_per_ms;
  /// A standby looks this often although its watch shows nothing.
  std::uint64_t look_ns = ns_per_second;
  /// A turn or a write of the leader that takes longer ends the renewals.
  std::uint64_t stuck_ns = 5 * ns_per_second;
  /// Pause before a name that another manager has is tried again.
  std::uint64_t name_ns = ns_per_second;
  /// Share of the lease by which clocks may differ: a tenth.
  static constexpr std::uint64_t drift = 10;
};

/// The leader's key.
struct LeaderKey {
  std::string name;
  std::string instance;                ///< the run of the manager that took it
  std::vector<std::string> addresses;  ///< of its HTTP API
  std::vector<std::string> switches{}; ///< where switches reach it
  std::string peer{};                  ///< where it answers other managers; "": nowhere
  std::uint64_t epoch = 0;
  LeaseId lease = 0;
  Revision created = 0;
  friend bool operator==(const LeaderKey&, const LeaderKey&) = default;
};

/// What a read of the keys of the election shows, all at one revision.
struct Sight {
  std::optional<LeaderKey> leader{};
  std::uint64_t epoch = 0;
  Revision epoch_changed = 0; ///< last change of the epoch's key; 0: it is missing
  std::string successor{};    ///< for whom the last leader has resigned; "": any
  Revision revision = 0;      ///< of the read
  friend bool operator==(const Sight&, const Sight&) = default;
};

struct Call {
  enum class Kind : std::uint8_t {
    grant,    ///< a lease                            -> Granted
    enter,    ///< the manager's name, with the lease -> Entered
    renew,    ///< the lease                          -> Renewed
    look,     ///< linearizable                       -> Sight
    campaign, ///< takes the key if it is missing and the epoch as in `sight` -> Won, Lost
    depose,   ///< revokes `lease`, the leader's      -> Done
    resign,   ///< erases the key, or revokes the lease -> Done
  };
  Kind kind{};
  std::uint64_t number = 0;
  LeaseId lease = 0;
  Sight sight{};
  std::string successor{}; ///< resign
};

struct NoAnswer {}; ///< it may have happened all the same
struct Granted {
  LeaseId lease = 0;
  std::uint64_t ttl_ns = 0;
};
struct Entered {
  /// "": entered; otherwise where another manager of this name runs.
  std::string taken_by;
};
struct Renewed {
  std::uint64_t ttl_ns = 0; ///< 0: the lease is gone
};
struct Won {
  Revision created = 0;
};
struct Lost {
  Sight sight;
};
struct Done {};
using Answer = std::variant<NoAnswer, Granted, Entered, Renewed, Sight, Won, Lost, Done>;

enum class Role : std::uint8_t { standby, leader, over };
using store::Standing;

class Election {
public:
  Election(const Timing& timing, std::string name, std::string instance, TimeNs now);

  // ---- calls ----

  /// The next call, if one is to be made now and none is under way.
  [[nodiscard]] std::optional<Call> next(TimeNs now);
  /// An answer to another call than the one under way is ignored.
  void answered(TimeNs now, std::uint64_t number, const Answer& answer);
  /// When `next` or `standing` may change by time alone.
  [[nodiscard]] TimeNs next_deadline(TimeNs now) const;

  // ---- what else it learns ----

  /// The watch shows that the leader's key was made or erased at this revision. It may be late.
  void watched(Revision revision, const std::optional<LeaderKey>& leader);
  /// The store found that this manager does not lead any more.
  void fenced();
  void progressed(TimeNs now) { progressed_at_ = now; }
  void writing(TimeNs now) { writing_since_ = now; }
  void wrote() { writing_since_ = never; }

  // ---- requests ----

  /// The leader of this lease does not answer: end it. A leader, or without such a leader: ignored.
  void depose(LeaseId lease);
  /// It does not lead from now on; `over` once its key is erased.
  void resign(std::string successor);

  // ---- queries ----

  [[nodiscard]] Standing standing(TimeNs now) const;
  /// It took the lead, and its lease has ended by its own clock: another may have taken it since.
  [[nodiscard]] bool is_expired(TimeNs now) const {
    return role_ == Role::leader && now >= lease_until_;
  }
  /// Why it is suspended or over; "" otherwise.
  [[nodiscard]] std::string reason(TimeNs now) const;
  [[nodiscard]] Role role() const { return role_; }
  /// The epoch of its own leadership; 0 before.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  /// When its key was made.
  [[nodiscard]] Revision created() const { return created_; }
  [[nodiscard]] LeaseId lease() const { return lease_; }
  /// Another's key, as last seen.
  [[nodiscard]] const std::optional<LeaderKey>& leader() const { return sight_.leader; }
  /// Another manager has this name: where it runs, and since when it is in the way.
  [[nodiscard]] const std::string& name_taken_by() const { return taken_by_; }
  [[nodiscard]] bool has_entered() const { return entered_; }
  [[nodiscard]] TimeNs name_taken_since() const { return taken_since_; }

private:
  struct UnderWay {
    Call::Kind kind{};
    std::uint64_t number = 0;
    TimeNs sent{};
    Sight sight{}; ///< of a campaign
  };
  [[nodiscard]] std::optional<Call::Kind> wanted(TimeNs now) const;
  [[nodiscard]] std::optional<Call::Kind> wanted_by_standby(TimeNs now) const;
  [[nodiscard]] bool may_campaign() const;
  [[nodiscard]] bool may_renew(TimeNs now) const;
  [[nodiscard]] bool is_silent(TimeNs now) const;
  void suspend_if_silent(TimeNs now);
  void take_sight(TimeNs now, TimeNs sent, const Sight& sight);
  void lead(TimeNs now, std::uint64_t epoch, Revision created);
  void end(std::string why);
  void extend_lease(TimeNs sent, std::uint64_t ttl_ns);

  Timing timing_;
  std::string name_;
  std::string instance_;
  Role role_ = Role::standby;
  std::string why_; ///< over

  std::uint64_t calls_ = 0;
  std::optional<UnderWay> under_way_;
  TimeNs retry_at_{};
  TimeNs renew_at_{};
  TimeNs look_at_{}; ///< standby
  bool look_now_ = true;

  LeaseId lease_ = 0;
  TimeNs lease_until_{};
  bool entered_ = false;
  TimeNs enter_at_{};
  std::string taken_by_;
  TimeNs taken_since_ = never;

  Sight sight_;
  LeaseId depose_ = 0;
  std::optional<std::string> resign_;

  // A leader's.
  std::uint64_t epoch_ = 0;
  Revision created_ = 0;
  TimeNs answered_at_{};
  std::optional<TimeNs> suspended_at_;
  TimeNs progressed_at_{};
  TimeNs writing_since_ = never;
};

} // namespace tributary::election
