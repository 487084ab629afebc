#include "controlplane/fabric_controller/topology_control.hpp"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tributary::fabric_controller {
namespace {

/// In one turn, so that a fabric that comes up step by step does not flood the log.
constexpr std::size_t max_problems_reported = 64;

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

/// Problems are events, so that readers need not poll.
void TopologyControl::report_problems() {
  const std::vector<topology::ProblemNews> news = rooms_.discovery.take_news();
  for (std::size_t i = 0; i < news.size(); ++i) {
    if (i == max_problems_reported) {
      rooms_.events.report(
          "problem",
          fmt::format(
              "{} more problems appeared or were solved; see tributaryctl fabric show topology",
              news.size() - i));
      return;
    }
    const topology::ProblemNews& one = news[i];
    rooms_.events.report(
        "problem", one.there ? one.problem.text : fmt::format("over: {}", one.problem.text),
        {{"problem", std::string(topology::name_of(one.problem.kind))}, {"there", one.there}},
        one.there ? turns::Severity::warning : turns::Severity::info);
  }
}

TimeNs TopologyControl::waits_until() const {
  if (rooms_.clock.is_held()) {
    return never; // every switch is rejected
  }
  const TimeNs until = rooms_.clock.started() + timeout_ns_;
  return rooms_.clock.time() < until && !rooms_.discovery.all_connected() ? until : TimeNs{};
}

bool TopologyControl::handle(const turns::Turn& /*turn*/) {
  if (take_notice()) {
    rooms_.switches.resize(graph().switches().size());
    rooms_.turns.controllers().notify(&Controller::fabric_changed);
  }
  return report_changes();
}

bool TopologyControl::take_notice() {
  report_problems();
  std::vector<topology::Change> changes = rooms_.discovery.take_changes();
  if (changes.empty() && reachability_changed_.empty()) {
    return false;
  }
  rooms_.touched.note_down(changes);
  unreported_.push_back({std::move(changes)});
  ++version_;
  topology::Touched touched = rooms_.discovery.take_touched();
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
  rooms_.store.touch(std::move(touched));
  return true;
}

bool TopologyControl::report_changes() {
  if (unreported_.empty() && unlocated_.empty()) {
    return false;
  }
  while (!rooms_.slice.is_over()) {
    if (!locate_next() && !report_next()) {
      return true;
    }
  }
  rooms_.slice.go_on();
  return false;
}

bool TopologyControl::report_next() {
  if (unreported_.empty()) {
    return false;
  }
  Unreported& changes = unreported_.front();
  if (changes.next == changes.changes.size()) {
    unreported_.pop_front();
    return true;
  }
  topology::Change& change = changes.changes[changes.next++];
  rooms_.routes.changed(change, now());
  rooms_.touched.report_change(change, kind_of(change));
  return true;
}

bool TopologyControl::locate_next() {
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
    rooms_.store.touch(nid.value());
  }
  return true;
}

void TopologyControl::locate_all() {
  while (locate_next()) {
  }
}

void TopologyControl::locate(Nid nid) {
  rooms_.turns.controllers().notify(&Controller::host_changed, nid);
  const auto host = graph().find_host(nid);
  const bool is_there =
      host && graph()[*host].up && rooms_.discovery.is_connected(graph()[*host].at.at);
  if (is_there && located_.insert(nid.value).second) {
    rooms_.registry.located(nid, now());
  } else if (!is_there && located_.erase(nid.value) != 0) {
    rooms_.registry.lost(nid);
  }
}

} // namespace tributary::fabric_controller
