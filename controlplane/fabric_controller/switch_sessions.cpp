#include "controlplane/fabric_controller/switch_sessions.hpp"

#include "controlplane/southbound/protocol/messages.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace tributary::fabric_controller {

std::span<const std::string_view> SwitchSessions::after() const {
  static constexpr std::string_view names[] = {"topology"};
  return names;
}

std::optional<std::string> SwitchSessions::connected(transaction::SessionNumber session,
                                                     const control::SwitchHello& hello) {
  const turns::Section section(rooms_.stalls, "a switch that connects");
  if (hello.name().empty()) {
    return "a switch must have a name";
  }
  if (!let_go_.empty()) {
    return let_go_;
  }
  const bool led = !rooms_.fence.is_superseded();
  if (auto why = rooms_.fence.refuse(hello)) {
    if (led && rooms_.fence.is_superseded()) {
      end_all(*why);
      rooms_.turns.controllers().notify(&Controller::superseded, rooms_.fence.refusal());
    }
    return why;
  }
  rooms_.discovery.connected(hello, now());
  const auto at = graph().find_switch(hello.name());
  if (!at) {
    return fmt::format("switch \"{}\" could not be taken into the topology; tributaryctl fabric "
                       "show topology names the problem",
                       hello.name());
  }
  rooms_.switches.resize(graph().switches().size());
  SwitchTable::SwitchReport& state = rooms_.switches.connected(*at, session);
  state.limits = hello.limits();
  state.software = hello.software();
  state.heard = now();
  rooms_.coordinator.connected(*at, session, southbound::protocol::hello_of(hello), now());
  rooms_.routes.connected(*at, hello, now());
  rooms_.touched.forget_congestion(*at);
  std::vector<std::pair<TreeNumber, records::WideFrames>> own;
  for (const control::Tree& tree : hello.in_force().trees()) {
    if (tree.from_file() && tree.number() < max_trees) {
      const TreeNumber number{static_cast<std::uint16_t>(tree.number())};
      rooms_.registry.reserve_tree(number);
      own.emplace_back(number, southbound::protocol::frames_of(tree));
    }
  }
  rooms_.memory.set_own(*at, own);
  rooms_.events.report("switch", fmt::format("switch {} is connected", hello.name()),
                       {{"switch", hello.name()}, {"change", "connected"}});
  rooms_.topology.reachability_changed(*at);
  rooms_.environment.request_reconcile();
  return std::nullopt;
}

void SwitchSessions::message(transaction::SessionNumber session,
                             const control::SwitchMessage& message) {
  const turns::Section section(rooms_.stalls, "a message of a switch");
  const auto found = rooms_.switches.of(session);
  if (!found) {
    return;
  }
  const topology::SwitchId at = *found;
  SwitchTable::SwitchReport& state = rooms_.switches[at];
  state.heard = now();
  if (message.has_ports()) {
    rooms_.discovery.report(graph()[at].name, message.ports(), now());
    rooms_.routes.ports(at, message.ports());
  } else if (message.has_statistics()) {
    const std::uint64_t since = elapsed_ns(state.heard, state.counted);
    for (const control::PortStatistics& port : message.statistics().ports()) {
      rooms_.touched.reported(at, port);
      if (const auto before = state.ports.find(port.port()); before != state.ports.end()) {
        state.rates[port.port()] = southbound::protocol::rates_between(before->second, port, since);
      }
      state.ports[port.port()] = port;
    }
    state.counted = state.heard;
    for (const control::TreeStatistics& tree : message.statistics().trees()) {
      state.trees[tree.tree()] = tree;
    }
    state.descriptors_in_use = message.statistics().descriptors_in_use();
    return;
  } else if (const auto answer = southbound::protocol::answer_of(message)) {
    rooms_.coordinator.receive(at, session, *answer, now());
  }
  rooms_.environment.request_reconcile();
}

void SwitchSessions::lost(transaction::SessionNumber session, std::string_view why) {
  const turns::Section section(rooms_.stalls, "a switch that is lost");
  const auto found = rooms_.switches.of(session);
  if (!found) {
    return;
  }
  const topology::SwitchId at = *found;
  rooms_.coordinator.lost(at, session, why, now());
  rooms_.events.report(
      "switch", fmt::format("switch {} has lost its channel: {}", graph()[at].name, why),
      {{"switch", graph()[at].name}, {"change", "disconnected"}}, turns::Severity::warning);
  disconnect(session);
  rooms_.environment.request_reconcile();
}

void SwitchSessions::turning_away(std::string_view why) {
  turning_away_ = why;
  rooms_.events.report("manager",
                       why.empty() ? "switches are accepted again"
                                   : fmt::format("switches are turned away: {}", why),
                       {}, why.empty() ? turns::Severity::info : turns::Severity::error);
}

bool SwitchSessions::handle(const turns::Turn& /*turn*/) {
  const std::vector<transaction::Outcome> outcomes = rooms_.coordinator.take_outcomes();
  for (const transaction::Outcome& outcome : outcomes) {
    rooms_.turns.controllers().notify(&Controller::ended, outcome);
  }
  return !outcomes.empty();
}

void SwitchSessions::finish(const turns::Turn& /*turn*/) {
  for (const transaction::Addressed& message : rooms_.coordinator.take_messages()) {
    rooms_.environment.send(message.session, southbound::protocol::message_of(message.message));
  }
  for (const transaction::Closure& closure : rooms_.coordinator.take_closures()) {
    rooms_.environment.close(closure.session, closure.why);
    disconnect(closure.session);
    rooms_.environment.request_reconcile();
  }
}

void SwitchSessions::end_all(std::string_view why) {
  for (const transaction::SessionNumber session : rooms_.switches.sessions()) {
    if (const auto at = rooms_.switches.of(session)) {
      rooms_.coordinator.lost(*at, session, why, now());
      rooms_.environment.close(session, why);
      disconnect(session);
    }
  }
  rooms_.environment.request_reconcile();
}

void SwitchSessions::let_go(std::string_view why) {
  if (!let_go_.empty()) {
    return;
  }
  let_go_ = fmt::format("another manager may lead: {}", why);
  rooms_.clock.hold();
  rooms_.events.report("manager",
                       fmt::format("its switches are let go, because {}; what they hold stays in "
                                   "force",
                                   let_go_),
                       {}, turns::Severity::warning);
  end_all(let_go_);
}

void SwitchSessions::take_back() {
  if (!std::exchange(let_go_, {}).empty() && !rooms_.fence.is_superseded()) {
    rooms_.clock.release();
  }
}

void SwitchSessions::disconnect(transaction::SessionNumber session) {
  if (const auto at = rooms_.switches.disconnected(session)) {
    rooms_.discovery.disconnected(graph()[*at].name, now());
    rooms_.topology.reachability_changed(*at);
  }
}

} // namespace tributary::fabric_controller
