// Whether this manager leads its fabric: the only one that may answer about jobs, groups and
// allocations, and change switches.
//
//   leadership.standing()       whenever something is decided that others rely on
//   leadership.epoch()          constant while it leads; goes into every channel to a switch
//   leadership.follow(f)        f() when the standing may have changed; ask `standing` then
//
//   leads  <-->  suspended      no answer of the store for a while, or the lease has ended by the
//     |              |          clock that also runs during sleep; views only, until it is known
//     +--> over <----+          another manager leads, or may; the process steps down
//
// A manager whose store is a file leads as long as it runs (SoleLeadership). With etcd it leads
// once the object exists (controlplane/etcd/store.hpp): a standby has none.
//
// All functions: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::store {

enum class Standing : std::uint8_t { leads, suspended, over };

/// "leads"
[[nodiscard]] constexpr std::string_view name_of(Standing standing) {
  switch (standing) {
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
  /// Why it does not lead now; "" while it does.
  [[nodiscard]] virtual std::string reason() const = 0;
  [[nodiscard]] virtual std::uint64_t epoch() const = 0;

  /// Replaces the previous function. It is called on a thread of the leadership, and has to return
  /// soon: post to your own. Not called after the leadership is destroyed.
  virtual void follow(std::function<void()> changed) = 0;
  /// The manager's turns go on. A leader that has not said so for some seconds does not renew its
  /// lease, so that another one takes over.
  virtual void progressed() = 0;
  /// Gives the lead up after the writes that are under way; its standing is `over` then. For a
  /// while only the named manager takes it, if there is one with this name; "": any.
  virtual void resign(const std::string& successor) = 0;
  /// As last seen; empty where no other manager can lead.
  [[nodiscard]] virtual std::vector<RegisteredManager> managers() const = 0;
};

/// Of a manager without others.
class SoleLeadership final : public Leadership {
public:
  explicit SoleLeadership(std::uint64_t epoch) : epoch_(epoch) {}
  [[nodiscard]] Standing standing() const override { return Standing::leads; }
  [[nodiscard]] std::string reason() const override { return {}; }
  [[nodiscard]] std::uint64_t epoch() const override { return epoch_; }
  void follow(std::function<void()> /*changed*/) override {}
  void progressed() override {}
  /// No other could lead: has no effect.
  void resign(const std::string& /*successor*/) override {}
  [[nodiscard]] std::vector<RegisteredManager> managers() const override { return {}; }

private:
  std::uint64_t epoch_;
};

} // namespace tributary::store
