// The live fabric, from what switches report about their ports.
//
//   connected(SwitchHello)  --+                        +--> graph()         the fabric
//   report(PortReport)      --+--> what each port      +--> take_changes()  its changes
//   disconnected(name)      --+    claims to be at     +--> problems()      for people
//   poll(now)               --+    its other end       +--> take_news()     begun and ended ones
//
// Rules, each shown by a test in tests/unit/controlplane/topology/discovery_test.cpp.
//
//   1  A switch is identified by its name. It appears when it connects, and keeps its numbers when
//      it reconnects.
//   2  A link exists when the ports at both its ends are up and each hears the other. A link that
//      only one end hears is reported, and not used.
//   3  A lost control channel alone changes nothing. The reports of a switch without channel no
//      longer count: its link stays as long as the other end hears it.
//   4  A switch is down when it has no channel and no neighbour hears it. When all that could hear
//      it have lost their channels, too, or no neighbour could hear it to begin with, it has
//      `timeout_ns` to return.
//   5  A port of a switch that has just started, and that is up but has not heard a neighbour yet,
//      has `timeout_ns` as well: until then the other end's report decides, or without one, the
//      previous state.
//   6  A host is identified by its NID. Its place is the port whose guard names it, or else the
//      port that hears its hello. Claimed twice, it stays in place until the claim there ends.
//   7  A host that was down for `host_memory_ns`, and is not in use, is forgotten. A port without
//      guard has at most `hosts_per_port` hosts; further ones are refused there until one of them
//      moves or is forgotten. So the table of hosts is bounded by the ports.
//   8  A port carries one link or one host. A new one unplugs the previous one: that is down, its
//      number is kept, and it is the same when it returns to the same ports.
//
// Problems for people are updated port by port: only ports affected by an event, or unchanged for
// `timeout_ns`, are examined again. So the cost of an event is bounded by the ports of its switch,
// and a quiet fabric reports its problems through `next_deadline` and `poll` alone.
//
// The final graph does not depend on the order of the reports. Numbers do: they are assigned in the
// order of appearance and never change (graph.hpp), so the graph can be stored and restored.
//
// Pure: no clock, no I/O, one thread at a time.
#pragma once

#include "controlplane/topology/graph.hpp"
#include "tributary/control.pb.h"
#include "tributary/types.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::topology {

struct DiscoverySettings {
  /// How long a silent neighbour is remembered, at the default interval of hellos.
  std::uint64_t timeout_ns = 3'500'000'000;
  /// How long a host that is down is remembered.
  std::uint64_t host_memory_ns = 600'000'000'000;
  /// Most hosts accepted at a port without guard.
  std::size_t hosts_per_port = 8;
};

/// State of a host. A host sends hello while one of its programs uses the fabric, so silence alone
/// is not a fault: only if the host is in use.
enum class HostState : std::uint8_t {
  up,      ///< heard, or at a port with a guard that is up
  quiet,   ///< its port is up and does not hear it, and it is not in use
  missing, ///< the same, and it is in use
  down,    ///< its port is down
};
[[nodiscard]] std::string_view name_of(HostState state);

/// One change. One of the numbers identifies the subject, by `kind`: a host's is its NID, because
/// hosts' numbers in the graph change when one is forgotten, and a change may be read later.
struct Change {
  enum class Kind : std::uint8_t {
    switch_added, ///< new, and up
    switch_up,
    switch_down,
    switch_changed, ///< has another guid or another number of ports
    link_added,     ///< new, and up
    link_up,
    link_down,
    host_added, ///< new, and up
    host_up,
    host_down,      ///< any state but up
    host_moved,     ///< is attached to another port now; up
    host_renamed,   ///< a hello carried its name
    host_forgotten, ///< was down for long; no longer in the graph
  };
  Kind kind{};
  SwitchId at{};
  LinkId link{};
  Nid nid{};
  std::string host{}; ///< its name at that time
  HostState host_state{};
  std::string
      text; ///< for a person: "link leaf0 port 3 - spine0 port 1 is down: leaf0 port 3 is down"
};
[[nodiscard]] std::string_view name_of(Change::Kind kind);

/// A state that a person has to look at, as long as it lasts.
struct Problem {
  enum class Kind : std::uint8_t {
    duplicate_switch_name, ///< a neighbour uses the name of a switch, with another guid
    duplicate_switch_guid, ///< two switches of different names have the same guid
    nid_conflict,          ///< a NID at two ports, or a host's hello that contradicts the guard
    one_sided_link,        ///< heard at one end only
    unknown_neighbour,     ///< heard, but no switch of that name ever connected
    loop,                  ///< both ends of a link in one switch
    switch_on_edge_port,   ///< a switch is heard on a port with a guard for a host
    host_name_conflict,    ///< two hosts use the same name
    too_many_hosts,        ///< a port without guard has more and more hosts
  };
  Kind kind{};
  std::string text;
  friend auto operator<=>(const Problem&, const Problem&) = default;
};
[[nodiscard]] std::string_view name_of(Problem::Kind kind);

/// A problem has begun, or has ended.
struct ProblemNews {
  Problem problem;
  bool there = true;
};

class Discovery {
public:
  explicit Discovery(const DiscoverySettings& settings = {});

  /// Sets which hosts are in use; none by default. They are not forgotten, however long they are
  /// down.
  void remember(std::function<bool(Nid)> is_in_use) { is_in_use_ = std::move(is_in_use); }

  /// Starts from the last stored graph: its state is assumed, and each switch has `timeout_ns` to
  /// connect or be heard. Call it first; it makes no changes.
  void restore(Graph last_seen, TimeNs now);

  // ---- events ----

  /// A switch has opened a channel; it may have had one already.
  void connected(const control::SwitchHello& hello, TimeNs now);
  void disconnected(std::string_view name, TimeNs now);
  /// Ports of a connected switch; ignored for others.
  void report(std::string_view name, const control::PortReport& ports, TimeNs now);
  /// Processes time-outs, including problems that are about to begin.
  void poll(TimeNs now);
  /// When `poll` has to be called; `never` when only an event can change anything.
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- results ----

  [[nodiscard]] const Graph& graph() const { return graph_; }
  /// Since the last call, in order.
  [[nodiscard]] std::vector<Change> take_changes();
  /// The parts of the graph that changed since the last call.
  [[nodiscard]] Touched take_touched() { return graph_.take_touched(); }
  /// Current problems, in a fixed order. A state that may end in a moment, because the other end
  /// has not reported yet, becomes a problem only after `timeout_ns`.
  [[nodiscard]] std::vector<Problem> problems() const;
  [[nodiscard]] std::size_t problem_count() const { return problem_count_; }
  [[nodiscard]] std::uint64_t hosts_forgotten() const { return hosts_forgotten_; }
  /// How often a port had a host beyond its limit.
  [[nodiscard]] std::uint64_t hosts_refused() const { return hosts_refused_; }
  /// Problems that began and ended since the last call, in order.
  [[nodiscard]] std::vector<ProblemNews> take_news();
  /// Another port that claims the host now, with equal credibility: a port with a guard precedes
  /// any without.
  [[nodiscard]] std::optional<Attachment> other_place_of(HostId host) const;
  [[nodiscard]] HostState state_of(HostId h) const;
  /// When it last went up or down; without a change since then, the time of `restore`.
  [[nodiscard]] TimeNs up_or_down_since(HostId h) const {
    return memories_.at(graph_[h].nid).since;
  }
  [[nodiscard]] bool is_connected(SwitchId s) const { return stations_[s.value].connected; }
  /// Whether every switch that is up has a channel.
  [[nodiscard]] bool all_connected() const { return silent_.empty(); }
  /// The last report of a port; null without any.
  [[nodiscard]] const control::Port* port(Attachment at) const;

private:
  friend struct FullSearch; ///< computes from the whole state, in tests

  /// The last report of one port.
  struct PortWord {
    control::Port said;
    TimeNs since{}; ///< start of what it hears now
    /// Until when it may not have heard a neighbour yet (rule 5).
    TimeNs excused_until{};
  };
  /// One switch, by SwitchId.
  struct Station {
    bool connected = false;
    bool was_heard = false; ///< by a connected neighbour, since the channel was lost
    std::uint64_t guid = 0; ///< as reported; that of the graph is 0 when another switch has it
    std::optional<std::uint64_t> boot;
    TimeNs disconnected_at{};
    TimeNs due = never; ///< in `silent_due_`
    std::map<Port, PortWord> ports;
  };
  /// The report of one end on a link.
  enum class Word : std::uint8_t {
    yes,     ///< it is the other end
    was_yes, ///< it was so at its last valid report
    was_no,
    no,
  };
  /// A possible place of a host.
  struct Claim {
    Nid nid;
    bool guarded = false;
    bool up = false;
    std::string_view name; ///< "" when no hello carried it
  };
  /// The key of a problem: a port, a NID, or the guid of several switches.
  enum class At : std::uint8_t { port, nid, guid };
  struct Subject {
    At what{};
    std::uint64_t number = 0; ///< of the switch, the NID, or the guid
    Port port = 0;
    friend auto operator<=>(const Subject&, const Subject&) = default;
  };
  static Subject subject(Attachment at) { return {At::port, at.at.value, at.port}; }

  // Stations: discovery.cpp.
  SwitchId station_of(const control::SwitchHello& hello);
  void take_guid(SwitchId s, std::uint64_t guid);
  void take_port(Attachment at, const control::Port& said, TimeNs excused_until);
  void remove_ports_from(SwitchId s, Port first);
  void reconcile_switch(SwitchId s);
  /// The time when a silent switch is down may have changed.
  void doubt(SwitchId s) {
    if (!stations_[s.value].connected) {
      doubted_.insert(s);
    }
  }
  void resolve_doubts();
  void reconcile_switches_heard_by(SwitchId s);
  [[nodiscard]] TimeNs down_at(SwitchId s) const;
  [[nodiscard]] bool is_heard_now(SwitchId s) const;
  [[nodiscard]] bool is_excused(Attachment at) const;
  [[nodiscard]] std::vector<Attachment> hearers_of(std::string_view name) const;
  /// Visits ports that hear a switch of this name, until `visit` returns true; returns whether it
  /// did.
  template <typename Visit> bool for_each_hearer(std::string_view name, Visit&& visit) const {
    const auto heard = heard_.find(name);
    if (heard == heard_.end()) {
      return false;
    }
    for (const auto& [port, hearers] : heard->second) {
      for (const Attachment by : hearers) {
        if (visit(by)) {
          return true;
        }
      }
    }
    return false;
  }
  [[nodiscard]] const PortWord* word_at(Attachment at) const;
  /// Whether this port hears any port of this switch.
  [[nodiscard]] bool names(const control::Port& said, Attachment at, SwitchId s) const;

  // Elements at a port: discovery_ports.cpp.
  void reconcile_port(Attachment at);
  void reconcile_link(Attachment at);
  void reconcile_pair(Attachment a, Attachment b);
  void reconcile_host(Nid nid);
  void put_host(const Claim& claim, Attachment at);
  /// Whether the port has its maximum number of hosts.
  [[nodiscard]] bool is_crowded(Attachment at) const;
  /// A host was learned, moved, or has changed its state.
  void note_host(HostId h);
  /// One host less counts there.
  void leave_port(Attachment at);
  void forget_hosts();
  void forget_host(HostId h);
  void name_host(HostId h, const Claim& claim);
  void make_room(Attachment at);
  void set_link(LinkId c, bool up, const std::string& why);
  [[nodiscard]] std::optional<Attachment> peer_of(Attachment at) const;
  [[nodiscard]] Word word_of(Attachment at, Attachment about) const;
  [[nodiscard]] std::optional<Claim> claim_at(Attachment at) const;
  [[nodiscard]] std::optional<Attachment> best_claim(Nid nid) const;
  [[nodiscard]] std::string what_is_wrong(Attachment at, Attachment about) const;
  [[nodiscard]] std::uint32_t speed_of(Attachment a, Attachment b) const;

  // Problems: discovery_problems.cpp.
  class Findings;
  /// Problems at this port, and at those that hear it, have to be checked again.
  void suspect(Attachment at);
  /// The same for all ports of a switch, their claims, and the ports that hear it.
  void suspect_all_of(SwitchId s);
  void suspect(Nid nid) { suspects_.insert({At::nid, nid.value, 0}); }
  void suspect_guid(std::uint64_t guid);
  /// For hosts that use this name.
  void suspect_namesakes(std::string_view name);
  /// Checks all suspects again, and the times when silent switches are down.
  void examine();
  [[nodiscard]] TimeNs ripe_at(const PortWord& word) const {
    return word.since + settings_.timeout_ns;
  }

  void changed(Change::Kind kind, SwitchId s, std::string text) {
    changes_.push_back({.kind = kind, .at = s, .text = std::move(text)});
  }
  void changed(Change::Kind kind, LinkId c, std::string text) {
    changes_.push_back({.kind = kind, .link = c, .text = std::move(text)});
  }
  void changed(Change::Kind kind, const Host& host, std::string text) {
    changes_.push_back({.kind = kind, .nid = host.nid, .host = host.name, .text = std::move(text)});
  }

  DiscoverySettings settings_;
  TimeNs now_{};
  Graph graph_;
  std::vector<Station> stations_; ///< by SwitchId
  /// By name of a switch, and number of its port: ports that hear it.
  std::map<std::string, std::map<std::uint32_t, std::set<Attachment>>, std::less<>> heard_;
  /// By NID: ports that claim the host.
  std::map<std::uint32_t, std::set<Attachment>> claims_;
  /// By name that a host reports: ports that hear it.
  std::map<std::string, std::set<Attachment>, std::less<>> host_names_;
  /// For each host of the graph: its place, and when it is forgotten.
  struct Memory {
    Attachment at;
    TimeNs until = never;
    TimeNs since{}; ///< when it became up or down
  };
  std::map<Nid, Memory> memories_;
  std::map<Attachment, std::size_t> hosts_at_; ///< up or down
  std::set<std::pair<TimeNs, Nid>> forgetting_;
  std::set<Attachment> crowded_; ///< ports with too many hosts
  std::function<bool(Nid)> is_in_use_;
  std::uint64_t hosts_forgotten_ = 0;
  std::uint64_t hosts_refused_ = 0;
  std::set<std::pair<TimeNs, Attachment>> excused_;  ///< by end of the time allowed (rule 5)
  std::set<SwitchId> silent_;                        ///< up, without channel
  std::set<std::pair<TimeNs, SwitchId>> silent_due_; ///< by when they are down
  std::set<SwitchId> doubted_;
  std::vector<Change> changes_;

  /// Guids that several connected switches may have.
  std::map<std::uint64_t, std::set<SwitchId>> by_guid_;
  std::map<Subject, std::vector<Problem>> problems_; ///< none of the lists is empty
  std::size_t problem_count_ = 0;
  std::set<Subject> suspects_;
  /// Ports by the time at which what they hear becomes a problem.
  std::set<std::pair<TimeNs, Attachment>> ripening_;
  std::vector<ProblemNews> news_;
};

} // namespace tributary::topology
