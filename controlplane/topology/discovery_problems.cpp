// What people have to look at.
#include "controlplane/topology/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tributary::topology {

/// One look at everything that is known.
class Discovery::Findings {
public:
  explicit Findings(const Discovery& discovery) : d_(discovery) {}

  std::vector<Problem> run() {
    std::map<std::uint64_t, SwitchId> by_guid;
    for (std::size_t i = 0; i < d_.stations_.size(); ++i) {
      const SwitchId s{static_cast<std::uint32_t>(i)};
      const Station& station = d_.stations_[i];
      if (!station.connected) {
        continue;
      }
      if (station.guid != 0) {
        if (const auto [first, added] = by_guid.emplace(station.guid, s); !added) {
          add(Problem::Kind::duplicate_switch_guid,
              "switches {} and {} both have the guid {:#018x}; give one another `guid`, or another "
              "name, in its file",
              d_.graph_[first->second].name, d_.graph_[s].name, station.guid);
        }
      }
      for (const auto& [port, word] : station.ports) {
        look_at({s, port}, word);
      }
    }
    for (const auto& [nid, claims] : d_.claims_) {
      look_at(Nid{nid}, claims);
    }
    std::ranges::sort(found_);
    return std::move(found_);
  }

private:
  template <typename... Args>
  void add(Problem::Kind kind, fmt::format_string<Args...> text, Args&&... args) {
    found_.push_back({kind, fmt::format(text, std::forward<Args>(args)...)});
  }
  std::string name(Attachment at) const { return d_.graph_.describe(at); }
  /// Whether it has been so for long enough to be no passing state.
  bool lasts(const PortWord& word) const {
    return elapsed_ns(d_.now_, word.since) >= d_.settings_.patience_ns;
  }

  void look_at(Attachment at, const PortWord& word) {
    const control::Port& said = word.said;
    const control::Neighbour& other = said.neighbour();
    if (!said.up() || !said.has_neighbour()) {
      return;
    }
    if (other.has_nid()) {
      if (said.has_nid() && said.nid() != other.nid()) {
        add(Problem::Kind::nid_conflict,
            "{} is for the host with NID {}, and hears host {} with NID {}; correct the port's "
            "`nid`, or plug in the right host",
            name(at), said.nid(), other.name(), other.nid());
      }
      return;
    }
    if (said.has_nid()) {
      add(Problem::Kind::switch_on_edge_port,
          "{} is for the host with NID {}, and hears switch {} port {}; remove the port's `nid`, "
          "or "
          "plug in the host",
          name(at), said.nid(), other.name(), other.port());
      return;
    }
    look_at_cable(at, word);
  }

  void look_at_cable(Attachment at, const PortWord& word) {
    const control::Neighbour& other = word.said.neighbour();
    const auto s = d_.graph_.find_switch(other.name());
    if (s == at.at) {
      if (other.port() >= at.port) {
        add(Problem::Kind::loop, "{} hears {} port {}: a cable with both ends in one switch",
            name(at), other.name(), other.port());
      }
      return;
    }
    if (!s) {
      if (lasts(word)) {
        add(Problem::Kind::unknown_neighbour,
            "{} hears switch {} port {}, and no switch of this name has ever connected", name(at),
            other.name(), other.port());
      }
      return;
    }
    if (!d_.names(word.said, at, *s)) {
      add(Problem::Kind::duplicate_switch_name,
          "{} hears a switch {} with the guid {:#018x}, and another one of that name has {:#018x}; "
          "names of switches must differ",
          name(at), other.name(), other.guid(), d_.stations_[s->value].guid);
      return;
    }
    const auto peer = d_.peer_of(at);
    if (!peer) {
      add(Problem::Kind::one_sided_cable, "{} hears {} port {}, and {} has only {} ports", name(at),
          other.name(), other.port(), other.name(), d_.graph_[*s].ports);
      return;
    }
    look_at_other_end(at, word, *peer);
  }

  void look_at_other_end(Attachment at, const PortWord& word, Attachment peer) {
    const auto cable = d_.graph_.find_cable(at, peer);
    if (!lasts(word) || d_.is_excused(peer) || (cable && d_.graph_[*cable].up)) {
      return;
    }
    if (!d_.stations_[peer.at.value].connected) {
      add(Problem::Kind::one_sided_cable,
          "{} hears {}, and {} has no control channel: nobody knows what it hears", name(at),
          name(peer), d_.graph_[peer.at].name);
      return;
    }
    const PortWord* there = d_.word_at(peer);
    if (there != nullptr && !lasts(*there)) {
      return;
    }
    add(Problem::Kind::one_sided_cable, "{} hears {}, but {}", name(at), name(peer),
        d_.what_is_wrong(peer, at));
  }

  void look_at(Nid nid, const std::set<Attachment>& claims) {
    std::vector<Attachment> live;
    for (const Attachment at : claims) {
      if (d_.stations_[at.at.value].connected && d_.claim_at(at)->up && lasts(*d_.word_at(at))) {
        live.push_back(at);
      }
    }
    const auto host = d_.graph_.find_host(nid);
    for (std::size_t i = 1; i < live.size(); ++i) {
      add(Problem::Kind::nid_conflict,
          "NID {} is at {} and at {}; two hosts have the same NID, or one of the ports' `nid` is "
          "wrong{}",
          nid.value, name(live[0]), name(live[i]),
          host ? fmt::format(". Frames for it go to {}", name(d_.graph_[*host].at)) : "");
    }
    for (const Attachment at : live) {
      const auto claim = d_.claim_at(at);
      if (!claim->name.empty() && host && d_.graph_[*host].name != claim->name) {
        if (const auto holder = d_.graph_.find_host(claim->name)) {
          add(Problem::Kind::host_name_conflict,
              "the hosts with NID {} and NID {} both call themselves {}; the latter is called {}",
              d_.graph_[*holder].nid.value, nid.value, claim->name, d_.graph_[*host].name);
        }
      }
    }
  }

  const Discovery& d_;
  std::vector<Problem> found_;
};

std::vector<Problem> Discovery::problems() const { return Findings(*this).run(); }

} // namespace tributary::topology
