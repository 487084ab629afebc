// The states of a set of unicast routes, one table:
//
//   wanted --begin--> computing --pass--> verified --install--> installing --everywhere--> in_force
//     ^                |    |                |                     |    |                     |
//     |   changed      |    +--refuse--+     | changed             |    +------replace--------+
//     +----------------+               v     |                     |              v
//     +-- changed -- refused <---------+     |                     |           retired
//     +--------------------------------------+                     |
//     +--------------------------failed, stalled-------------------+
//
//   any --withdraw--> retired
//
// At any time at most one set is being made (`next`), one is being installed (`installing`), and
// one is in force everywhere (`current`). If the fabric changes while a set is being made, the set
// is made again, under a new number: a result for the old fabric is late, and is dropped. If it
// changes during an installation, that continues, and another set follows.
// docs/protocol/unicast-routes.md has the table.
//
//   RouteSets life(first_epoch);
//   life.want(now);                              the fabric has changed
//   if (life.next_due() <= now) epoch = life.begin();    the number to compute under
//   life.computed(plan)                          false: it is late
//   life.install(transaction)
//   life.ended(transaction, "", now)
//
// Pure.
#pragma once

#include "controlplane/route_controller/plan.hpp"
#include "controlplane/transaction/subject.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tributary::route_controller {

enum class State : std::uint8_t {
  wanted,    ///< to be computed
  computing, ///< beside the manager: tables, and their verification
  refused,   ///< no routes exist, or they are unsafe; the set in force stays
  verified,  ///< to be sent to switches
  installing,
  in_force, ///< every switch has its table
  retired,  ///< replaced by another one, or routes are switched off
};
inline constexpr std::size_t state_count = 7;

enum class Event : std::uint8_t {
  begin,      ///< the computation is submitted
  changed,    ///< the fabric or the settings have changed
  refuse,     ///< by the algorithm or the verifier
  pass,       ///< it is safe, alone and together with what switches hold
  install,    ///< its transaction has begun
  failed,     ///< the transaction has ended, and changed nothing
  stalled,    ///< it has ended, and a reachable switch holds another part
  everywhere, ///< no switch is out of sync
  replace,    ///< another set is being installed
  withdraw,   ///< routes are switched off
};
inline constexpr std::size_t event_count = 10;

[[nodiscard]] std::string_view name_of(State state);
[[nodiscard]] std::string_view name_of(Event event);

/// The next state; nothing when the event changes nothing: it is late, or early.
[[nodiscard]] std::optional<State> transition(State state, Event event);

using PlanPtr = std::shared_ptr<const Plan>;
using transaction::TransactionNumber;

struct Set {
  State state = State::wanted;
  Epoch epoch = 0; ///< of its tables; 0 before it is computed
  PlanPtr plan;    ///< from refused or verified on
  std::optional<TransactionNumber> transaction{};
  std::string failure{}; ///< of the last transaction for it
};

class RouteSets {
public:
  /// Epochs are above `epoch`, two for each set: one for intermediate tables.
  explicit RouteSets(Epoch epoch) : last_epoch_(epoch) {}

  [[nodiscard]] const Set* next() const { return next_ ? &*next_ : nullptr; }
  [[nodiscard]] const Set* installing() const { return installing_ ? &*installing_ : nullptr; }
  [[nodiscard]] const Set* current() const { return current_ ? &*current_ : nullptr; }
  /// When `next` has to be computed; `never` when it is not due.
  [[nodiscard]] TimeNs next_due() const {
    return next_ && next_->state == State::wanted ? due_ : never;
  }

  /// Requests a set for the current fabric, not before `at`.
  void want(TimeNs at);
  /// Requires that `next` is wanted. Returns the epoch for intermediate tables; the set has the
  /// next one.
  [[nodiscard]] Epoch begin();
  /// False, with no effect, when the plan is not for `next`.
  bool computed(PlanPtr plan);
  /// Requires that `next` is verified.
  void install(TransactionNumber transaction);
  /// For the transaction of `installing`; false for any other. A failed set is made again at
  /// `again`, unless `next` exists, which is made for the current fabric.
  bool ended(TransactionNumber transaction, const std::string& failure, TimeNs again);
  /// `installing` did not reach all switches, and will not on its own: it is made again like a
  /// failed one. The previous set is no longer in force. False while its transaction is running.
  bool stalled(const std::string& why, TimeNs again);
  /// Every switch has the set `installing`.
  bool everywhere();
  /// Switches routes off.
  void withdraw();

private:
  void apply(std::optional<Set>& set, Event event);
  void recompute(Event because, const std::string& failure, TimeNs again);

  Epoch last_epoch_;
  TimeNs due_ = never;
  std::optional<Set> next_;
  std::optional<Set> installing_;
  std::optional<Set> current_;
};

} // namespace tributary::route_controller
