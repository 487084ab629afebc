// Whether this manager leads its fabric: the only one that may answer about jobs, groups and
// allocations, and change switches.
//
//   leadership.standing()       whenever something is decided that others rely on
//   leadership.epoch()          constant while it leads; goes into every channel to a switch
//   leadership.follow(f)        f() when the standing may have changed; ask `standing` then
//
//   standby                     follows, and waits for the lead
//     |
//     v
//   leads  <-->  suspended      no answer of the store for a while, or the lease has ended by the
//     |              |          clock that also runs during sleep; views only, until it is known
//     +--> over <----+          another manager leads, or may; the process steps down
//
// A manager whose store is a file leads as long as it runs (SoleLeadership). With etcd:
// controlplane/etcd/member.hpp.
//
// All functions: any thread, unless they say otherwise.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::store {

enum class Standing : std::uint8_t { standby, leads, suspended, over };

/// "leads"
[[nodiscard]] constexpr std::string_view name_of(Standing standing) {
  switch (standing) {
  case Standing::standby: return "standby";
  case Standing::leads: return "leads";
  case Standing::suspended: return "suspended";
  case Standing::over: return "over";
  }
  return "";
}

/// A manager that has registered at the store.
struct RegisteredManager {
  std::string name;
  std::string instance;               ///< one run of it: 16 hexadecimal digits
  std::vector<std::string> addresses; ///< of its HTTP API, as others reach it
  bool leads = false;
  friend bool operator==(const RegisteredManager&, const RegisteredManager&) = default;
};

class Leadership {
public:
  Leadership() = default;
  virtual ~Leadership() = default;
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  /// As of now by the clock: true also in the first instant after the process was stopped.
  [[nodiscard]] virtual Standing standing() const = 0;
  /// Why it is suspended or over; "" otherwise.
  [[nodiscard]] virtual std::string reason() const = 0;
  /// It is suspended, and its lease has ended: another manager may lead, which needs the switches.
  [[nodiscard]] virtual bool is_expired() const = 0;
  /// The epoch of its own leadership; constant while it lasts, and higher than of all before. 0:
  /// none yet.
  [[nodiscard]] virtual std::uint64_t epoch() const = 0;

  /// Replaces the previous function. It is called on a thread of the leadership, and has to return
  /// soon: post to your own. Not called after the leadership is destroyed.
  virtual void follow(std::function<void()> changed) = 0;
  /// The manager's turns continue. A leader without this call for some seconds does not renew its
  /// lease, so that another one takes over.
  virtual void progressed() = 0;
  /// Gives the lead up: another takes it within milliseconds instead of after a lease. Returns when
  /// its standing is `over`, or after a second. For a while only the named manager takes it; "":
  /// any. The thread of the store, after the last write; nothing may be answered after it.
  virtual void resign(const std::string& successor) = 0;
  /// The process ends: a write whose outcome is not known by then fails.
  virtual void ends_within(std::chrono::milliseconds limit) = 0;
  /// As last seen; empty where no other manager can lead.
  [[nodiscard]] virtual std::vector<RegisteredManager> managers() const = 0;
};

/// The leadership of a manager without others.
class SoleLeadership final : public Leadership {
public:
  explicit SoleLeadership(std::uint64_t epoch) : epoch_(epoch) {}
  [[nodiscard]] Standing standing() const override { return Standing::leads; }
  [[nodiscard]] std::string reason() const override { return {}; }
  [[nodiscard]] bool is_expired() const override { return false; }
  [[nodiscard]] std::uint64_t epoch() const override { return epoch_; }
  void follow(std::function<void()> /*changed*/) override {}
  void progressed() override {}
  /// No other could lead: has no effect.
  void resign(const std::string& /*successor*/) override {}
  void ends_within(std::chrono::milliseconds /*limit*/) override {}
  [[nodiscard]] std::vector<RegisteredManager> managers() const override { return {}; }

private:
  std::uint64_t epoch_;
};

} // namespace tributary::store
