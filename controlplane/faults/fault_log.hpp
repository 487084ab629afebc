// Faults, and how fast each was answered.
//
// Much that happens at once is one fault: a switch that dies takes its links along. A fault is
// *open* from the first thing that happens until switches are told the answer; what happens in
// between belongs to it, and the answer is computed anew. What happens later is the next fault.
// What comes back, and what the operator asks for, is answered in the same way, and has a number
// here, too: `cause` tells them apart.
//
//   happened ... happened   |settled|  computed   verified   told ... ended ... ended
//   ^ detected               ^ due()                          ^ closed          ^ installed
//
// The burst has settled `quiet` after the last thing that happened, or `longest` after the first.
// The answer is routes and trees: transactions of their own, under one number here. The fault is
// installed when the last of them has ended and nobody computes any more.
//
//   FaultLog log(settings);
//   log.happened(Cause::fault, "link a - b is down", time, now);
//   if (log.due() <= now) { log.answer(now); ...compute... }
//   log.computed(at); log.verified(at);
//   log.waits_for(transaction, Part::routes);      ended(transaction, "", now)
//   log.answered(now);                             everything that is to be told is told
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
  std::size_t events = 16;   ///< kept of each fault; of the others their number is
};

/// "failed" stays when something could not be installed: the next fault may mend it.
enum class FaultState : std::uint8_t { open, installing, installed, failed };
[[nodiscard]] std::string_view name_of(FaultState state);

/// What routes and trees are an answer to. Of a burst it is the worst that happened, the last here.
enum class Cause : std::uint8_t {
  recovery, ///< something came back
  request,  ///< the operator drained a switch, or took it into use
  fault,    ///< something failed
};
[[nodiscard]] std::string_view name_of(Cause cause);

struct Fault {
  std::uint64_t number = 0;
  Cause cause = Cause::recovery;
  FaultState state = FaultState::open;
  std::string time; ///< of day, when it was detected
  TimeNs detected{};
  TimeNs latest{};                     ///< of what happened
  std::optional<TimeNs> computed{};    ///< the routes, or else the trees
  std::optional<TimeNs> verified{};    ///< the routes
  std::optional<TimeNs> told{};        ///< the first switch
  std::optional<TimeNs> installed{};   ///< everywhere
  std::vector<std::string> events{};   ///< in the order they happened
  std::size_t more_events = 0;         ///< beyond those
  std::vector<std::string> trees{};    ///< that had to be laid anew: groups, by name
  std::size_t destinations = 0;        ///< switches whose routes are others now
  std::vector<std::string> failures{}; ///< of transactions, or why there are no routes
  std::size_t transactions = 0;        ///< that answer it
  std::set<std::uint64_t> waiting{};   ///< those that have not ended

  /// Microseconds from `detected`; none when it has not come so far.
  [[nodiscard]] std::optional<std::uint64_t> us(const std::optional<TimeNs>& at) const {
    return at ? std::optional(elapsed_ns(*at, detected) / 1000) : std::nullopt;
  }
};

class FaultLog {
public:
  explicit FaultLog(const LogSettings& settings = {}) : settings_(settings) {}

  /// `time`: of day, for people.
  void happened(Cause cause, std::string text, std::string time, TimeNs now);
  /// When the burst has settled and is not answered yet; `never` when there is none.
  [[nodiscard]] TimeNs due() const;
  /// Its answer is begun; what happens from now on makes it due again.
  void begin_answer() { due_ = never; }

  // Of the open fault, or the last one; nothing when there is none that is not over.
  void computed(TimeNs at);
  void verified(TimeNs at);
  void destinations(std::size_t count);
  void tree(std::string group);
  /// What cannot be done about it; also of one that is installed otherwise.
  void failed(const std::string& why);
  /// One of the transactions that answer it has begun: what happens from now on is another fault.
  void waits_for(std::uint64_t transaction, TimeNs now);
  /// All that answers it has begun, or nothing had to.
  void answered(TimeNs now);

  /// Of any fault; false when none waits for it.
  bool ended(std::uint64_t transaction, const std::string& failure, TimeNs now);
  /// It ended with nothing changed, and what it was for is made anew, by whatever name: the faults
  /// that wait for it wait for the transactions that will be told as `follows` under that name, or
  /// until that is `given_up`.
  void again(std::uint64_t transaction, const std::string& what);
  void follows(const std::string& what, std::span<const std::uint64_t> transactions);
  /// `why` is "" when nobody wants it any more.
  void given_up(const std::string& what, const std::string& why, TimeNs now);

  [[nodiscard]] bool is_open() const { return !faults_.empty() && open_; }
  /// The latest first.
  [[nodiscard]] const std::deque<Fault>& faults() const { return faults_; }
  [[nodiscard]] std::uint64_t count() const { return last_number_; }

private:
  [[nodiscard]] Fault* unfinished();
  [[nodiscard]] Fault* find(std::uint64_t number);
  /// Whose it was, which do not wait for it any more.
  std::vector<Fault*> take_owners(std::uint64_t transaction);
  void finish_if_over(Fault& fault, TimeNs now);
  [[nodiscard]] bool is_made_anew_for(std::uint64_t number) const;
  /// Nobody waits for it any more.
  std::set<std::uint64_t> take_again(const std::string& what);

  LogSettings settings_;
  std::deque<Fault> faults_;                           ///< the latest first
  std::multimap<std::uint64_t, std::uint64_t> owners_; ///< by transaction: faults' numbers
  /// Faults that wait for what `follows`, by what that is.
  std::map<std::string, std::set<std::uint64_t>> again_;
  std::uint64_t last_number_ = 0;
  bool open_ = false;      ///< the first of them takes what happens
  bool answering_ = false; ///< and its answer is not complete
  TimeNs due_ = never;
};

} // namespace tributary::faults
