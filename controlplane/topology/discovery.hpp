// The live fabric, from what switches report about their ports.
//
//   connected(SwitchHello)  --+                        +--> graph()         what is there
//   report(PortReport)      --+--> what each port      +--> take_changes()  what became of it
//   disconnected(name)      --+    claims to be at     +--> problems()      for people
//   poll(now)               --+    its other end       +--> take_news()     which came and went
//
// Rules, each with the test that shows it in tests/unit/controlplane/topology/discovery_test.cpp.
//
//   1  A switch is its name. It appears when it connects, and its numbers stay when it comes back.
//   2  A link is there when the ports at both its ends are up and each hears the other. What only
//      one end hears is named, and not used.
//   3  A lost control channel changes nothing by itself. The word of a switch without channel no
//      longer counts: a link that it had stays as long as the other end hears it.
//   4  A switch is down when it has no channel and no neighbour hears it. When all that could hear
//      it have lost their channels, too, or nobody could hear it to begin with, it is given
//      `timeout_ns` to come back.
//   5  A port of a switch that has just started, and that is up but has not heard anybody yet, is
//      given `timeout_ns` as well: until then the other end's word decides, and where there is
//      none, what was known before.
//   6  A host is its NID. It hangs where a port's guard says so, or else where a hello is heard; a
//      guard is stronger. Claimed twice, it stays where it is until the claim there ends.
//   7  A host that was down for `host_memory_ns`, and is of no use to anybody, is forgotten. A port
//      without guard brings at most `hosts_per_port` hosts; another one is not taken there until
//      one of them moves or is forgotten. So the table of hosts is bounded by the ports.
//   8  A port carries one link or one host. What was there before is unplugged by what comes:
//      down, its number kept, and the same number when it comes back to the same ports.
//
// What people have to look at is kept up to date port by port: only what an event touches, and what
// has lasted for `timeout_ns`, is examined again. So an event costs what its switch has ports, and
// a quiet fabric tells of its problems by `next_deadline` and `poll` alone.
//
// The final graph does not depend on the order of the reports. Numbers do: they are given in the
// order of appearance and never change (graph.hpp), so the graph can be stored and brought back.
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
  /// As long as a neighbour is remembered that has become silent, at the default interval of
  /// hellos.
  std::uint64_t timeout_ns = 3'500'000'000;
  /// For how long a host is remembered that is down.
  std::uint64_t host_memory_ns = 600'000'000'000;
  /// As many hosts as a port without guard is believed to have brought.
  std::size_t hosts_per_port = 8;
};

/// How a host is. A host says hello while a program of it uses the fabric, so silence alone is no
/// fault: only when somebody counts on the host.
enum class HostState : std::uint8_t {
  up,      ///< heard, or at a port with a guard that is up
  quiet,   ///< its port is up and does not hear it, and it is of no use to anybody
  missing, ///< the same, and it is in use
  down,    ///< its port is down
};
[[nodiscard]] std::string_view name_of(HostState state);

/// Something became different. One of the numbers says which thing, by `kind`: a host's is its NID,
/// for hosts' numbers in the graph change when one is forgotten, and a change may be told later.
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
    host_moved,     ///< hangs on another port now; up
    host_renamed,   ///< a hello told its name
    host_forgotten, ///< was down for long; not in the graph any more
  };
  Kind kind{};
  SwitchId at{};
  LinkId link{};
  Nid nid{};
  std::string host{}; ///< its name then
  HostState host_state{};
  std::string
      text; ///< for a person: "link leaf0 port 3 - spine0 port 1 is down: leaf0 port 3 is down"
};
[[nodiscard]] std::string_view name_of(Change::Kind kind);

/// Something that a person has to look at, for as long as it is there.
struct Problem {
  enum class Kind : std::uint8_t {
    duplicate_switch_name, ///< a neighbour calls itself like a switch, and has another guid
    duplicate_switch_guid, ///< two switches of different names have the same guid
    nid_conflict,          ///< a NID at two ports, or a host's hello that contradicts the guard
    one_sided_link,        ///< heard at one end only
    unknown_neighbour,     ///< heard, but no switch of that name ever connected
    loop,                  ///< both ends of a link in one switch
    switch_on_edge_port,   ///< a switch is heard on a port with a guard for a host
    host_name_conflict,    ///< two hosts call themselves the same
    too_many_hosts,        ///< a port without guard brings one host after the other
  };
  Kind kind{};
  std::string text;
  friend auto operator<=>(const Problem&, const Problem&) = default;
};
[[nodiscard]] std::string_view name_of(Problem::Kind kind);

/// A problem came, or is over.
struct ProblemNews {
  Problem problem;
  bool there = true;
};

class Discovery {
public:
  explicit Discovery(const DiscoverySettings& settings = {});

  /// Which hosts are in use. They are not forgotten, however long they are down; none is in use
  /// unless told otherwise.
  void remember(std::function<bool(Nid)> is_in_use) { is_in_use_ = std::move(is_in_use); }

  /// Begins with the graph as it was last seen: all is as it was then, and each switch is given
  /// `timeout_ns` to connect or be heard. Before anything else; gives no changes.
  void restore(Graph last_seen, TimeNs now);

  // ---- what happens ----

  /// A switch has a channel; also when it had one already.
  void connected(const control::SwitchHello& hello, TimeNs now);
  void disconnected(std::string_view name, TimeNs now);
  /// Ports of a switch that is connected; of others it is ignored.
  void report(std::string_view name, const control::PortReport& ports, TimeNs now);
  /// Lets time-outs expire, also with what is about to be a problem.
  void poll(TimeNs now);
  /// When `poll` has something to do next; `never` when only an event can bring that.
  [[nodiscard]] TimeNs next_deadline() const;

  // ---- what follows ----

  [[nodiscard]] const Graph& graph() const { return graph_; }
  /// Since the last call, in order.
  [[nodiscard]] std::vector<Change> take_changes();
  /// What of the graph is not as it was at the last call.
  [[nodiscard]] Touched take_touched() { return graph_.take_touched(); }
  /// Those that are there now, in a fixed order. What may be over in a moment, because the other
  /// end has still to say the same, becomes a problem only after `timeout_ns`.
  [[nodiscard]] std::vector<Problem> problems() const;
  /// The same, from a look at everything that is known. Slow: tests compare both.
  [[nodiscard]] std::vector<Problem> problems_by_full_search() const;
  [[nodiscard]] std::size_t problem_count() const { return problem_count_; }
  [[nodiscard]] std::uint64_t hosts_forgotten() const { return hosts_forgotten_; }
  /// How often a port brought a host that was one too many.
  [[nodiscard]] std::uint64_t hosts_refused() const { return hosts_refused_; }
  /// Which came and went since the last call, in order.
  [[nodiscard]] std::vector<ProblemNews> take_news();
  /// Another port than the host's own that says now that the host is there, and is as believable: a
  /// port with a guard is believed before any without.
  [[nodiscard]] std::optional<Attachment> other_place_of(HostId host) const;
  [[nodiscard]] HostState state_of(HostId h) const;
  /// Since when it is up, or is not; since `restore` for one that has not changed since.
  [[nodiscard]] TimeNs up_or_down_since(HostId h) const {
    return memories_.at(graph_[h].nid).since;
  }
  [[nodiscard]] bool is_connected(SwitchId s) const { return stations_[s.value].connected; }
  /// Whether every switch that is up has a channel.
  [[nodiscard]] bool all_connected() const { return silent_.empty(); }
  /// As `next_deadline`, from a look at everything. Slow: tests compare both.
  [[nodiscard]] TimeNs next_deadline_by_full_search() const;
  /// What a port said last; null when it never did.
  [[nodiscard]] const control::Port* port(Attachment at) const;

private:
  /// The last word of one port.
  struct PortWord {
    control::Port said;
    TimeNs since{}; ///< when what it hears became what it is
    /// Until when it is excused for having heard nobody yet (rule 5).
    TimeNs excused_until{};
  };
  /// One switch, by SwitchId.
  struct Station {
    bool connected = false;
    bool was_heard = false; ///< by a connected neighbour, since the channel was lost
    std::uint64_t guid = 0; ///< as it says; that of the graph is 0 when another switch has it
    std::optional<std::uint64_t> boot;
    TimeNs disconnected_at{};
    TimeNs due = never; ///< in `silent_due_`
    std::map<Port, PortWord> ports;
  };
  /// What one end says about a link.
  enum class Word : std::uint8_t {
    yes,     ///< this is my other end
    was_yes, ///< it was when it could tell last
    was_no,
    no,
  };
  /// Where a host could be.
  struct Claim {
    Nid nid;
    bool guarded = false;
    bool up = false;
    std::string_view name; ///< "" when no hello told it
  };
  /// What problems are found at: a port, a NID, or the guid of several switches.
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
  /// When a silent switch is down may be another time now.
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
  /// Ports that hear a switch of this name, until the visitor says true; whether one did.
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
  /// Whether this port hears this switch, whichever port of it.
  [[nodiscard]] bool names(const control::Port& said, Attachment at, SwitchId s) const;

  // What hangs on a port: discovery_ports.cpp.
  void reconcile_port(Attachment at);
  void reconcile_link(Attachment at);
  void reconcile_pair(Attachment a, Attachment b);
  void reconcile_host(Nid nid);
  void put_host(const Claim& claim, Attachment at);
  /// Whether the port has brought as many hosts as it may.
  [[nodiscard]] bool is_crowded(Attachment at) const;
  /// A host came, moved, or is up or down now.
  void note_host(HostId h);
  /// A host less is counted there.
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

  // For people: discovery_problems.cpp.
  class Findings;
  /// What is found at this port, and at those that hear it, may be something else now.
  void suspect(Attachment at);
  /// The same for all ports of a switch, what they claim, and the ports that hear it.
  void suspect_all_of(SwitchId s);
  void suspect(Nid nid) { suspects_.insert({At::nid, nid.value, 0}); }
  void suspect_guid(std::uint64_t guid);
  /// Of hosts that call themselves so.
  void suspect_namesakes(std::string_view name);
  /// Looks at all suspects again, and at when silent switches are down.
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
  /// By NID: ports that say that the host hangs there.
  std::map<std::uint32_t, std::set<Attachment>> claims_;
  /// By name that a host tells: ports that hear it.
  std::map<std::string, std::set<Attachment>, std::less<>> host_names_;
  /// Of each host of the graph: where it counts, and when it is forgotten.
  struct Memory {
    Attachment at;
    TimeNs until = never;
    TimeNs since{}; ///< when it became up or down
  };
  std::map<Nid, Memory> memories_;
  std::map<Attachment, std::size_t> hosts_at_; ///< up or down
  std::set<std::pair<TimeNs, Nid>> forgetting_;
  std::set<Attachment> crowded_; ///< brought too many, and have not less by now
  std::function<bool(Nid)> is_in_use_;
  std::uint64_t hosts_forgotten_ = 0;
  std::uint64_t hosts_refused_ = 0;
  std::set<std::pair<TimeNs, Attachment>> excused_;  ///< by the end of the excuse
  std::set<SwitchId> silent_;                        ///< up, without channel
  std::set<std::pair<TimeNs, SwitchId>> silent_due_; ///< by when they are down
  std::set<SwitchId> doubted_;
  std::vector<Change> changes_;

  /// Of guids that several connected switches may have.
  std::map<std::uint64_t, std::set<SwitchId>> by_guid_;
  std::map<Subject, std::vector<Problem>> problems_; ///< none of the lists is empty
  std::size_t problem_count_ = 0;
  std::set<Subject> suspects_;
  /// Ports by when what they hear has lasted long enough to be a problem.
  std::set<std::pair<TimeNs, Attachment>> ripening_;
  std::vector<ProblemNews> news_;
};

} // namespace tributary::topology
