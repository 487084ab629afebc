// The last things that happened, for those who read the events. Pure: the caller brings the time as
// text.
//
//   log.add("link", body, "link_down", {"red"});
//   auto reader = log.read(interest, after, time, [&] { ... });     one for each who reads
//   while (const auto event = reader->next()) ...                   when it is woken, or has time
//
// An event is kept once, and is made text once for each of three forms, however many read it. A
// reader is a number: that of the first event that it has still to be shown. An event finds those
// whom it concerns by the job and by the code: others cost it nothing. So ten thousand launchers
// that follow their jobs cost an event of one job one of them.
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

/// What a reader is shown.
struct EventInterest {
  enum class Of : std::uint8_t {
    everything,
    nobody_else, ///< what is no other job's, and no transaction
    job,         ///< what touches it, and events of its environment that it asked for
  };
  Of what = Of::everything;
  std::string job{};
  std::vector<std::string> environment{}; ///< codes; with `job`
};

class EventLog {
public:
  static constexpr std::size_t kept = 4096;
  /// Jobs that the events kept touch, together: events that touch thousands each are fewer.
  static constexpr std::size_t most_touched = std::size_t{1} << 20U;

  /// `epoch` rises with every start. It is the upper half of the numbers, so that they rise, too:
  /// a reader that comes back after a restart with the last number it saw misses nothing unsaid.
  explicit EventLog(std::uint64_t epoch, std::size_t most = kept)
      : last_number_(epoch << 32U), most_(most) {}
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  /// Numbers the event and wakes those whom it concerns. `code`: a literal; `jobs`: those that it
  /// touches.
  void add(std::string kind, boost::json::object body, std::string_view code = {},
           std::vector<std::string> jobs = {});
  /// What is kept and newer than `after`, then all that comes. A reader that may have missed
  /// something (it is behind what is kept, or its number is of another start or of no event) is
  /// shown an event of kind "gap" first, with `time`. 0: one that has seen nothing yet. The log
  /// outlives the reader.
  [[nodiscard]] std::unique_ptr<EventReader> read(EventInterest interest, std::uint64_t after,
                                                  const std::string& time,
                                                  std::function<void()> wake);
  [[nodiscard]] std::uint64_t last_number() const { return last_number_; }
  [[nodiscard]] std::size_t readers() const { return readers_.size(); }

private:
  class Reader;
  using Readers = std::map<std::uint64_t, Reader*>; ///< in the order in which they came

  /// How an event is shown: as it is, or to a job.
  enum class Form : std::uint8_t { plain, of_job, of_environment };
  struct Kept {
    Event event;
    std::array<std::string, 3> data{}; ///< by form, once it is asked for
  };

  [[nodiscard]] static boost::json::object body_in(Form form, const Event& event);
  [[nodiscard]] static std::string_view data_of(Kept& shown, Form form);
  [[nodiscard]] Event gap(std::uint64_t after, const std::string& time) const;
  [[nodiscard]] std::uint64_t first_number() const { return last_number_ + 1 - events_.size(); }
  [[nodiscard]] Kept& at(std::uint64_t number) { return events_[number - first_number()]; }
  void drop_oldest();
  /// The places where events look for the reader.
  [[nodiscard]] std::vector<Readers*> places_of(const EventInterest& interest);
  void forget(const Reader& reader);

  std::uint64_t last_number_;
  std::size_t most_;
  std::deque<Kept> events_;
  std::size_t touched_ = 0; ///< by the events kept
  std::uint64_t next_reader_ = 0;
  Readers readers_;
  Readers of_much_; ///< those who are no job's
  std::unordered_map<std::string, Readers> by_job_;
  std::map<std::string, Readers, std::less<>> by_code_;
};

} // namespace tributary::api
