// A switch as a station of the Link Layer Discovery Protocol (IEEE 802.1AB): it announces itself to
// the other end of each link, and stores the announcements of the other ends.
//
//   port_changed ---+                         +--> take_frames   out of the ports
//   received -------+--> timers, neighbours --+
//   poll (time) ----+    of each port         +--> neighbours, counters
//
// A frame leaves a port when it comes up, and every 30 s after that; four of them a second apart as
// soon as the port has a new neighbour, so that it need not wait. Each is valid for four intervals
// and a second. A port that goes down forgets its neighbours.
//
// How a shell drives it, after each input and at next_deadline():
//
//   station.poll(now);
//   for (const auto& frame : station.take_frames()) send frame.bytes out of frame.port, untagged
//
// Pure: no I/O, no clock. One thread at a time.
#pragma once

#include "dataplane/lldp/lldpdu.hpp"
#include "dataplane/lldp/neighbour_table.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/ethernet.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tributary::lldp {

/// The switch. `chassis` must not be empty, and must be unique.
struct Identity {
  std::string chassis;
  std::string system_name;
  std::string system_description;
};

/// One of its ports; the neighbour knows it by `name`, which must not be empty.
struct PortIdentity {
  std::string name;
  std::string description;
  wire::MacAddress source{};
  bool speaks = true; ///< false: no other end, and nothing is sent
};

/// As the standard recommends.
struct Settings {
  std::uint64_t interval_ns = 30 * ns_per_second;
  std::uint32_t hold = 4; ///< intervals for which a frame is valid
  std::uint64_t fast_interval_ns = ns_per_second;
  std::uint32_t fast_frames = 4; ///< after a new neighbour
  std::size_t neighbours_per_port = 8;
};

struct Counters {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;  ///< all of them
  std::uint64_t discarded = 0; ///< of `received`: invalid ones
  std::uint64_t refused = 0;   ///< of `received`: those of neighbours beyond the limit
  std::uint64_t aged_out = 0;  ///< neighbours that expired
  Error last_error = Error::none;
};

struct OutgoingFrame {
  PortNumber port;
  std::vector<std::byte> bytes;
};

class Station {
public:
  /// Ports are down until `port_changed` says otherwise.
  Station(Identity identity, std::vector<PortIdentity> ports, const Settings& settings = {});

  // ---- inputs ----

  void port_changed(PortNumber port, bool up, TimeNs now);
  /// A frame of EtherType 0x88CC that arrived at the port.
  void received(PortNumber port, std::span<const std::byte> frame, TimeNs now);
  /// Forgets expired neighbours, and makes frames due.
  void poll(TimeNs now);
  /// Time of the next `poll` that has work; `never` if only an event can cause work.
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- outputs ----

  [[nodiscard]] std::vector<OutgoingFrame> take_frames();
  /// Announces that the switch leaves, on each port that is up; for an orderly stop.
  [[nodiscard]] std::vector<OutgoingFrame> leaving_frames() const;
  [[nodiscard]] const std::vector<Neighbour>& neighbours(PortNumber port) const {
    return ports_.at(port.value).neighbours.all();
  }
  [[nodiscard]] const Counters& counters(PortNumber port) const {
    return ports_.at(port.value).counters;
  }
  [[nodiscard]] std::size_t port_count() const { return ports_.size(); }

private:
  struct PortState {
    PortIdentity identity;
    NeighbourTable neighbours;
    Counters counters{};
    bool up = false;
    TimeNs send_at = never;
    std::uint32_t fast_left = 0; ///< frames to send a second apart
  };

  [[nodiscard]] std::vector<std::byte> frame_of(const PortState& port,
                                                std::uint16_t ttl_seconds) const;

  Identity identity_;
  Settings settings_;
  std::uint16_t ttl_seconds_;
  std::vector<PortState> ports_;
  std::vector<OutgoingFrame> outgoing_;
};

} // namespace tributary::lldp
