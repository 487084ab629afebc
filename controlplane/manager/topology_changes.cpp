// What the manager does about changes of the topology.
//
// Planning and storing take notice of them at once. Events, faults and where hosts are follow,
// change by change, until the turn has lasted long enough: a fabric that connects all at once
// brings a hundred thousand of them.
#include "controlplane/manager/manager.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tributary::manager {
namespace {

/// Of one turn, so that a fabric that comes piece by piece does not fill the log with them.
constexpr std::size_t problems_told = 64;

std::string kind_of(const topology::Change& change) {
  using Kind = topology::Change::Kind;
  switch (change.kind) {
  case Kind::link_added:
  case Kind::link_up:
  case Kind::link_down: return "link";
  case Kind::switch_added:
  case Kind::switch_up:
  case Kind::switch_down:
  case Kind::switch_changed: return "switch";
  default: return "host";
  }
}

} // namespace

/// Problems are events, so that whoever follows them need not ask.
void Manager::tell_problems() {
  const std::vector<topology::ProblemNews> news = discovery_.take_news();
  for (std::size_t i = 0; i < news.size(); ++i) {
    if (i == problems_told) {
      events_.tell(
          "problem",
          fmt::format("{} more problems came or went; look at tributaryctl fabric show topology",
                      news.size() - i));
      return;
    }
    const topology::ProblemNews& one = news[i];
    events_.tell(
        "problem", one.there ? one.problem.text : fmt::format("over: {}", one.problem.text),
        {{"problem", std::string(topology::name_of(one.problem.kind))}, {"there", one.there}});
  }
}

bool Manager::handle_topology() {
  const Section section(stalls_, "changes of the topology");
  tell_problems();
  std::vector<topology::Change> changes = discovery_.take_changes();
  if (!changes.empty() || !reachability_changed_.empty()) {
    take_notice(std::move(changes));
  } else if (untold_.empty() && unlocated_.empty()) {
    return false;
  }
  while (!slice_is_over()) {
    if (!locate_next() && !tell_next()) {
      return true;
    }
  }
  environment_.request_reconcile();
  return false;
}

void Manager::take_notice(std::vector<topology::Change> changes) {
  rdma_.topology_changed();
  touched_.note_down(changes);
  switches_.resize(graph().switches().size());
  untold_.push_back({std::move(changes)});
  planning_graph_is_old_ = true;
  ++topology_version_;
  topology::Touched touched = discovery_.take_touched();
  unlocated_.push_back({std::exchange(touched.hosts, {}), true});
  std::set<Nid> reachability;
  for (const topology::SwitchId at : std::exchange(reachability_changed_, {})) {
    for (topology::Port port = 0; port < graph()[at].ports; ++port) {
      if (const auto host = graph().host_at({at, port})) {
        reachability.insert(graph()[*host].nid);
      }
    }
  }
  unlocated_.push_back({std::move(reachability), false});
  store_.touch(std::move(touched));
  topology_changed_at_ = now();
  rebalance_later();
  to_repair_.begin();
  for (const group::GroupId id : std::set(lives_.in_state(trees::State::wanted))) {
    lives_.apply(id, trees::Event::want, now());
  }
}

bool Manager::tell_next() {
  if (untold_.empty()) {
    return false;
  }
  Untold& changes = untold_.front();
  if (changes.next == changes.changes.size()) {
    untold_.pop_front();
    return true;
  }
  topology::Change& change = changes.changes[changes.next++];
  control_.changed(change, now());
  touched_.tell_of(change, kind_of(change));
  return true;
}

bool Manager::locate_next() {
  if (unlocated_.empty()) {
    return false;
  }
  Unlocated& hosts = unlocated_.front();
  if (hosts.nids.empty()) {
    unlocated_.pop_front();
    return true;
  }
  auto nid = hosts.nids.extract(hosts.nids.begin());
  locate(nid.value());
  if (hosts.are_touched) {
    store_.touch(nid.value());
  }
  return true;
}

void Manager::locate_all() {
  while (locate_next()) {
  }
}

void Manager::locate(Nid nid) {
  ports_.look_at(nid);
  const auto host = graph().find_host(nid);
  const bool is_there = host && graph()[*host].up && discovery_.is_connected(graph()[*host].at.at);
  if (is_there && located_.insert(nid.value).second) {
    registry_.located(nid, now());
  } else if (!is_there && located_.erase(nid.value) != 0) {
    registry_.lost(nid);
  }
}

} // namespace tributary::manager
