// The neighbour at each port of a switch, learned from received hellos, and the hellos that
// announce this switch.
//
//   port_changed ---+                            +--> take_hellos    out of the ports
//   received -------+--> the state of each   --+
//   poll (time) ----+    port: control::Port     +--> take_changes   the ports that changed, whole
//
// A hello leaves each port that is up once per interval, immediately when the port comes up, and
// immediately in answer to a new neighbour, so that both ends know each other after one round trip.
// A neighbour is forgotten when it announces that it leaves, when the port goes down, and when it
// has been silent for 3.5 of its own intervals (wire/hello.hpp).
//
// What received frames can cause is bounded: another neighbour on the same port is accepted, and
// answered, at most ten times per interval (settings); ports that go up and down are reported
// immediately.
//
// Pure: no clock, no I/O. One thread at a time.
#pragma once

#include "tributary/control.pb.h"
#include "tributary/types.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/hello.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tributary::agent {

/// A frame to send out of a port.
struct OutgoingHello {
  PortNumber port;
  std::vector<std::byte> bytes;
};

struct NeighbourSettings {
  std::string name;       ///< of this switch
  std::uint64_t guid = 0; ///< of this switch; 0: `wire::guid_of_name(name)`
  std::uint16_t ethertype = wire::default_ethertype;
  /// 0: no hellos are sent; received ones are processed all the same.
  std::uint64_t interval_ns = 1'000'000'000;
  bool link_hellos = false; ///< whether the switch sends them, see wire/link_hello.hpp
};

class Neighbours {
public:
  /// `ports` are the names of the switch's ports, by number. All ports are down until
  /// `port_changed` says otherwise.
  Neighbours(NeighbourSettings settings, std::span<const std::string> ports);

  // ---- inputs ----

  /// `speed_mbps` is 0 if unknown.
  void port_changed(PortNumber port, bool up, std::uint32_t speed_mbps, TimeNs now);
  /// The source guard of an edge port, which a configuration may change.
  void guard_changed(PortNumber port, std::optional<Nid> nid);
  /// A frame that the core delivered. Ignored if it is not a hello; the core passes none.
  void received(PortNumber port, std::span<const std::byte> frame, TimeNs now);
  /// Forgets neighbours that have been silent for too long, and makes hellos due.
  void poll(TimeNs now);
  /// Time of the next `poll` that has work; `never` if only an event can cause work.
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- outputs ----

  /// The due hellos. Frames of one port are in order.
  [[nodiscard]] std::vector<OutgoingHello> take_hellos();
  /// The ports that changed since the last call, by number. All of them at the first call.
  [[nodiscard]] std::vector<control::Port> take_changes();
  /// The current state of all ports.
  [[nodiscard]] std::vector<control::Port> ports() const;
  /// Hellos that announce that the switch leaves, one for each port that is up; for an orderly
  /// stop.
  [[nodiscard]] std::vector<OutgoingHello> leaving_hellos() const;
  /// Cabling problems, for operators: a link with both ends in this switch, a NID seen on two
  /// ports, several neighbours on one port, a neighbour with this switch's name or guid.
  [[nodiscard]] std::vector<std::string> problems() const;

private:
  struct PortState {
    control::Port reported; ///< as reported to the manager
    std::optional<wire::Hello> heard;
    TimeNs forget_at = never; ///< when the neighbour expires if it stays silent
    TimeNs hello_at = never;  ///< the next one to send
    /// When the neighbour was last replaced; empty if not since the port came up.
    std::optional<TimeNs> taken_over_at;
    /// Another neighbour that waits until `taken_over_at` is long enough ago.
    std::optional<wire::Hello> waiting;
    TimeNs waiting_until = never;
    /// Received before the port was known to be up: frames can be faster than the link state.
    std::optional<wire::Hello> early;
    TimeNs early_at{};
    /// The previous neighbour, and when it would have expired.
    std::string before;
    TimeNs before_until{};
    /// Until when two alternating neighbours count as sharing the port.
    TimeNs shared_until{};
  };

  [[nodiscard]] wire::Hello hello_of(const PortState& port, std::uint16_t interval_ms) const;
  void send(PortNumber port, TimeNs now);
  void take_over(PortNumber port, const wire::Hello& hello, TimeNs now);
  void forget(PortNumber port);
  void changed(PortNumber port);

  NeighbourSettings settings_;
  std::vector<PortState> ports_;
  std::vector<OutgoingHello> outgoing_;
  std::set<PortNumber> changed_;
  TimeNs now_{}; ///< time of the last call that had one; for `problems`
};

} // namespace tributary::agent
