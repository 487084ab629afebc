// southbound::protocol::ChannelSink: switches that connect, report and disconnect.
#include "controlplane/manager/manager.hpp"
#include "controlplane/southbound/protocol/messages.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace tributary::manager {

std::optional<std::string> Manager::connected(transaction::SessionNumber session,
                                              const control::SwitchHello& hello) {
  const Section section(stalls_, "a switch that connects");
  if (hello.name().empty()) {
    return "a switch must have a name";
  }
  discovery_.connected(hello, now());
  const auto at = graph().find_switch(hello.name());
  if (!at) {
    return fmt::format("switch \"{}\" could not be taken into the topology; tributaryctl fabric "
                       "show topology names the problem",
                       hello.name());
  }
  switches_.resize(graph().switches().size());
  SwitchTable::SwitchReport& state = switches_.connected(*at, session);
  state.limits = hello.limits();
  state.software = hello.software();
  state.heard = now();
  coordinator_.connected(*at, session, southbound::protocol::hello_of(hello), now());
  control_.connected(*at, hello, now());
  touched_.counts_anew(*at);
  std::vector<std::pair<TreeNumber, records::WideFrames>> own;
  for (const control::Tree& tree : hello.in_force().trees()) {
    if (tree.from_file() && tree.number() < max_trees) {
      const TreeNumber number{static_cast<std::uint16_t>(tree.number())};
      registry_.reserve_tree(number);
      own.emplace_back(number, southbound::protocol::frames_of(tree));
    }
  }
  memory_.set_own(*at, own);
  events_.tell("switch", fmt::format("switch {} is connected", hello.name()),
               {{"switch", hello.name()}, {"change", "connected"}});
  topology_.reachability_changed(*at);
  environment_.request_reconcile();
  return std::nullopt;
}

void Manager::message(transaction::SessionNumber session, const control::SwitchMessage& message) {
  const Section section(stalls_, "a message of a switch");
  const auto found = switches_.of(session);
  if (!found) {
    return;
  }
  const topology::SwitchId at = *found;
  SwitchTable::SwitchReport& state = switches_[at];
  state.heard = now();
  if (message.has_ports()) {
    discovery_.report(graph()[at].name, message.ports(), now());
    control_.ports(at, message.ports());
  } else if (message.has_statistics()) {
    const std::uint64_t since = elapsed_ns(state.heard, state.counted);
    for (const control::PortStatistics& port : message.statistics().ports()) {
      touched_.reported(at, port);
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
    coordinator_.receive(at, session, *answer, now());
  }
  environment_.request_reconcile();
}

void Manager::lost(transaction::SessionNumber session, std::string_view why) {
  const Section section(stalls_, "a switch that is lost");
  const auto found = switches_.of(session);
  if (!found) {
    return;
  }
  const topology::SwitchId at = *found;
  coordinator_.lost(at, session, why, now());
  events_.tell("switch",
               fmt::format("switch {} has no channel any more: {}", graph()[at].name, why),
               {{"switch", graph()[at].name}, {"change", "disconnected"}}, Severity::warning);
  disconnect(session);
  environment_.request_reconcile();
}

void Manager::turning_away(std::string_view why) {
  turning_away_ = why;
  events_.tell("manager",
               why.empty() ? "switches are taken on again"
                           : fmt::format("switches are turned away: {}", why),
               {}, why.empty() ? Severity::info : Severity::error);
}

void Manager::disconnect(transaction::SessionNumber session) {
  if (const auto at = switches_.disconnected(session)) {
    discovery_.disconnected(graph()[*at].name, now());
    topology_.reachability_changed(*at);
  }
}

} // namespace tributary::manager
