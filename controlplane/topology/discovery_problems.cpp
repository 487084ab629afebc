// Problems for people to look at.
#include "controlplane/topology/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace tributary::topology {

/// The check of one subject.
class Discovery::Findings {
public:
  explicit Findings(const Discovery& discovery) : d_(discovery) {}

  std::vector<Problem> at(const Subject& subject) {
    switch (subject.what) {
    case At::port:
      look_at(Attachment{SwitchId{static_cast<std::uint32_t>(subject.number)}, subject.port});
      break;
    case At::nid: look_at(Nid{static_cast<std::uint32_t>(subject.number)}); break;
    case At::guid: look_at_guid(subject.number); break;
    }
    return std::exchange(found_, {});
  }

private:
  template <typename... Args>
  void add(Problem::Kind kind, fmt::format_string<Args...> text, Args&&... args) {
    found_.push_back({kind, fmt::format(text, std::forward<Args>(args)...)});
  }
  std::string name(Attachment at) const { return d_.graph_.describe(at); }
  /// Whether the state has lasted long enough to be a problem.
  bool lasts(const PortWord& word) const {
    return elapsed_ns(d_.now_, word.since) >= d_.settings_.timeout_ns;
  }

  void look_at_guid(std::uint64_t guid) {
    const auto holders = d_.by_guid_.find(guid);
    if (holders == d_.by_guid_.end()) {
      return;
    }
    std::optional<SwitchId> first;
    for (const SwitchId s : holders->second) {
      if (!d_.stations_[s.value].connected) {
        continue;
      }
      if (first) {
        add(Problem::Kind::duplicate_switch_guid,
            "switches {} and {} both have the guid {:#018x}; give one another `guid`, or another "
            "name, in its file",
            d_.graph_[*first].name, d_.graph_[s].name, guid);
      } else {
        first = s;
      }
    }
  }

  void look_at(Attachment at) {
    const PortWord* known = d_.word_at(at);
    if (known == nullptr || !d_.stations_[at.at.value].connected) {
      return;
    }
    const PortWord& word = *known;
    const control::Port& said = word.said;
    if (d_.crowded_.contains(at)) {
      add(Problem::Kind::too_many_hosts,
          "{} has announced more than {} hosts, and no more are accepted there; check what is "
          "connected, or give the port the `nid` of its host",
          name(at), d_.settings_.hosts_per_port);
    }
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
    look_at_link(at, word);
  }

  void look_at_link(Attachment at, const PortWord& word) {
    const control::Neighbour& other = word.said.neighbour();
    const auto s = d_.graph_.find_switch(other.name());
    if (s == at.at) {
      if (other.port() >= at.port) {
        add(Problem::Kind::loop, "{} hears {} port {}: a link with both ends in one switch",
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
      add(Problem::Kind::one_sided_link, "{} hears {} port {}, and {} has only {} ports", name(at),
          other.name(), other.port(), other.name(), d_.graph_[*s].ports);
      return;
    }
    look_at_other_end(at, word, *peer);
  }

  void look_at_other_end(Attachment at, const PortWord& word, Attachment peer) {
    if (!lasts(word) || d_.is_excused(peer)) {
      return;
    }
    if (const auto link = d_.graph_.link_at(at); link && d_.graph_[*link].up) {
      const Attachment* const ends = d_.graph_[*link].ends;
      if (ends[0] == peer || ends[1] == peer) {
        return;
      }
    }
    if (!d_.stations_[peer.at.value].connected) {
      add(Problem::Kind::one_sided_link,
          "{} hears {}, and {} has no control channel: what it receives is unknown", name(at),
          name(peer), d_.graph_[peer.at].name);
      return;
    }
    const PortWord* there = d_.word_at(peer);
    if (there != nullptr && !lasts(*there)) {
      return;
    }
    add(Problem::Kind::one_sided_link, "{} hears {}, but {}", name(at), name(peer),
        d_.what_is_wrong(peer, at));
  }

  void look_at(Nid nid) {
    const auto claims = d_.claims_.find(nid.value);
    if (claims == d_.claims_.end()) {
      return;
    }
    std::vector<Attachment> live;
    for (const Attachment at : claims->second) {
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

void Discovery::suspect(Attachment at) {
  suspects_.insert(subject(at));
  if (const auto heard = heard_.find(graph_[at.at].name); heard != heard_.end()) {
    if (const auto by = heard->second.find(at.port); by != heard->second.end()) {
      for (const Attachment hearer : by->second) {
        suspects_.insert(subject(hearer));
      }
    }
  }
  if (const auto claim = claim_at(at)) {
    suspect(claim->nid);
  }
  if (const auto link = graph_.link_at(at)) {
    for (const Attachment end : graph_[*link].ends) {
      doubt(end.at);
    }
  }
}

void Discovery::suspect_all_of(SwitchId s) {
  for (const auto& [port, word] : stations_[s.value].ports) {
    suspect(Attachment{s, port});
  }
  for_each_hearer(graph_[s].name, [&](Attachment by) {
    suspects_.insert(subject(by));
    return false;
  });
}

void Discovery::suspect_guid(std::uint64_t guid) {
  if (guid != 0) {
    suspects_.insert({At::guid, guid, 0});
  }
}

void Discovery::suspect_namesakes(std::string_view name) {
  if (const auto found = host_names_.find(name); found != host_names_.end()) {
    for (const Attachment at : found->second) {
      suspects_.insert(subject(at));
      if (const auto claim = claim_at(at)) {
        suspect(claim->nid);
      }
    }
  }
}

void Discovery::examine() {
  resolve_doubts();
  Findings findings(*this);
  for (const Subject& suspect : std::exchange(suspects_, {})) {
    std::vector<Problem> now_there = findings.at(suspect);
    std::ranges::sort(now_there);
    const auto known = problems_.find(suspect);
    if (known == problems_.end() && now_there.empty()) {
      continue;
    }
    const std::vector<Problem> before =
        known == problems_.end() ? std::vector<Problem>() : std::move(known->second);
    std::vector<Problem> ended;
    std::vector<Problem> begun;
    std::ranges::set_difference(before, now_there, std::back_inserter(ended));
    std::ranges::set_difference(now_there, before, std::back_inserter(begun));
    for (Problem& problem : ended) {
      news_.push_back({std::move(problem), false});
    }
    for (Problem& problem : begun) {
      news_.push_back({std::move(problem), true});
    }
    problem_count_ = problem_count_ - before.size() + now_there.size();
    if (now_there.empty()) {
      problems_.erase(suspect);
    } else {
      problems_[suspect] = std::move(now_there);
    }
  }
}

std::vector<ProblemNews> Discovery::take_news() { return std::exchange(news_, {}); }

std::vector<Problem> Discovery::problems() const {
  std::vector<Problem> all;
  all.reserve(problem_count_);
  for (const auto& [subject, found] : problems_) {
    all.insert(all.end(), found.begin(), found.end());
  }
  std::ranges::sort(all);
  return all;
}

} // namespace tributary::topology
