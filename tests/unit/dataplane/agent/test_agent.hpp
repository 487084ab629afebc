// One agent of a switch "leaf0" with six ports, and a shell that publishes immediately. Messages to
// the manager become lines of text, so that a test reads like the conversation it is about:
//
//   agent.prepare(5, {set_tree(7, 3, 0, {1, 2})});   -> "prepared 5"
//   agent.commit(5);                                 -> "committed 5 in 2"
#pragma once

#include "dataplane/agent/agent.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tributary::agent {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t second = 1'000 * ms;

inline PortNumber port(unsigned n) { return PortNumber{static_cast<std::uint8_t>(n)}; }
inline TreeNumber tree(unsigned n) { return TreeNumber{static_cast<std::uint16_t>(n)}; }

inline PortSet ports(std::initializer_list<unsigned> numbers) {
  PortSet set;
  for (const unsigned n : numbers) {
    set.insert(port(n));
  }
  return set;
}

// ---- changes ----

inline control::Change set_tree(unsigned number, unsigned wait_count, unsigned parent,
                                std::initializer_list<unsigned> children) {
  control::Change change;
  control::Tree& t = *change.mutable_set_tree();
  t.set_number(number);
  t.set_wait_count(wait_count);
  t.set_parent(parent);
  t.set_children(ports(children).bits());
  return change;
}
inline control::Change remove_tree(unsigned number) {
  control::Change change;
  change.set_remove_tree(number);
  return change;
}
inline control::Change permit(unsigned at, unsigned vni) {
  control::Change change;
  change.mutable_permit()->set_port(at);
  change.mutable_permit()->set_vni(vni);
  return change;
}
inline control::Change permit(unsigned at, unsigned vni, unsigned nid) {
  control::Change change = permit(at, vni);
  change.mutable_permit()->set_nid(nid);
  return change;
}
/// And the port is closed to VNIs that have no permission.
inline control::Change permit_closing(unsigned at, unsigned vni, unsigned nid) {
  control::Change change = permit(at, vni, nid);
  change.mutable_permit()->set_closes(true);
  return change;
}
inline control::Change revoke(unsigned at, unsigned vni) {
  control::Change change;
  change.mutable_revoke()->set_port(at);
  change.mutable_revoke()->set_vni(vni);
  return change;
}

// ---- the switch ----

/// Tree 1 is in the file. Port 0 admits VNI 10, port 1 none, the others all.
inline config::Switch leaf0() {
  config::Switch sw;
  sw.name = "leaf0";
  for (int i = 0; i < 6; ++i) {
    config::Port p;
    p.name = fmt::format("port{}", i);
    sw.ports.push_back(std::move(p));
  }
  auto ten = std::make_shared<core::VniSet>();
  ten->set(10);
  sw.ports[0].policy.vnis = ten;
  sw.ports[0].policy.nid = Nid{1};
  sw.ports[1].policy.vnis = std::make_shared<core::VniSet>();
  sw.trees.push_back({tree(1), 2, port(5), ports({0, 1}), 0});
  sw.routes.push_back({Nid{1}, port(0), 0});
  return sw;
}

// ---- messages as text ----

inline std::string text_of(const control::Tree& t) {
  return fmt::format("tree {}{} wait {} parent {} children {:#x}", t.number(),
                     t.from_file() ? " of the file" : "", t.wait_count(), t.parent(), t.children());
}
inline std::string text_of(const control::InForce& f) {
  std::string text = fmt::format("in force {}:", f.version());
  for (const auto& t : f.trees()) {
    text += fmt::format(" [{}]", text_of(t));
  }
  for (const auto& p : f.permissions()) {
    text += fmt::format(" [port {} VNI {}{}{}]", p.port(), p.vni(),
                        p.has_nid() ? fmt::format(" NID {}", p.nid()) : "",
                        p.closes() ? " closes" : "");
  }
  if (f.has_routes()) {
    text += fmt::format(" [routes of epoch {}]", f.routes().epoch());
  }
  return text;
}
inline std::string text_of(const control::SwitchMessage& m) {
  using Message = control::SwitchMessage;
  switch (m.kind_case()) {
  case Message::kHello:
    return fmt::format("hello {} {}", m.hello().name(), text_of(m.hello().in_force()));
  case Message::kPorts: {
    std::string text = "ports";
    for (const auto& p : m.ports().ports()) {
      text += fmt::format(" {}:{}", p.number(), p.up() ? "up" : "down");
    }
    return text;
  }
  case Message::kPrepared: return fmt::format("prepared {}", m.prepared().transaction());
  case Message::kRefused:
    return fmt::format("refused {}: {}", m.refused().transaction(), m.refused().reason());
  case Message::kCommitted:
    return fmt::format("committed {} in {}", m.committed().transaction(), m.committed().version());
  case Message::kStatistics: return "statistics";
  case Message::kPong: return fmt::format("pong {}", m.pong().number());
  case Message::KIND_NOT_SET: break;
  }
  return "nothing";
}

// ---- the agent and its shell ----

class TestAgent {
public:
  using Lines = std::vector<std::string>;

  explicit TestAgent(config::Switch sw = leaf0(), const Settings& settings = {})
      : agent(std::move(sw), {.guid = 0xABC, .boot = 77, .software = "1.2"}, settings) {
    publish();
  }

  void publish() {
    while (auto next = agent.take_tables()) {
      tables = std::move(next);
      ++snapshots;
      agent.published(tables->version());
    }
  }
  /// The agent's messages that need no publication.
  Lines messages() {
    Lines lines;
    for (const auto& message : agent.take_messages()) {
      lines.push_back(text_of(message));
    }
    return lines;
  }
  Lines drain() {
    publish();
    return messages();
  }

  /// Up to and including Welcome; returns the hello.
  std::string connect(std::uint32_t keepalive_ms = 0, std::uint32_t statistics_ms = 0) {
    agent.channel_up(now);
    const Lines lines = drain();
    control::ManagerMessage m;
    m.mutable_welcome()->set_manager("fabric");
    m.mutable_welcome()->set_keepalive_ms(keepalive_ms);
    m.mutable_welcome()->set_statistics_ms(statistics_ms);
    agent.receive(m, now);
    return fmt::format("{}", fmt::join(lines, "\n"));
  }
  void prepare(std::uint64_t transaction, const std::vector<control::Change>& changes) {
    control::ManagerMessage m;
    m.mutable_prepare()->set_transaction(transaction);
    for (const auto& change : changes) {
      *m.mutable_prepare()->add_changes() = change;
    }
    agent.receive(m, now);
  }
  void commit(std::uint64_t transaction) {
    control::ManagerMessage m;
    m.mutable_commit()->set_transaction(transaction);
    agent.receive(m, now);
  }
  void abort(std::uint64_t transaction) {
    control::ManagerMessage m;
    m.mutable_abort()->set_transaction(transaction);
    agent.receive(m, now);
  }
  void ping(std::uint64_t number) {
    control::ManagerMessage m;
    m.mutable_ping()->set_number(number);
    agent.receive(m, now);
  }

  Agent agent;
  TimeNs now{second};
  std::shared_ptr<const core::Tables> tables;
  int snapshots = 0;
};

} // namespace tributary::agent
