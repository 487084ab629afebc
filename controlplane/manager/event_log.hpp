// The last things that happened, for those who follow the event stream. Pure: the caller brings the
// time as text.
#pragma once

#include "controlplane/rest/service.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

namespace tributary::manager {

class EventLog {
public:
  using Sink = std::function<void(const rest::Event&)>;
  static constexpr std::size_t kept = 4096;

  /// Numbers the event and hands it to all who follow.
  void add(std::string kind, boost::json::object body);
  /// Hands over what is kept and newer than `after`, then all that comes. The answer ends it.
  [[nodiscard]] std::function<void()> follow(std::uint64_t after, Sink sink);
  [[nodiscard]] std::uint64_t last_number() const { return last_number_; }

private:
  std::uint64_t last_number_ = 0;
  std::deque<rest::Event> events_;
  std::uint64_t next_follower_ = 0;
  std::map<std::uint64_t, Sink> followers_;
};

} // namespace tributary::manager
