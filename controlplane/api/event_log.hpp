// The last things that happened, for those who follow the event stream. Pure: the caller brings the
// time as text.
#pragma once

#include "controlplane/api/service.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::api {

class EventLog {
public:
  using Sink = std::function<void(const Event&)>;
  static constexpr std::size_t kept = 4096;

  /// `epoch` rises with every start. It is the upper half of the numbers, so that they rise, too:
  /// a reader that comes back after a restart with the last number it saw misses nothing unsaid.
  explicit EventLog(std::uint64_t epoch) : last_number_(epoch << 32) {}

  /// Numbers the event and hands it to all who follow.
  /// `jobs`: those that it touches.
  void add(std::string kind, boost::json::object body, std::string_view code = {},
           std::vector<std::string> jobs = {});
  /// Hands over what is kept and newer than `after`, then all that comes. The answer ends it. A
  /// reader that may have missed something (it is behind what is kept, or its number is of another
  /// start or of no event) is handed an event of kind "gap" first, with `time`. 0: one that has
  /// seen nothing yet.
  [[nodiscard]] std::function<void()> follow(std::uint64_t after, const std::string& time,
                                             Sink sink);
  [[nodiscard]] std::uint64_t last_number() const { return last_number_; }

private:
  [[nodiscard]] Event gap(std::uint64_t after, const std::string& time) const;

  std::uint64_t last_number_;
  std::deque<Event> events_;
  std::uint64_t next_follower_ = 0;
  std::map<std::uint64_t, Sink> followers_;
};

} // namespace tributary::api
