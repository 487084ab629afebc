// Two watched links that face each other over a wire of virtual time, whose two directions can be
// cut separately, or lose frames by a seed.
#pragma once

#include "dataplane/liveness/links.hpp"
#include "tributary/random.hpp"
#include "tributary/wire/link_hello.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace tributary::liveness::test {

inline constexpr std::uint64_t ms = ns_per_ms;
inline constexpr Settings ten_ms{.interval_ns = 10 * ms};
inline constexpr PortNumber port{3};

inline PortSet only(PortNumber p) {
  PortSet set;
  set.insert(p);
  return set;
}

inline wire::Hello hello_of(std::uint64_t guid, bool link_hellos = true) {
  return {.kind = wire::HelloKind::switch_port,
          .guid = guid,
          .port = port,
          .nid = {},
          .interval_ms = 1000,
          .link_hellos = link_hellos,
          .name = "s",
          .port_name = {}};
}

inline wire::Hello host_hello() {
  return {.kind = wire::HelloKind::host,
          .guid = 0,
          .port = PortNumber{0},
          .nid = Nid{7},
          .interval_ms = 1000,
          .name = "h",
          .port_name = {}};
}

class WireBetween {
public:
  struct End {
    End(const Settings& settings, std::uint64_t own_guid, std::uint64_t seed)
        : guid(own_guid), links(settings, own_guid, only(port), seed) {}
    std::uint64_t guid;
    Links links;
    bool cut = false;       ///< its frames are lost
    bool running = true;    ///< or it does nothing at all
    double loss = 0;        ///< of its frames
    bool busy_wire = false; ///< other frames of it arrive all the time
    std::vector<Change> changes;
    std::vector<TimeNs> at; ///< of `changes`
    std::uint64_t sent = 0;
  };

  explicit WireBetween(std::uint64_t seed = 1, const Settings& settings = ten_ms)
      : random_(seed), a(settings, 0xA, seed), b(settings, 0xB, seed + 1) {}

  /// Both carriers come up, and both are notified that the other sends link hellos.
  void connect() {
    a.links.carrier_changed(port, true, now);
    b.links.carrier_changed(port, true, now);
    a.links.hello(port, hello_of(b.guid), now);
    b.links.hello(port, hello_of(a.guid), now);
  }

  void run(std::uint64_t duration_ns) {
    const TimeNs end = now + duration_ns;
    while (now < end) {
      now = now + step_ns;
      turn(a, b);
      turn(b, a);
    }
  }

  [[nodiscard]] bool failed(const End& end) const { return end.links.failed().contains(port); }
  [[nodiscard]] State state(const End& end) const { return end.links.status(port).state; }

  TimeNs now{1'000'000'000};

private:
  static constexpr std::uint64_t step_ns = 200'000;

  void turn(End& end, End& other) {
    if (!end.running) {
      return;
    }
    if (other.busy_wire) {
      end.links.frames_came(port);
    }
    if (now >= end.links.next_deadline()) {
      end.links.poll(now);
      end.links.take_hellos(now, [&](PortNumber, const wire::LinkHello& hello) {
        ++end.sent;
        if (!end.cut && !random_.chance(end.loss) && other.running) {
          other.links.frames_came(port);
          other.links.link_hello(port, hello, now);
        }
      });
    }
    end.links.take_changes([&](const Change& change) {
      end.changes.push_back(change);
      end.at.push_back(now);
    });
  }

  Random random_;

public:
  End a;
  End b;
};

} // namespace tributary::liveness::test
