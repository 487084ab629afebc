// Whether one link to another switch can be used: from link hellos, and from what else tells.
//
//              the neighbour sends         it hears us              what we hear says so
//   unwatched --- link hellos ---> checking ----------> up <---- `good` times in a row ---- down
//     usable                        usable               |                                   ^
//                                     |                  +-- silent, one way, left, carrier, |
//                                     +-------------------- another neighbour ---------------+
//
// Only links between switches that both send link hellos are watched. A link to a host, and one to
// a switch that sends none, are unwatched: there the carrier alone counts. A port with a source
// guard leads to a host, whatever it sends (Links::hosts_are_at). What is watched stays
// so until a neighbour says that it does not send any; or until the carrier came back and nobody
// was heard for 3.5 idle intervals: somebody has put another cable in.
//
// Down, with the reason:
//
//   silent           nothing heard for `misses` intervals of the neighbour
//   one_way          it is heard, and does not hear us; it says so, or never says the contrary
//   left             it said that it stops
//   carrier          the port's own link went down
//   other_neighbour  the link hellos come from another port or switch than before
//
// Silence is excused, for an interval, in three cases, or a busy machine would tear good links
// down: when who calls has not looked for longer than an interval, once after each hello; as long
// as the neighbour is no later than this switch has lately been itself, for they may share a
// machine; and while other frames arrive, for at most ten times as long as silence is borne,
// because a port that overflows loses hellos with the rest.
//
// A hello leaves 0.75 to 1 intervals after the one before, by a seed; at once when what we hear has
// changed; and only once an idle interval while the neighbour has been silent for long. It says how
// long the next one may take: the interval, and how late this switch has lately been itself.
//
// Pure: no clock, no I/O, no allocation. One thread at a time.
#pragma once

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
  /// Of link hellos on watched links; 0: none are sent, and no link is watched.
  std::uint64_t interval_ns = 0;
  std::uint32_t misses = 3; ///< intervals of silence that take a link down
  std::uint32_t good = 3;   ///< hellos in a row that bring it back
  /// Towards a neighbour that was silent for so long.
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

/// What one link has seen, since it was made.
struct Status {
  State state = State::unwatched;
  TimeNs since{};                    ///< when `state` became what it is
  Reason last_reason = Reason::none; ///< why it was down last; `none`: it never was
  std::uint64_t times_down = 0;
  std::uint64_t last_silence_ns = 0; ///< from the last hello until it was down, the last time
  std::uint64_t hellos_sent = 0;
  std::uint64_t hellos_heard = 0;
  std::uint64_t hellos_missed = 0;        ///< by the gaps in the neighbour's sequence
  std::uint64_t longest_gap_ns = 0;       ///< between two hellos, on a link that was up
  std::optional<wire::LinkEnd> neighbour; ///< of the last link hello
  TimeNs last_heard{};                    ///< with a neighbour: when that was
};

class Link {
public:
  /// The same seed gives the same jitter. The carrier is down until it is said to be up.
  Link(const Settings& settings, wire::LinkEnd self, std::uint64_t seed)
      : settings_(settings), self_(self), random_(seed) {}

  // ---- what happens ----

  void carrier_changed(bool up, TimeNs now);
  void hello(const wire::Hello& hello, TimeNs now);
  void link_hello(const wire::LinkHello& hello, TimeNs now);
  /// No switch is there that sends link hellos.
  void stop_watching(TimeNs now);
  /// `frames_came`: any were received since the last call. `stalled`: this one comes
  /// later than it should by more than an interval. `own_delay_ns`: how late they have lately come.
  void poll(TimeNs now, bool frames_came, bool stalled, std::uint64_t own_delay_ns);
  [[nodiscard]] TimeNs next_deadline() const {
    return std::min({silent_at_, check_by_, release_at_, send_at_});
  }

  // ---- what follows ----

  /// As far as hellos tell; the carrier is the caller's.
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

  // What comes in.
  TimeNs last_heard_{};           ///< a link hello
  std::uint64_t patience_ns_ = 0; ///< after it
  TimeNs silent_at_ = never;      ///< `never`: the neighbour is not heard
  TimeNs last_frame_{};
  bool stall_excused_ = false; ///< since the last hello
  std::uint32_t sequence_heard_ = 0;
  std::uint32_t good_ = 0;    ///< hellos in a row, while down
  TimeNs check_by_ = never;   ///< while checking
  TimeNs release_at_ = never; ///< while down, behind a carrier that came back

  // What goes out.
  TimeNs send_at_ = never;
  TimeNs fast_until_{}; ///< then at the idle interval
  std::uint32_t sequence_ = 0;
};

} // namespace tributary::liveness
