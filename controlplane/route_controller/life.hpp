// The life of a set of unicast routes, one table:
//
//   wanted --begin--> computing --pass--> verified --tell--> installing --everywhere--> in_force
//     ^                |    |                |                  |    |                     |
//     |   changed      |    +--refuse--+     | changed          |    +------replace--------+
//     +----------------+               v     |                  |              v
//     +-- changed -- refused <---------+     |                  |           retired
//     +--------------------------------------+                  |
//     +--------------------------failed, stalled----------------+
//
//   any --withdraw--> retired
//
// At any time there is at most one set that is being made (`next`), one that switches are told
// (`told`), and one that all of them have (`current`). A fabric that changes while a set is being
// made makes it anew, under a new number: what is computed of the old fabric comes late, and does
// not count. One that changes while switches are told a set leaves that alone, and another set
// follows it. docs/protocol/unicast-routes.md has the table.
//
//   Life life(first_epoch);
//   life.want(now);                              something changed
//   if (life.next_due() <= now) job = life.begin();      the number to compute under
//   life.computed(job, plan)                     false: it came late
//   life.told(transaction)
//   life.ended(transaction, "", behind, now)
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
  computing, ///< beside the manager: tables, and whether they are safe
  refused,   ///< there are none, or they are not safe; what is in force stays
  verified,  ///< switches are to be told
  installing,
  in_force, ///< every switch has its table
  retired,  ///< another one has taken its place, or routes are switched off
};
inline constexpr std::size_t state_count = 7;

enum class Event : std::uint8_t {
  begin,      ///< the computation is given away
  changed,    ///< the fabric or the settings are others than it was made for
  refuse,     ///< the algorithm or the verifier does
  pass,       ///< it is safe, by itself and beside what switches hold
  tell,       ///< its transaction has begun
  failed,     ///< that has ended, and nothing is changed anywhere
  stalled,    ///< it has ended, and a switch that could be told has another part
  everywhere, ///< no switch is behind
  replace,    ///< another set is told to switches
  withdraw,   ///< there are to be no routes
};
inline constexpr std::size_t event_count = 10;

[[nodiscard]] std::string_view name_of(State state);
[[nodiscard]] std::string_view name_of(Event event);

/// Where the event leads; none when it changes nothing: it comes late, or too early.
[[nodiscard]] std::optional<State> transition(State state, Event event);

using PlanPtr = std::shared_ptr<const Plan>;
using transaction::TransactionNumber;

struct Set {
  State state = State::wanted;
  Epoch epoch = 0; ///< of its tables; 0 before it is computed
  PlanPtr plan;    ///< from refused or verified on
  std::optional<TransactionNumber> transaction{};
  std::string failure{}; ///< of the last transaction that was to install it
};

class Life {
public:
  /// Epochs are above `epoch`, two for each set: one for tables in between.
  explicit Life(Epoch epoch) : last_epoch_(epoch) {}

  [[nodiscard]] const Set* next() const { return next_ ? &*next_ : nullptr; }
  [[nodiscard]] const Set* told() const { return told_ ? &*told_ : nullptr; }
  [[nodiscard]] const Set* current() const { return current_ ? &*current_ : nullptr; }
  /// When `next` is to be computed; `never` when that is not due.
  [[nodiscard]] TimeNs next_due() const {
    return next_ && next_->state == State::wanted ? due_ : never;
  }

  /// A set for the fabric as it is is to be made, not before `at`.
  void want(TimeNs at);
  /// Requires that `next` is wanted. The epoch for tables in between; the set has the one above.
  [[nodiscard]] Epoch begin();
  /// False, and nothing changes, when it is not `next` that was computed.
  bool computed(PlanPtr plan);
  /// Requires that `next` is verified.
  void tell(TransactionNumber transaction);
  /// Of the transaction of `told`; false for any other. One that failed is made anew from `again`
  /// on, unless `next` is there, which is made for what is there now.
  bool ended(TransactionNumber transaction, const std::string& failure, TimeNs again);
  /// `told` did not get everywhere, and nothing goes on by itself: it is made anew like one that
  /// failed. What was in force before is so no more. False when its transaction has not ended.
  bool stalled(const std::string& why, TimeNs again);
  /// No switch is behind `told` any more.
  bool everywhere();
  /// No routes any more.
  void withdraw();

private:
  void apply(std::optional<Set>& set, Event event);
  void make_anew(Event because, const std::string& failure, TimeNs again);

  Epoch last_epoch_;
  TimeNs due_ = never;
  std::optional<Set> next_;
  std::optional<Set> told_;
  std::optional<Set> current_;
};

} // namespace tributary::route_controller
