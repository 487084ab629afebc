// Faults, and how fast each was handled.
//
// Events close together are one fault: a switch that dies takes its links along. A fault is *open*
// from its first event until the switches are sent the answer; events in between belong to it, and
// the answer is computed again. Later events are the next fault. Recoveries, and requests of the
// operator, are handled in the same way and are numbered here, too: `cause` distinguishes them.
//
//   event ... event         | quiet |  computed   verified   sent ... ended ... ended
//   ^ detected               ^ due()                          ^ closed          ^ installed
//
// The burst is over `quiet` after its last event, or `longest` after the first. The answer is
// routes and trees: separate transactions, under one number here. The fault is installed when the
// last of them has ended and no computation is left.
//
//   FaultLog log(settings);
//   log.record(Cause::fault, "link a - b is down", time, now);
//   if (log.due() <= now) { log.begin_answer(); ...compute... }
//   log.computed(at); log.verified(at);
//   log.waits_for(transaction, now);               log.ended(transaction, "", now)
//   log.answered(now);                             every message is sent
//
// Times are shown in microseconds since the fault was detected. The log has the last `history`
// faults.
//
// Pure.
#pragma once

#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::faults {

struct LogSettings {
  std::uint64_t quiet_ns = 1'000'000;
  std::uint64_t longest_ns = 10'000'000;
  std::size_t history = 100; ///< at least 1
  std::size_t events = 16;   ///< kept of each fault; the rest is only counted
};

/// "failed" is kept when something could not be installed: the next fault may repair it.
enum class FaultState : std::uint8_t { open, installing, installed, failed };
[[nodiscard]] std::string_view name_of(FaultState state);

/// What routes and trees react to. The cause of a burst is the worst of its events, the last here.
enum class Cause : std::uint8_t {
  recovery, ///< a link or switch came back
  request,  ///< the operator drained or undrained a switch
  fault,    ///< something failed
};
[[nodiscard]] std::string_view name_of(Cause cause);

struct Fault {
  std::uint64_t number = 0;
  Cause cause = Cause::recovery;
  FaultState state = FaultState::open;
  std::string time; ///< time of day when it was detected
  TimeNs detected{};
  TimeNs latest{};                     ///< time of the last event
  std::optional<TimeNs> computed{};    ///< the routes, or else the trees
  std::optional<TimeNs> verified{};    ///< the routes
  std::optional<TimeNs> sent{};        ///< to the first switch
  std::optional<TimeNs> installed{};   ///< everywhere
  std::vector<std::string> events{};   ///< in order of time
  std::size_t more_events = 0;         ///< beyond those
  std::vector<std::string> trees{};    ///< recomputed trees: groups, by name
  std::size_t destinations = 0;        ///< switches with changed routes
  std::vector<std::string> failures{}; ///< of transactions, or why no routes exist
  std::size_t transactions = 0;        ///< that answer it
  std::set<std::uint64_t> waiting{};   ///< those that have not ended

  /// Microseconds from `detected`; nothing when it has not been reached.
  [[nodiscard]] std::optional<std::uint64_t> us(const std::optional<TimeNs>& at) const {
    return at ? std::optional(elapsed_ns(*at, detected) / 1000) : std::nullopt;
  }
};

class FaultLog {
public:
  explicit FaultLog(const LogSettings& settings = {}) : settings_(settings) {}

  /// `time`: time of day, for people.
  void record(Cause cause, std::string text, std::string time, TimeNs now);
  /// When the burst is over and not answered yet; `never` when no burst is open.
  [[nodiscard]] TimeNs due() const;
  /// The answer is started; later events make it due again.
  void begin_answer() { due_ = never; }

  // For the open fault, or the last one; ignored when all are over.
  void computed(TimeNs at);
  void verified(TimeNs at);
  void destinations(std::size_t count);
  void tree(std::string group);
  /// Part of it cannot be handled; also for a fault that is installed otherwise.
  void failed(const std::string& why);
  /// A transaction that answers it has begun: later events are another fault.
  void waits_for(std::uint64_t transaction, TimeNs now);
  /// All transactions of the answer have begun, or none is needed.
  void answered(TimeNs now);

  /// For any fault; false when none waits for the transaction.
  bool ended(std::uint64_t transaction, const std::string& failure, TimeNs now);
  /// The transaction changed nothing, and its subject is computed again, under the name `what`: the
  /// faults that wait for it wait for the transactions that `follows` reports under that name, or
  /// until it is `given_up`.
  void again(std::uint64_t transaction, const std::string& what);
  void follows(const std::string& what, std::span<const std::uint64_t> transactions);
  /// `why` is "" when the subject is no longer wanted.
  void given_up(const std::string& what, const std::string& why, TimeNs now);

  [[nodiscard]] bool is_open() const { return !faults_.empty() && open_; }
  /// The latest first.
  [[nodiscard]] const std::deque<Fault>& faults() const { return faults_; }
  [[nodiscard]] std::uint64_t count() const { return last_number_; }

private:
  [[nodiscard]] Fault* unfinished();
  [[nodiscard]] Fault* find(std::uint64_t number);
  /// Returns and removes the faults that wait for the transaction.
  std::vector<Fault*> take_owners(std::uint64_t transaction);
  void finish_if_over(Fault& fault, TimeNs now);
  [[nodiscard]] bool is_recomputed_for(std::uint64_t number) const;
  /// Returns and forgets the faults that wait for it.
  std::set<std::uint64_t> take_again(const std::string& what);

  LogSettings settings_;
  std::deque<Fault> faults_;                           ///< the latest first
  std::multimap<std::uint64_t, std::uint64_t> owners_; ///< by transaction: faults' numbers
  /// Faults that wait for `follows`, by name of the subject.
  std::map<std::string, std::set<std::uint64_t>> again_;
  std::uint64_t last_number_ = 0;
  bool open_ = false;      ///< the newest fault takes new events
  bool answering_ = false; ///< its answer is not complete
  TimeNs due_ = never;
};

} // namespace tributary::faults
