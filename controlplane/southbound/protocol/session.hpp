// Which channels are accepted, and which of them are still alive.
//
//   Sessions sessions({.manager = "fabricd", .keepalive = 1s, .statistics = 5s});
//   const Admission a = sessions.open(session, hello, now);   Welcome or Rejected, to be sent
//   sessions.heard(session);                                  whenever data arrived from it
//   for (const Keepalive& k : sessions.poll(now)) ...         ping it, or it is lost
//
// Silence is counted in polled intervals, not in time: a manager that was itself delayed, and has
// not read what arrived meanwhile, does not declare all its switches lost.
//
// A switch name and a guid have one session each. A process that connects again while its old
// channel is not known to be dead (the same boot number) takes over: the old session is superseded.
// Another process under the same name is rejected as long as the first one lives.
//
// Pure: no clock, no I/O.
#pragma once

#include "controlplane/transaction/subject.hpp"
#include "tributary/control.pb.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::southbound::protocol {

using transaction::SessionNumber;

/// The version of control.proto that both ends must speak.
inline constexpr std::uint32_t control_protocol = 1;
/// Intervals of silence in a row after which a session is lost.
inline constexpr unsigned keepalives_missed = 3;

struct SessionSettings {
  std::string manager{}; ///< its name, sent in Welcome
  std::chrono::milliseconds keepalive = std::chrono::seconds(1);
  std::chrono::milliseconds statistics = std::chrono::seconds(5); ///< 0: never
};

struct Admission {
  control::ManagerMessage answer; ///< Welcome or Rejected
  bool accepted = false;
  std::optional<SessionNumber> superseded; ///< to be closed; already forgotten here
};

struct Keepalive {
  SessionNumber session;
  bool lost = false; ///< to be closed; already forgotten here. Otherwise send `ping`
  control::ManagerMessage ping;
};

class Sessions {
public:
  explicit Sessions(SessionSettings settings);

  [[nodiscard]] Admission open(SessionNumber session, const control::SwitchHello& hello,
                               TimeNs now);
  void heard(SessionNumber session);
  /// No effect on a session that is not open.
  void close(SessionNumber session);

  [[nodiscard]] std::vector<Keepalive> poll(TimeNs now);
  [[nodiscard]] TimeNs next_deadline() const;
  /// How long a session may be silent, in words: "3.0 s".
  [[nodiscard]] std::string timeout_text() const;

private:
  struct Session {
    std::string name;
    std::uint64_t guid = 0;
    std::uint64_t boot = 0;
    bool heard = false;  ///< since the last ping was due
    unsigned missed = 0; ///< pings in a row that were due without any data received
    TimeNs due;          ///< time of the next ping
  };

  SessionSettings settings_;
  std::map<SessionNumber, Session> sessions_;
  std::map<std::string, SessionNumber, std::less<>> by_name_;
  std::map<std::uint64_t, SessionNumber> by_guid_;
  std::set<std::pair<TimeNs, SessionNumber>> due_;
  std::uint64_t pings_ = 0;
};

/// A Rejected message. `leader_address`: where switches reach the manager that leads; "": unknown.
[[nodiscard]] control::ManagerMessage rejection(std::string reason,
                                                std::string leader_address = {});

} // namespace tributary::southbound::protocol
