// The watched links of a switch whose ports belong to one worker (link.hpp has the rules of one
// link).
//
//   carrier_changed -----+                 +--> failed        ports that hellos say are down
//   hello, link_hello ---+--> a Link per --+--> take_hellos   link hellos that are due
//   frames_came, poll ---+    port         +--> take_changes  links that went down or came back
//
// How a shell drives it, in each iteration, after receiving:
//
//   if (now >= links.next_deadline()) links.poll(now);
//   links.take_hellos(now, [](PortNumber, const wire::LinkHello&) { ... });
//   links.take_changes([](const Change&) { ... });
//
// Deadlines are rounded up to a tick, so that many links share one iteration.
//
// Pure: no clock, no I/O; allocates at construction only. One thread at a time.
#pragma once

#include "dataplane/liveness/link.hpp"
#include "dataplane/liveness/own_delay.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/hello.hpp"
#include "tributary/wire/link_hello.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace tributary::liveness {

/// A link that became unusable, or usable again.
struct Change {
  PortNumber port;
  bool usable = false;
  Reason reason = Reason::none; ///< why it is, or was, down
  std::uint64_t after_ns = 0;   ///< down: since the last link hello. Usable: how long it was down
};

class Links {
public:
  /// `self.guid` is the switch's; `owned` are its ports. The seed gives each port its own jitter.
  Links(const Settings& settings, std::uint64_t guid, PortSet owned, std::uint64_t seed);

  // ---- inputs ----

  void carrier_changed(PortNumber port, bool up, TimeNs now);
  void hello(PortNumber port, const wire::Hello& hello, TimeNs now);
  void link_hello(PortNumber port, const wire::LinkHello& hello, TimeNs now);
  /// Hosts are behind exactly these ports: their source guards say so. They are not watched,
  /// whatever hellos say, and those that were are usable again.
  void hosts_are_at(PortSet ports, TimeNs now);
  /// Frames were received at the port. Cheap: call it for each burst.
  void frames_came(PortNumber port) { frames_came_.insert(port); }
  void poll(TimeNs now);
  /// Time of the next `poll` that has work; `never` while nothing is watched.
  [[nodiscard]] TimeNs next_deadline() const { return next_; }

  // ---- outputs ----

  [[nodiscard]] PortSet failed() const { return failed_; }
  /// Calls `f(PortNumber, const wire::LinkHello&)` for each that is due since the last poll.
  template <typename F> void take_hellos(TimeNs now, F&& f) {
    std::exchange(due_, {}).for_each([&](PortNumber port) {
      if (const auto hello = link(port).take_hello(now, own_delay_.ns())) {
        f(port, *hello);
      }
    });
    look_ahead(now);
  }
  /// Calls `f(const Change&)` for each since the last call, in order.
  template <typename F> void take_changes(F&& f) {
    for (const Change& change : changes_) {
      f(change);
    }
    changes_.clear();
  }
  [[nodiscard]] bool changed() const { return !changes_.empty(); }
  /// Requires that the port is owned.
  [[nodiscard]] const Status& status(PortNumber port) const {
    return links_[index_[port.value]].status();
  }
  [[nodiscard]] const Settings& settings() const { return settings_; }

private:
  [[nodiscard]] Link& link(PortNumber port) { return links_[index_[port.value]]; }
  void input_given(PortNumber port, TimeNs now, TimeNs since_before);
  void look_ahead(TimeNs now);

  Settings settings_;
  std::uint64_t tick_ns_;
  PortSet owned_;
  std::array<std::uint8_t, max_ports> index_{}; ///< into `links_`
  std::vector<Link> links_;
  PortSet host_ports_;
  PortSet failed_;
  PortSet frames_came_; ///< since the last poll
  PortSet due_;         ///< may have a hello to send
  OwnDelay own_delay_;
  TimeNs polled_{};
  TimeNs next_ = never;
  std::vector<Change> changes_;
};

} // namespace tributary::liveness
