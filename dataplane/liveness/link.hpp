// Whether one link to another switch is usable, from link hellos and other events.
//
//              the neighbour sends         it receives ours         its hellos say so
//   unwatched --- link hellos ---> checking ----------> up <---- `good` times in a row ---- down
//     usable                        usable               |                                   ^
//                                     |                  +-- silent, one way, left, carrier, |
//                                     +-------------------- another neighbour ---------------+
//
// Only links between switches that both send link hellos are watched. A link to a host, and one to
// a switch that sends none, are unwatched: there the carrier alone counts. A port with a source
// guard leads to a host, whatever it sends (Links::hosts_are_at). A watched link stays watched
// until a neighbour announces that it does not send any; or until the carrier came back and no link
// hello arrived for 3.5 idle intervals, which suggests that another cable was plugged in.
//
// Down, with the reason:
//
//   silent           nothing received for `misses` intervals of the neighbour
//   one_way          its hellos arrive, but ours do not: they say so, or never say the contrary
//   left             it announced that it stops
//   carrier          the port's own link went down
//   other_neighbour  the link hellos come from another port or switch than before
//
// Silence is excused, for an interval, in three cases, or a busy machine would take good links
// down: when the caller has not polled for longer than an interval, once after each hello; as long
// as the neighbour is no later than this switch has recently been itself, since they may share a
// machine; and while other frames arrive, for at most ten times the allowed silence, because a port
// that overflows loses hellos with the rest.
//
// A hello leaves 0.75 to 1 intervals after the previous one, by a seed; immediately when the state
// of reception has changed; and only once per idle interval while the neighbour has been silent for
// long. It announces the time until the next one: the interval, and how late this switch has
// recently been itself.
//
// Pure: no clock, no I/O, no allocation. One thread at a time.
#pragma once

#include "lib/statistics/counter_info.hpp"
#include "tributary/random.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/hello.hpp"
#include "tributary/wire/link_hello.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tributary::liveness {

struct Settings {
  /// Interval of link hellos on watched links; 0: none are sent, and no link is watched.
  std::uint64_t interval_ns = 0;
  std::uint32_t misses = 3; ///< intervals of silence that take a link down
  std::uint32_t good = 3;   ///< consecutive hellos that bring it back
  /// Interval towards a neighbour that has been silent for this long.
  std::uint64_t idle_interval_ns = ns_per_second;
};

enum class State : std::uint8_t { unwatched, checking, up, down };

enum class Reason : std::uint8_t { none, silent, one_way, left, carrier, other_neighbour };

constexpr std::string_view name_of(State s) {
  switch (s) {
  case State::unwatched: return "unwatched";
  case State::checking: return "checking";
  case State::up: return "up";
  case State::down: return "down";
  }
  return "unknown";
}

constexpr std::string_view name_of(Reason r) {
  switch (r) {
  case Reason::none: return "none";
  case Reason::silent: return "silent";
  case Reason::one_way: return "one_way";
  case Reason::left: return "left";
  case Reason::carrier: return "carrier";
  case Reason::other_neighbour: return "other_neighbour";
  }
  return "unknown";
}

/// Figures of one link since its construction.
struct Counts {
  std::uint64_t times_down = 0;
  std::uint64_t hellos_sent = 0;
  std::uint64_t hellos_heard = 0;
  std::uint64_t hellos_missed = 0; ///< by the gaps in the neighbour's sequence

  static constexpr statistics::CounterRow<Counts, std::uint64_t Counts::*> rows[] = {
      {&Counts::times_down, {"times_down", "Times that the link went down by its link hellos."}},
      {&Counts::hellos_sent, {"hellos_sent", "Link hellos sent.", {}, {"SENT", 8}}},
      {&Counts::hellos_heard, {"hellos_heard", "Link hellos received.", {}, {"HEARD", 7}}},
      {&Counts::hellos_missed,
       {"hellos_missed", "Link hellos missing from the neighbour's sequence.", {}, {"MISSED", 2}}},
  };
};
static_assert(statistics::all_have_rows<Counts>);

struct Status : Counts {
  State state = State::unwatched;
  TimeNs since{};                         ///< last change of `state`
  Reason last_reason = Reason::none;      ///< why it was down last; `none`: it never was
  std::uint64_t last_silence_ns = 0;      ///< from the last hello until it was down, the last time
  std::uint64_t longest_gap_ns = 0;       ///< between two hellos, while the link was up
  std::optional<wire::LinkEnd> neighbour; ///< from the last link hello
  TimeNs last_heard{};                    ///< valid if there is a neighbour
};

class Link {
public:
  /// The same seed gives the same jitter. The carrier is down until reported up.
  Link(const Settings& settings, wire::LinkEnd self, std::uint64_t seed)
      : settings_(settings), self_(self), random_(seed) {}

  // ---- inputs ----

  void carrier_changed(bool up, TimeNs now);
  void hello(const wire::Hello& hello, TimeNs now);
  void link_hello(const wire::LinkHello& hello, TimeNs now);
  /// The neighbour is not a switch that sends link hellos.
  void stop_watching(TimeNs now);
  /// `frames_came`: any frames were received since the last call. `stalled`: this call is late by
  /// more than an interval. `own_delay_ns`: how late the calls have recently been.
  void poll(TimeNs now, bool frames_came, bool stalled, std::uint64_t own_delay_ns);
  [[nodiscard]] TimeNs next_deadline() const {
    return std::min({silent_at_, check_by_, release_at_, send_at_});
  }

  // ---- outputs ----

  /// According to hellos; the carrier is the caller's.
  [[nodiscard]] bool usable() const { return status_.state != State::down; }
  /// The link hello to send now, if one is due; the next one may be late by `own_delay_ns`.
  [[nodiscard]] std::optional<wire::LinkHello> take_hello(TimeNs now, std::uint64_t own_delay_ns);
  [[nodiscard]] const Status& status() const { return status_; }

private:
  void enter(State state, TimeNs now);
  void go_down(Reason reason, TimeNs now);
  void begin_to_watch(TimeNs now);
  void send_soon(TimeNs now) { send_at_ = carrier_ ? now : never; }
  [[nodiscard]] bool watched() const { return status_.state != State::unwatched; }
  [[nodiscard]] bool hears() const { return silent_at_ != never; }
  [[nodiscard]] bool excused(TimeNs now, bool stalled, std::uint64_t own_delay_ns);

  Settings settings_;
  wire::LinkEnd self_;
  Random random_;
  Status status_;
  bool carrier_ = false;

  // Receiving.
  TimeNs last_heard_{};            ///< the last link hello
  std::uint64_t hold_time_ns_ = 0; ///< allowed silence after it
  TimeNs silent_at_ = never;       ///< `never`: nothing is received from the neighbour
  TimeNs last_frame_{};
  bool stall_excused_ = false; ///< since the last hello
  std::uint32_t sequence_heard_ = 0;
  std::uint32_t good_ = 0;    ///< consecutive hellos, while down
  TimeNs check_by_ = never;   ///< while checking
  TimeNs release_at_ = never; ///< while down, after the carrier came back

  // Sending.
  TimeNs send_at_ = never;
  TimeNs fast_until_{}; ///< from then on at the idle interval
  std::uint32_t sequence_ = 0;
};

} // namespace tributary::liveness
