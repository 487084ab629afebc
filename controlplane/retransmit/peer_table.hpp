// Peers that transfers fail with: who says so, from when on nothing new is begun with them, and how
// it is found out that they are back.
//
//   healthy -> failing     a host has said that its transfers with the peer fail
//   failing -> healthy     nobody has for a window
//   failing -> parked      too many failures: for the host that has them, or for all
//   parked  -> probing     time for a probe; one of those who complained is asked to send it
//   probing -> healthy     the peer has answered, and nobody else has trouble with it
//   probing -> parked      it has not: the next probe comes after twice the time
//
// Hosts are not believed more than they can know. What one host says parks a peer for that host
// alone; parked for all is who `reporters` of them, at different places (switch ports), complain
// about, with `failures` in sum. A host that complains about more than `most_accused` peers has
// trouble of its own, or lies: what it says beyond counts for itself alone. What a host says in a
// window is bounded, too. So a single liar harms nobody but itself, and a flood costs a counter.
//
// A job and a VNI are walls: what is said about a peer in one VNI holds there, and what hosts say
// with one job's token holds for that job. What the administrator's hosts say holds for all.
//
// Memory is bounded: `capacity` peers, eight voices each. A job has at most as many as are free, so
// something is left for the next one; beyond, it is counted. Where all are in use, the peer that
// failed first and is not parked gives way. Pure.
#pragma once

#include "controlplane/retransmit/exception_log.hpp"
#include "tributary/types.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::retransmit {

struct ParkSettings {
  bool enabled = true;
  std::uint64_t window_ns = 30 * ns_per_second;
  /// Within a window. A transfer that was given up is two, one that waits in vain is one.
  std::uint32_t failures = 4;
  std::uint32_t reporters = 2;
  std::uint32_t most_accused = 8;
  std::uint64_t first_probe_ns = 1 * ns_per_second;
  std::uint64_t longest_probe_ns = 60 * ns_per_second;
  /// Within which whoever was asked to probe has to say what came of it.
  std::uint64_t probe_limit_ns = 15 * ns_per_second;
  /// Exceptions that one host is heard with in a window, and peers that it complains about.
  std::uint32_t most_of_a_host = 256;
  std::size_t capacity = 16'384;
  friend bool operator==(const ParkSettings&, const ParkSettings&) = default;
};

struct PeerId {
  Nid nid;
  Vni vni;
  std::string job{}; ///< with whose token it is spoken of; "": the administrator's
  friend constexpr auto operator<=>(const PeerId&, const PeerId&) = default;
};

/// Who says something, and where it hangs: two at one place are one voice.
struct Reporter {
  Nid nid;
  std::uint64_t place = 0;
  std::string job{}; ///< with whose token; "": the administrator's
};
/// Where a list of parked peers holds: a VNI, and a job or "", all jobs.
using ParkScope = std::pair<Vni, std::string>;

enum class PeerState : std::uint8_t { failing, parked, probing };
[[nodiscard]] std::string_view name_of(PeerState state);

struct Voice {
  Nid nid;
  std::uint64_t place = 0;
  std::uint32_t failures = 0; ///< since `first`, at most as many as park
  std::uint32_t silent = 0;   ///< times it was asked to probe and said nothing
  TimeNs first{};
  TimeNs last{};
  bool counts = false; ///< for others, too
  bool parked = false; ///< the peer is, for this host
};

struct TroubledPeer {
  PeerState state = PeerState::failing;
  bool for_all = false;
  bool was_for_all = false; ///< since it is parked
  bool by_operator = false;
  std::vector<Voice> voices;
  TimeNs since;            ///< it is parked, or failing
  TimeNs probe_at = never; ///< while parked
  std::uint64_t back_off_ns = 0;
  std::optional<Nid> prober;
  std::uint64_t probes = 0; ///< that were not answered, since it is parked
  TimeNs deadline = never;  ///< when `poll` has to look at it
};

/// What became of an exception; the text is for listings.
// clang-format off
#define TRIBUTARY_RETRANSMIT_HEARD(X)                                                              \
  X(counted,      "counted against the peer")                                                      \
  X(noted,        "no failure: counted by cause alone")                                            \
  X(about_itself, "refused: a host about itself")                                                  \
  X(foreign,      "refused: not a host of the job, or in a VNI that the report does not name")     \
  X(flooded,      "refused: more of one host than a window allows")                                \
  X(no_room,      "refused: as many peers are in trouble as there is room for")
// clang-format on
enum class Heard : std::uint8_t {
#define TRIBUTARY_X(name, text) name,
  TRIBUTARY_RETRANSMIT_HEARD(TRIBUTARY_X)
#undef TRIBUTARY_X
};
[[nodiscard]] std::string_view name_of(Heard heard);
inline constexpr std::size_t heard_kinds = static_cast<std::size_t>(Heard::no_room) + 1;

struct PeerChange {
  enum class Kind : std::uint8_t { parked_for_one, parked_for_all, unparked };
  Kind kind{};
  PeerId peer{};
  std::optional<Nid> reporter{}; ///< parked_for_one
  std::string_view why{};        ///< a literal
  bool was_for_all = false;      ///< unparked: it was parked for all, at some time
};

class PeerTable {
public:
  static constexpr std::size_t most_voices = 8;
  /// Hosts asked to probe that say nothing so often are not counted on any more.
  static constexpr std::uint32_t most_silent = 3;

  /// Versions are above `version`.
  explicit PeerTable(const ParkSettings& settings, std::uint64_t version = 0)
      : settings_(settings), version_(version + 1) {}

  // Of reporters the place is looked at in `report` alone. Peers are those of the reporter's job,
  // whatever job is named with them.

  /// `times`: so many of them since the host's last report.
  Heard report(const Reporter& reporter, const PeerId& peer, Cause cause, std::uint32_t times,
               TimeNs now);
  /// Of a peer that the reporter has nothing to say of.
  Heard refuse() { return count(Heard::foreign); }
  /// What this host is to probe now; it has to say what came of it.
  [[nodiscard]] std::vector<PeerId> ask_to_probe(const Reporter& reporter, std::size_t most,
                                                 TimeNs now);
  /// Of a probe that the host was asked for; another one means nothing.
  void probed(const Reporter& reporter, const PeerId& peer, bool answered, TimeNs now);
  /// Whether it complains about a peer that is parked: it may be asked to probe soon.
  [[nodiscard]] bool is_awaited(const Reporter& reporter) const;
  /// For all jobs, until `unpark`; nobody probes it. False if there is no room.
  bool park(const PeerId& peer, TimeNs now);
  /// Whatever was said about it, by whichever job, is forgotten. False if it was not parked.
  bool unpark(const PeerId& peer);
  /// Has those parked for all that match probed at once, for example behind a switch that is tried
  /// again.
  template <typename F> void probe_soon(F&& matches, TimeNs now) {
    for (auto& [scope, nids] : parked_for_all_) {
      for (const Nid nid : nids) {
        if (matches(nid)) {
          hasten({nid, scope.first, scope.second}, now);
        }
      }
    }
  }
  void poll(TimeNs now);
  [[nodiscard]] TimeNs next_deadline() const {
    return deadlines_.empty() ? never : deadlines_.begin()->first;
  }
  void reconfigure(const ParkSettings& settings, TimeNs now);

  [[nodiscard]] std::vector<PeerChange> take_changes() { return std::exchange(changes_, {}); }
  /// Rises with everything that changes which peers are parked for whom.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// Parked for this host, in the reporter's job, in a VNI; ascending, at most so many.
  [[nodiscard]] std::vector<Nid> parked_for(const Reporter& host, Vni vni, std::size_t most) const;
  [[nodiscard]] const std::map<PeerId, TroubledPeer>& peers() const { return peers_; }
  [[nodiscard]] const TroubledPeer* find(const PeerId& peer) const;
  /// For all hosts of a scope.
  [[nodiscard]] const std::map<ParkScope, std::set<Nid>>& parked_for_all() const {
    return parked_for_all_;
  }
  [[nodiscard]] std::size_t parked() const { return parked_; }
  [[nodiscard]] const std::array<std::uint64_t, heard_kinds>& heard() const { return heard_; }
  [[nodiscard]] const ParkSettings& settings() const { return settings_; }
  /// Hosts, with each job, that something is remembered of.
  [[nodiscard]] std::size_t reporters() const { return reporters_.size(); }

private:
  using AccountId = std::pair<Nid, std::string>; ///< and its job
  /// What is known of a host that reports.
  struct Account {
    TimeNs window_began;
    std::uint32_t heard = 0; ///< since then
    std::set<PeerId> accused;
  };
  using Entry = std::map<PeerId, TroubledPeer>::iterator;

  Heard count(Heard heard) {
    ++heard_[static_cast<std::size_t>(heard)];
    return heard;
  }
  [[nodiscard]] bool has_allowance(Account& account, std::uint32_t times, TimeNs now) const;
  [[nodiscard]] Entry find_or_add(const PeerId& peer, TimeNs now);
  Voice* voice_of(Entry entry, const Reporter& reporter, TimeNs now);
  void drop_voice(Entry entry, std::size_t i);
  void decide(Entry entry, TimeNs now);
  void begin_parking(Entry entry, TimeNs now);
  void set_for_all(Entry entry, bool for_all);
  void probe_failed(Entry entry, TimeNs now);
  void hasten(const PeerId& peer, TimeNs now);
  void set_deadline(Entry entry, TimeNs at);
  void look_at(Entry entry, TimeNs now);
  void erase(Entry entry, std::string_view why);
  void forget_idle(TimeNs now);

  ParkSettings settings_;
  std::map<PeerId, TroubledPeer> peers_;
  std::set<std::pair<TimeNs, PeerId>> deadlines_;
  std::set<std::pair<TimeNs, PeerId>> failing_; ///< by since when
  std::map<ParkScope, std::set<Nid>> parked_for_all_;
  std::map<std::string, std::size_t> peers_of_; ///< by job
  std::map<AccountId, Account> reporters_;
  std::set<std::pair<TimeNs, AccountId>> windows_; ///< of reporters, by when they began
  std::size_t parked_ = 0;
  std::uint64_t version_;
  std::vector<PeerChange> changes_;
  std::array<std::uint64_t, heard_kinds> heard_{};
};

} // namespace tributary::retransmit
