#include "controlplane/election/election.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::election {

using Kind = Call::Kind;

Election::Election(const Timing& timing, std::string name, std::string instance, TimeNs now)
    : timing_(timing), name_(std::move(name)), instance_(std::move(instance)), retry_at_(now),
      look_at_(now) {}

// ---- calls ----

std::optional<Call> Election::next(TimeNs now) {
  suspend_if_silent(now);
  if (under_way_ || now < retry_at_) {
    return std::nullopt;
  }
  const std::optional<Kind> kind = wanted(now);
  if (!kind) {
    return std::nullopt;
  }
  Call call{.kind = *kind, .number = ++calls_, .lease = lease_, .sight = sight_};
  if (*kind == Kind::depose) {
    call.lease = std::exchange(depose_, 0);
  }
  if (*kind == Kind::resign) {
    call.successor = *resign_;
  }
  under_way_ = {.kind = *kind, .number = call.number, .sent = now, .sight = sight_};
  return call;
}

std::optional<Kind> Election::wanted(TimeNs now) const {
  if (role_ == Role::over) {
    return std::nullopt;
  }
  if (role_ == Role::standby) {
    return wanted_by_standby(now);
  }
  if (resign_) {
    return Kind::resign;
  }
  if (now >= renew_at_ && may_renew(now)) {
    return Kind::renew;
  }
  if (look_now_ || suspended_at_) {
    return Kind::look;
  }
  return std::nullopt;
}

std::optional<Kind> Election::wanted_by_standby(TimeNs now) const {
  if (lease_ == 0 || now >= lease_until_) {
    return Kind::grant;
  }
  if (!entered_) {
    return now >= enter_at_ ? std::optional(Kind::enter) : std::nullopt;
  }
  if (look_now_ || now >= look_at_) {
    return Kind::look;
  }
  if (now >= renew_at_) {
    return Kind::renew; // also shows whether there is a lease to campaign with
  }
  if (may_campaign()) {
    return Kind::campaign;
  }
  return depose_ != 0 ? std::optional(Kind::depose) : std::nullopt;
}

/// A lease of which little is left would make a leader that is suspended at once; it is renewed
/// three times a lease, so there is enough.
bool Election::may_campaign() const {
  return !sight_.leader && (sight_.successor.empty() || sight_.successor == name_);
}

bool Election::may_renew(TimeNs now) const {
  return elapsed_ns(now, progressed_at_) <= timing_.stuck_ns &&
         (writing_since_ == never || elapsed_ns(now, writing_since_) <= timing_.stuck_ns);
}

TimeNs Election::next_deadline(TimeNs now) const {
  TimeNs next = never;
  const auto consider = [&](TimeNs time) {
    if (time > now) {
      next = std::min(next, time);
    }
  };
  if (role_ == Role::over) {
    return never;
  }
  consider(retry_at_);
  consider(renew_at_);
  if (role_ == Role::leader) {
    consider(answered_at_ + (timing_.silence_ns + 1));
    consider(lease_until_);
  } else {
    consider(look_at_);
    consider(lease_until_);
    if (!entered_) {
      consider(enter_at_);
    }
  }
  return next;
}

// ---- answers ----

void Election::answered(TimeNs now, std::uint64_t number, const Answer& answer) {
  if (!under_way_ || under_way_->number != number || role_ == Role::over) {
    return;
  }
  suspend_if_silent(now);
  const UnderWay call = *std::exchange(under_way_, std::nullopt);
  if (std::holds_alternative<NoAnswer>(answer)) {
    retry_at_ = now + timing_.retry_ns;
    if (call.kind == Kind::campaign || call.kind == Kind::resign) {
      look_now_ = true; // it may have happened
      renew_at_ = now;  // or failed for want of a lease
    }
    return;
  }
  retry_at_ = now;
  answered_at_ = now;
  if (const auto* const granted = std::get_if<Granted>(&answer)) {
    lease_ = granted->lease;
    entered_ = false;
    enter_at_ = now;
    extend_lease(call.sent, granted->ttl_ns);
  } else if (const auto* const entered = std::get_if<Entered>(&answer)) {
    entered_ = entered->taken_by.empty();
    taken_by_ = entered->taken_by;
    taken_since_ = entered_ ? never : std::min(taken_since_, now);
    enter_at_ = now + timing_.name_ns;
  } else if (const auto* const renewed = std::get_if<Renewed>(&answer)) {
    if (renewed->ttl_ns != 0) {
      extend_lease(call.sent, renewed->ttl_ns);
    } else if (role_ == Role::leader) {
      end("its lease has ended at etcd");
    } else {
      lease_ = 0;
    }
  } else if (const auto* const sight = std::get_if<Sight>(&answer)) {
    take_sight(now, call.sent, *sight);
  } else if (const auto* const won = std::get_if<Won>(&answer)) {
    lead(now, call.sight.epoch + 1, won->created);
  } else if (const auto* const lost = std::get_if<Lost>(&answer)) {
    retry_at_ = now + timing_.retry_ns; // something else may be in the way, such as an import
    take_sight(now, call.sent, lost->sight);
  } else if (call.kind == Kind::resign) {
    end("it has resigned");
  } else {
    look_now_ = true; // a leader was deposed
  }
}

void Election::extend_lease(TimeNs sent, std::uint64_t ttl_ns) {
  lease_until_ = sent + (ttl_ns - ttl_ns / Timing::drift);
  renew_at_ = sent + (role_ == Role::leader ? timing_.renew_ns : ttl_ns / 3);
}

void Election::take_sight(TimeNs now, TimeNs sent, const Sight& sight) {
  look_now_ = false;
  look_at_ = now + timing_.look_ns;
  sight_ = sight;
  if (role_ == Role::leader) {
    if (!sight.leader || sight.leader->created != created_) {
      end(sight.leader ? fmt::format("manager {} leads with epoch {}", sight.leader->name,
                                     sight.leader->epoch)
                       : "its leader's key is gone");
    } else if (suspended_at_ && sent >= *suspended_at_ && now < lease_until_) {
      suspended_at_.reset();
    } else {
      retry_at_ = now + timing_.retry_ns; // not without a pause
    }
  } else if (sight.leader && sight.leader->instance == instance_) {
    // A campaign of which the answer was lost.
    if (sight.leader->lease == lease_) {
      lead(now, sight.leader->epoch, sight.leader->created);
    } else {
      end("its leader's key is attached to a lease that it has lost");
    }
  }
}

void Election::lead(TimeNs now, std::uint64_t epoch, Revision created) {
  role_ = Role::leader;
  epoch_ = epoch;
  created_ = created;
  sight_ = {};
  sight_.revision = created; // earlier events of the watch are of no interest
  progressed_at_ = now;
  renew_at_ = now;
  look_now_ = false;
  suspend_if_silent(now);
}

void Election::end(std::string why) {
  role_ = Role::over;
  why_ = std::move(why);
}

// ---- what else it learns ----

void Election::watched(Revision revision, const std::optional<LeaderKey>& leader) {
  if (revision <= sight_.revision) {
    return; // a read has shown what came of it
  }
  if (role_ == Role::standby) {
    sight_.leader = leader;
    // The epoch and the successor are read before a campaign: the watch shows the key alone.
    look_now_ |= !leader;
  } else if (role_ == Role::leader && (!leader || leader->created != created_)) {
    look_now_ = true; // it may be from before its own key
  }
}

void Election::fenced() {
  if (role_ == Role::leader) {
    end("a write found another leader's key, or none");
  }
}

// ---- requests ----

void Election::depose(LeaseId lease) {
  if (role_ == Role::standby && sight_.leader && sight_.leader->lease == lease) {
    depose_ = lease;
  }
}

void Election::resign(std::string successor) {
  if (role_ == Role::leader) {
    resign_ = std::move(successor);
  } else {
    end("it has resigned");
  }
}

// ---- queries ----

bool Election::is_silent(TimeNs now) const {
  return elapsed_ns(now, answered_at_) > timing_.silence_ns || now >= lease_until_;
}

void Election::suspend_if_silent(TimeNs now) {
  if (role_ == Role::leader && is_silent(now)) {
    suspended_at_ = now;
  }
}

Standing Election::standing(TimeNs now) const {
  switch (role_) {
  case Role::standby: return Standing::standby;
  case Role::over: return Standing::over;
  case Role::leader: break;
  }
  return suspended_at_ || resign_ || is_silent(now) ? Standing::suspended : Standing::leads;
}

std::string Election::reason(TimeNs now) const {
  switch (standing(now)) {
  case Standing::standby:
  case Standing::leads: return {};
  case Standing::over: return why_;
  case Standing::suspended: break;
  }
  if (resign_) {
    return "it is resigning";
  }
  if (!may_renew(now)) {
    return fmt::format("a turn or a write has taken more than {:.0f} s, and the lease is not "
                       "renewed meanwhile",
                       seconds_of(timing_.stuck_ns));
  }
  if (elapsed_ns(now, answered_at_) > timing_.silence_ns) {
    return fmt::format("etcd has not answered for {:.1f} s",
                       seconds_of(elapsed_ns(now, answered_at_)));
  }
  return now >= lease_until_ ? "its lease has ended by its own clock"
                             : "etcd answers again, and whether it still leads is being read";
}

} // namespace tributary::election
