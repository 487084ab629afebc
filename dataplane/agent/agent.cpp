#include "dataplane/agent/agent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tributary::agent {
namespace {

using Channel = Status::Channel;

/// Keep-alive intervals of the manager without a message after which the channel is closed.
constexpr std::uint64_t timeout_intervals = 3;

Identity completed(Identity identity, const std::string& name) {
  if (identity.guid == 0) {
    identity.guid = wire::guid_of_name(name);
  }
  return identity;
}

Leader leader_of(const control::Welcome& welcome) {
  const control::Leader& leader = welcome.leader();
  return {leader.fabric(), leader.epoch(), leader.boot()};
}

Neighbours neighbours_of(const config::Switch& sw, const Identity& identity,
                         const Settings& settings) {
  std::vector<std::string> names;
  std::ranges::transform(sw.ports, std::back_inserter(names), &config::Port::name);
  return Neighbours({.name = sw.name,
                     .guid = identity.guid,
                     .ethertype = sw.ethertype,
                     .interval_ns = settings.hello_interval_ns,
                     .link_hellos = settings.link_hellos},
                    names);
}

} // namespace

Agent::Agent(config::Switch configuration, Identity identity, const Settings& settings)
    : identity_(completed(std::move(identity), configuration.name)), settings_(settings),
      transactions_(std::move(configuration), settings.max_prepared),
      neighbours_(neighbours_of(file(), identity_, settings_)) {
  report_guards();
}

// ---- the channel ----

void Agent::channel_up(TimeNs now) {
  enter(Channel::greeting, now);
  last_heard_ = now;
  hello_owed_ = true;
  statistics_.start_over();
}

void Agent::channel_down(TimeNs now, std::string why) {
  enter(Channel::down, now);
  last_end_ = std::move(why);
  transactions_.forget();
  outbox_.clear();
  hello_owed_ = false;
  keepalive_ns_ = 0;
  statistics_interval_ns_ = 0;
  statistics_due_ = false;
}

void Agent::enter(Channel channel, TimeNs now) {
  channel_ = channel;
  since_ = now;
  disconnecting_ = false;
  disconnect_.reset();
}

void Agent::disconnect(std::string why) {
  if (channel_ != Channel::down && !disconnecting_) {
    disconnecting_ = true;
    disconnect_ = std::move(why);
  }
}

std::optional<std::string> Agent::take_disconnect() {
  return std::exchange(disconnect_, std::nullopt);
}

void Agent::receive(const control::ManagerMessage& message, TimeNs now) {
  using Message = control::ManagerMessage;
  if (channel_ == Channel::down) {
    return;
  }
  last_heard_ = now;
  const bool in_time = channel_ == Channel::up;
  switch (message.kind_case()) {
  case Message::kWelcome: return welcome(message.welcome(), now);
  case Message::kRejected:
    return disconnect(
        fmt::format("the manager rejected this switch: {}", message.rejected().reason()));
  case Message::kPing:
    outbox_.emplace_back().mutable_pong()->set_number(message.ping().number());
    return;
  case Message::kPrepare:
    return in_time ? transactions_.prepare(message.prepare(), outbox_) : too_early("Prepare");
  case Message::kCommit:
    return in_time ? transactions_.commit(message.commit().transaction(), outbox_)
                   : too_early("Commit");
  case Message::kAbort:
    return in_time ? transactions_.abort(message.abort().transaction()) : too_early("Abort");
  case Message::KIND_NOT_SET: return; // from a newer manager
  }
}

void Agent::too_early(std::string_view message) {
  disconnect(fmt::format("the manager sent {} before Welcome", message));
}

std::string Agent::refusal_of(const control::Welcome& welcome) const {
  const Leader offered = leader_of(welcome);
  const auto refused = [&](const std::string& why) {
    return fmt::format("manager \"{}\" is not accepted: {}; the tables stay in force",
                       welcome.manager(), why);
  };
  switch (relation(offered, leader_)) {
  case LeaderRelation::unknown:
    return leader_.fabric == 0
               ? ""
               : refused(fmt::format("it reports no fabric, and this switch belongs to fabric {}; "
                                     "update that manager, or correct [manager] address",
                                     fabric_text(leader_.fabric)));
  case LeaderRelation::other_fabric:
    return welcome.adopted_fabric() == leader_.fabric
               ? ""
               : refused(fmt::format("it manages fabric {}, and this switch belongs to fabric {}; "
                                     "correct [manager] address, or let it take the switch over "
                                     "with \"tributaryctl fabric adopt {}\"",
                                     fabric_text(offered.fabric), fabric_text(leader_.fabric),
                                     fabric_text(leader_.fabric)));
  case LeaderRelation::older:
    return refused(fmt::format("its epoch is {}, and this switch has accepted epoch {} of fabric "
                               "{}: it was replaced, or runs on a back-up",
                               offered.epoch, leader_.epoch, fabric_text(leader_.fabric)));
  case LeaderRelation::twin:
    return refused(fmt::format("another manager of fabric {} has the same epoch {}: one of them "
                               "runs on a copy of the other's store; stop that one",
                               fabric_text(leader_.fabric), leader_.epoch));
  case LeaderRelation::same:
  case LeaderRelation::newer: return "";
  }
  return "";
}

void Agent::welcome(const control::Welcome& welcome, TimeNs now) {
  if (disconnecting_) {
    return; // after one that was refused
  }
  if (std::string why = refusal_of(welcome); !why.empty()) {
    ++managers_refused_;
    return disconnect(std::move(why));
  }
  enter(Channel::up, now);
  leader_ = leader_of(welcome);
  manager_ = welcome.manager();
  keepalive_ns_ = welcome.keepalive_ms() * ns_per_ms;
  statistics_interval_ns_ = welcome.statistics_ms() * ns_per_ms;
  next_statistics_ = now + statistics_interval_ns_;
}

// ---- ports and neighbours ----

void Agent::hello_received(PortNumber port, std::span<const std::byte> frame, TimeNs now) {
  neighbours_.received(port, frame, now);
}

void Agent::port_changed(PortNumber port, bool up, std::uint32_t speed_mbps, TimeNs now) {
  neighbours_.port_changed(port, up, speed_mbps, now);
}

void Agent::report_guards() {
  const auto& ports = file().ports;
  PortSet::first(ports.size()).for_each([&](PortNumber port) {
    neighbours_.guard_changed(port, ports[port.value].policy.nid);
  });
}

std::vector<OutgoingHello> Agent::take_hellos() { return neighbours_.take_hellos(); }

std::vector<OutgoingHello> Agent::leaving_hellos() const { return neighbours_.leaving_hellos(); }

// ---- the file, and snapshots ----

std::string Agent::refuses(const config::Switch& configuration) const {
  return transactions_.problem_with(configuration);
}

void Agent::file_reloaded(config::Switch configuration) {
  const bool other_trees = transactions_.replace_file(std::move(configuration));
  report_guards();
  if (other_trees) {
    disconnect("the trees of the switch's own file have changed");
  }
}

std::shared_ptr<const core::Tables> Agent::take_tables() { return transactions_.take_tables(); }

void Agent::published(std::uint64_t version) { transactions_.published(version, outbox_); }

// ---- time ----

void Agent::poll(TimeNs now) {
  neighbours_.poll(now);
  if (now >= silence_deadline()) {
    disconnect(channel_ == Channel::greeting
                   ? "the manager did not answer the switch's hello in time"
                   : fmt::format("nothing was received from the manager for {:.1f} s",
                                 seconds_of(elapsed_ns(now, last_heard_))));
  }
  if (statistics_interval_ns_ != 0 && now >= next_statistics_) {
    statistics_due_ = true;
    next_statistics_ = now + statistics_interval_ns_;
  }
}

TimeNs Agent::silence_deadline() const {
  if (disconnecting_ || channel_ == Channel::down) {
    return never;
  }
  if (channel_ == Channel::greeting) {
    return last_heard_ + settings_.welcome_timeout_ns;
  }
  return keepalive_ns_ == 0 ? never : last_heard_ + timeout_intervals * keepalive_ns_;
}

TimeNs Agent::next_deadline() const {
  const TimeNs statistics = statistics_interval_ns_ == 0 ? never : next_statistics_;
  return std::min({neighbours_.next_deadline(), silence_deadline(), statistics});
}

void Agent::statistics(std::span<const core::Counters* const> counters,
                       std::span<const PortPauses> pauses, std::uint32_t descriptors_in_use) {
  statistics_due_ = false;
  if (channel_ == Channel::up) {
    *outbox_.emplace_back().mutable_statistics() =
        statistics_.message(counters, pauses, descriptors_in_use);
  }
}

// ---- messages to the manager ----

std::vector<control::SwitchMessage> Agent::take_messages() {
  if (hello_owed_) {
    if (!transactions_.is_in_force()) {
      return {};
    }
    hello_owed_ = false;
    control::SwitchMessage first;
    *first.mutable_hello() = hello();
    outbox_.insert(outbox_.begin(), std::move(first));
    // The hello contains the current state of all ports.
    static_cast<void>(neighbours_.take_changes());
  }
  if (channel_ == Channel::up) {
    report_ports();
  }
  return std::exchange(outbox_, {});
}

void Agent::report_ports() {
  std::vector<control::Port> changed = neighbours_.take_changes();
  if (!changed.empty()) {
    control::PortReport& report = *outbox_.emplace_back().mutable_ports();
    for (control::Port& port : changed) {
      set_vcs(port);
      *report.add_ports() = std::move(port);
    }
  }
}

void Agent::set_vcs(control::Port& port) const {
  const core::PortPolicy& policy = file().ports[port.number()].policy;
  port.set_vcs(policy.carries_classes ? traffic_classes : 1);
}

control::SwitchHello Agent::hello() const {
  control::SwitchHello out;
  out.set_protocol(protocol_version);
  out.set_name(file().name);
  out.set_guid(identity_.guid);
  out.set_boot(identity_.boot);
  out.set_software(identity_.software);
  out.mutable_limits()->set_trees(max_trees);
  out.mutable_limits()->set_ports(static_cast<std::uint32_t>(file().ports.size()));
  out.mutable_limits()->set_destinations(forwarding_table::max_destinations);
  out.mutable_limits()->set_descriptors_per_engine(file().settings.descriptors_per_engine);
  if (const std::uint32_t longest = transactions_.in_force().longest_wide_payload()) {
    out.mutable_limits()->set_wide_payload(longest);
    out.mutable_limits()->set_wide_slots(most_reductions_per_tree);
    out.mutable_limits()->set_wide_memory(file().settings.wide_memory);
    for (const wire::Form form : wire::wide_forms) {
      out.mutable_limits()->set_wide_forms(out.limits().wide_forms() |
                                           1U << static_cast<unsigned>(form));
    }
  }
  for (control::Port& port : neighbours_.ports()) {
    set_vcs(port);
    *out.add_ports() = std::move(port);
  }
  *out.mutable_in_force() = transactions_.in_force().describe();
  out.mutable_in_force()->set_version(transactions_.published_version());
  if (leader_.fabric != 0) {
    out.mutable_leader()->set_fabric(leader_.fabric);
    out.mutable_leader()->set_epoch(leader_.epoch);
    out.mutable_leader()->set_boot(leader_.boot);
  }
  return out;
}

Status Agent::status() const {
  const InForce& in_force = transactions_.in_force();
  return {.channel = channel_,
          .manager = manager_,
          .leader = leader_,
          .managers_refused = managers_refused_,
          .since = since_,
          .last_end = last_end_,
          .version = transactions_.published_version(),
          .trees_of_file = file().trees.size(),
          .trees_of_manager = in_force.tree_count_of_manager(),
          .permissions = in_force.permission_count(),
          .prepared_now = transactions_.prepared_now(),
          .counts = transactions_.counts(),
          .last_refusal = transactions_.last_refusal(),
          .ports = neighbours_.ports(),
          .problems = neighbours_.problems()};
}

} // namespace tributary::agent
