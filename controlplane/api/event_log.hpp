// The log of recent events, for readers of the event stream. Pure: the caller supplies the time as
// text.
//
//   log.add("link", body, "link_down", {"red"});
//   auto reader = log.read(interest, after, time, [&] { ... });     one for each client
//   while (const auto event = reader->next()) ...                   when woken, or when idle
//
// An event is stored once and formatted once for each of three forms, however many clients read it.
// A reader is a number: that of the first event it has not been shown. Events find the readers they
// concern by job and code; other readers cost nothing. With ten thousand launchers that each follow
// their job, an event of one job costs the work of one reader.
#pragma once

#include "controlplane/api/service.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tributary::api {

/// Which events a reader is shown.
struct EventInterest {
  enum class Of : std::uint8_t {
    everything,
    own_job, ///< events of no other job, and no transactions
    job,     ///< events that affect it, and events of its environment that it asked for
  };
  Of what = Of::everything;
  std::string job{};
  std::vector<std::string> environment{}; ///< codes; with `job`
};

class EventLog {
public:
  static constexpr std::size_t kept = 4096;
  /// Limit on the jobs that the kept events affect in total: events that affect thousands each are
  /// fewer.
  static constexpr std::size_t most_touched = std::size_t{1} << 20U;

  /// `epoch` rises with every start. It is the upper half of the event numbers, so that they rise,
  /// too: a reader that returns after a restart with its last number misses no event without
  /// notice.
  explicit EventLog(std::uint64_t epoch, std::size_t most = kept)
      : last_number_(epoch << 32U), most_(most) {}
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  /// Numbers the event and wakes the readers that it concerns. `code`: a literal; `jobs`: the
  /// affected jobs.
  void add(std::string kind, boost::json::object body, std::string_view code = {},
           std::vector<std::string> jobs = {});
  /// All events kept and newer than `after`, then all new ones. A reader that may have missed
  /// events (it is older than what is kept, or its number is of another start or of no event) is
  /// shown an event of kind "gap" first, with `time`. `after` is 0 for a reader that has seen
  /// nothing. The log must outlive the reader.
  [[nodiscard]] std::unique_ptr<EventReader> read(EventInterest interest, std::uint64_t after,
                                                  const std::string& time,
                                                  std::function<void()> wake);
  [[nodiscard]] std::uint64_t last_number() const { return last_number_; }
  [[nodiscard]] std::size_t readers() const { return readers_.size(); }

private:
  class Reader;
  using Readers = std::map<std::uint64_t, Reader*>; ///< in order of creation

  /// Form of an event: plain, or for a job.
  enum class Form : std::uint8_t { plain, of_job, of_environment };
  struct Kept {
    Event event;
    std::array<std::string, 3> data{}; ///< by form, once requested
  };

  [[nodiscard]] static boost::json::object body_in(Form form, const Event& event);
  [[nodiscard]] static std::string_view data_of(Kept& shown, Form form);
  [[nodiscard]] Event gap(std::uint64_t after, const std::string& time) const;
  [[nodiscard]] std::uint64_t first_number() const { return last_number_ + 1 - events_.size(); }
  [[nodiscard]] Kept& at(std::uint64_t number) { return events_[number - first_number()]; }
  void drop_oldest();
  /// The indexes that lead events to the reader.
  [[nodiscard]] std::vector<Readers*> places_of(const EventInterest& interest);
  void forget(const Reader& reader);

  std::uint64_t last_number_;
  std::size_t most_;
  std::deque<Kept> events_;
  std::size_t touched_ = 0; ///< by the kept events
  std::uint64_t next_reader_ = 0;
  Readers readers_;
  Readers of_much_; ///< readers that are not limited to a job
  std::unordered_map<std::string, Readers> by_job_;
  std::map<std::string, Readers, std::less<>> by_code_;
};

} // namespace tributary::api
