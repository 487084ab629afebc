// Who is at the other end of each port of a switch, from the hellos that come in; and the hellos
// that tell the others who is here.
//
//   port_changed ---+                            +--> take_hellos    out of the ports
//   received -------+--> what is known of each --+
//   poll (time) ----+    port: control::Port     +--> take_changes   the ports that changed, whole
//
// A hello leaves each port that is up once an interval, at once when the port comes up, and at once
// in answer to a neighbour that is new, so that both ends know each other after one round trip. A
// neighbour is forgotten when it says that it leaves, when the port goes down, and when it has been
// silent for 3.5 of its own intervals (wire/hello.hpp).
//
// What frames can cause is bounded: another neighbour on the same port is taken over, and answered,
// at most ten times an interval (settings); ports that go up and down are told at once.
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
  /// 0: no hellos are sent; those that come in are heard all the same.
  std::uint64_t interval_ns = 1'000'000'000;
  bool link_hellos = false; ///< whether the switch sends them, see wire/link_hello.hpp
};

class Neighbours {
public:
  /// `ports` are the names of the switch's ports, by number. All ports are down until
  /// `port_changed` says otherwise.
  Neighbours(NeighbourSettings settings, std::span<const std::string> ports);

  // ---- what happens ----

  /// `speed_mbps` is 0 when it is not known.
  void port_changed(PortNumber port, bool up, std::uint32_t speed_mbps, TimeNs now);
  /// The source guard of an edge port, which a configuration may change.
  void guard_changed(PortNumber port, std::optional<Nid> nid);
  /// A frame that the core delivered. What is no hello is ignored: the core lets none through.
  void received(PortNumber port, std::span<const std::byte> frame, TimeNs now);
  /// Forgets who has been silent for too long, and lets hellos be due.
  void poll(TimeNs now);
  /// When `poll` has something to do next; `never` when only an event can bring that.
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- what follows ----

  /// The hellos that are due. Frames of one port are in order.
  [[nodiscard]] std::vector<OutgoingHello> take_hellos();
  /// The ports that changed since the last call, by number. All of them at the first call.
  [[nodiscard]] std::vector<control::Port> take_changes();
  /// All ports as they are now.
  [[nodiscard]] std::vector<control::Port> ports() const;
  /// Hellos with the word that it leaves, one for each port that is up: for a switch that stops in
  /// good order.
  [[nodiscard]] std::vector<OutgoingHello> leaving_hellos() const;
  /// For people: a link with both ends in this switch, a NID heard on two ports, several
  /// neighbours on one port, a neighbour with this switch's name or guid.
  [[nodiscard]] std::vector<std::string> problems() const;

private:
  struct PortState {
    control::Port told; ///< as the manager is told
    std::optional<wire::Hello> heard;
    TimeNs forget_at = never; ///< the neighbour, if it stays silent
    TimeNs hello_at = never;  ///< the next one to send
    /// When the neighbour became another one last; not since the port came up: nothing.
    std::optional<TimeNs> taken_over_at;
    /// Another neighbour that has to wait until `taken_over_at` is long enough ago.
    std::optional<wire::Hello> waiting;
    TimeNs waiting_until = never;
    /// Heard before the port was known to be up: frames can be faster than the link's state.
    std::optional<wire::Hello> early;
    TimeNs early_at{};
    /// The neighbour before this one, and until when it would not have been forgotten.
    std::string before;
    TimeNs before_until{};
    /// Until when two neighbours count as being heard in turn.
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
  TimeNs now_{}; ///< of the last call that had a time; for `problems`
};

} // namespace tributary::agent
