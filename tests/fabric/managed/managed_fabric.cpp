#include "tests/fabric/managed/managed_fabric.hpp"

#include "tributary/wire/hello.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace tributary::fabric {
namespace {

constexpr std::uint32_t link_speed_mbps = 100'000;
constexpr std::string_view the_job = "job";

} // namespace

Topology leaves_and_spines(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts) {
  Topology topology;
  for (std::uint32_t i = 0; i < leaves + spines; ++i) {
    topology.add_switch();
  }
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    for (std::uint32_t h = 0; h < hosts; ++h) {
      topology.add_host(leaf, 500);
    }
    for (std::uint32_t spine = 0; spine < spines; ++spine) {
      topology.connect(leaf, leaves + spine, 1000);
    }
  }
  return topology;
}

ManagedOptions patient_options() {
  constexpr std::uint64_t hour_ns = 3'600'000'000'000;
  ManagedOptions options;
  options.manager.groups.default_multicast_limit = max_trees;
  options.manager.groups.lease_ns = hour_ns;
  options.manager.groups.join_limit_ns = hour_ns;
  options.manager.groups.leave_limit_ns = hour_ns;
  return options;
}

ManagedFabric::ManagedFabric(Topology topology, const ManagedOptions& options, std::uint64_t seed)
    : options_(options), random_(Random(seed).fork(77)),
      fabric_(std::move(topology), options.fabric, seed) {
  options_.manager.open_job = the_job;
  const std::size_t switches = fabric_.topology().switch_count();
  stations_.resize(switches);
  fabric_.on_delivery(
      [this](SwitchIndex s, PortNumber port, std::span<const std::byte> frame, TimeNs at) {
        if (runs(s)) {
          stations_[s].agent->hello_received(port, frame, at);
          drive_later(s);
        }
      });
  for (SwitchIndex s = 0; s < switches; ++s) {
    stations_[s].link_up.assign(fabric_.topology().ports(s).size(), true);
    start_agent(s);
  }
  start_manager();
}

ManagedFabric::~ManagedFabric() = default;

std::string ManagedFabric::switch_name(SwitchIndex s) { return fmt::format("s{}", s); }
std::string ManagedFabric::host_name(HostIndex host) { return fmt::format("h{}", host); }

// ---- switches ----

config::Switch ManagedFabric::configuration_of(SwitchIndex s) const {
  config::Switch configuration;
  configuration.name = switch_name(s);
  configuration.settings = options_.fabric.switch_options
                               ? options_.fabric.switch_options(s).settings
                               : options_.fabric.switches.settings;
  const auto& links = fabric_.topology().ports(s);
  for (std::size_t p = 0; p < links.size(); ++p) {
    config::Port port;
    port.name = fmt::format("p{}", p);
    const LinkEnd& other =
        fabric_.topology().neighbour(s, PortNumber{static_cast<std::uint8_t>(p)});
    if (other.kind == LinkEnd::Kind::host) {
      // The edge is closed; only traffic that the manager permits may enter.
      port.policy.vnis = options_.open_edges ? nullptr : std::make_shared<core::VniSet>();
    } else {
      port.policy.carries_classes = options_.manager.routes.routes.enabled;
    }
    port.policy.verify_checksum = options_.fabric.verify_checksums;
    configuration.ports.push_back(std::move(port));
  }
  return configuration;
}

void ManagedFabric::start_agent(SwitchIndex s) {
  Station& station = stations_[s];
  agent::Settings settings;
  settings.hello_interval_ns = options_.hello_interval_ns;
  station.agent = std::make_unique<agent::Agent>(
      configuration_of(s),
      agent::Identity{wire::guid_of_name(switch_name(s)), random_.next(), "virtual"}, settings);
  for (std::size_t p = 0; p < station.link_up.size(); ++p) {
    note_port(s, PortNumber{static_cast<std::uint8_t>(p)});
  }
  drive_later(s);
  dial_later(s);
}

void ManagedFabric::note_port(SwitchIndex s, PortNumber port) {
  stations_[s].agent->port_changed(port, stations_[s].link_up[port.value], link_speed_mbps,
                                   fabric_.now());
}

void ManagedFabric::drive_later(SwitchIndex s) {
  // Together with the other events of this time.
  if (stations_[s].driven_at > fabric_.now()) {
    stations_[s].driven_at = fabric_.now();
    after(0, [this, s] { drive(s); });
  }
}

void ManagedFabric::drive(SwitchIndex s) {
  Station& station = stations_[s];
  if (!runs(s) || station.driven_at > fabric_.now()) {
    return;
  }
  station.driven_at = never;
  agent::Agent& agent = *station.agent;
  const TimeNs at = fabric_.now();
  agent.poll(at);
  while (auto tables = agent.take_tables()) {
    station.tables = tables;
    fabric_.at_switch(s).publish(tables, at, 0);
    agent.published(tables->version());
  }
  for (const agent::OutgoingHello& hello : agent.take_hellos()) {
    fabric_.send_from_agent(s, hello.port, hello.bytes);
  }
  for (control::SwitchMessage& message : agent.take_messages()) {
    after(options_.channel_latency_ns,
          [this, s, channel = station.channel, message = std::move(message)] {
            hear(s, channel, message);
          });
  }
  if (const auto why = agent.take_disconnect()) {
    end_channel(s, *why, true);
  }
  const TimeNs next = agent.next_deadline();
  if (next != never) {
    station.driven_at = std::max(next, at + 1);
    fabric_.at(station.driven_at, [this, s] { drive(s); });
  }
}

// ---- channels ----

void ManagedFabric::dial_later(SwitchIndex s) {
  Station& station = stations_[s];
  if (station.dialling) {
    return;
  }
  station.dialling = true;
  after(options_.dial_pause_ns + random_.below(options_.dial_pause_ns), [this, s] { dial(s); });
}

void ManagedFabric::dial(SwitchIndex s) {
  Station& station = stations_[s];
  station.dialling = false;
  if (!runs(s) || station.up) {
    return;
  }
  if (!has_manager()) {
    dial_later(s);
    return;
  }
  ++station.channel;
  station.up = true;
  station.session = transaction::SessionNumber{next_session_++};
  session_of_[station.session] = s;
  station.agent->channel_up(fabric_.now());
  drive_later(s);
}

void ManagedFabric::hear(SwitchIndex s, std::uint64_t channel,
                         const control::SwitchMessage& message) {
  Station& station = stations_[s];
  if (!has_manager() || !station.up || station.channel != channel) {
    return;
  }
  if (!message.has_hello()) {
    manager_->switches().message(station.session, message);
    return;
  }
  southbound::protocol::Admission admission =
      sessions_->open(station.session, message.hello(), fabric_.now());
  if (!admission.accepted) {
    to_switch(s, admission.answer);
    fabric_.violation(fmt::format("{} was not taken on", switch_name(s)));
    return;
  }
  manager_->switches().welcome(message.hello(), *admission.answer.mutable_welcome());
  if (const auto why = manager_->switches().connected(station.session, message.hello())) {
    sessions_->close(station.session);
    rejections_.push_back(*why);
    to_switch(s, southbound::protocol::rejection(*why));
    if (!options_.may_reject) {
      fabric_.violation(fmt::format("{} was rejected: {}", switch_name(s), *why));
    }
    return;
  }
  to_switch(s, admission.answer);
}

void ManagedFabric::to_switch(SwitchIndex s, const control::ManagerMessage& message) {
  after(options_.channel_latency_ns, [this, s, channel = stations_[s].channel, message] {
    Station& station = stations_[s];
    if (runs(s) && station.up && station.channel == channel) {
      station.agent->receive(message, fabric_.now());
      drive_later(s);
    }
  });
}

void ManagedFabric::end_channel(SwitchIndex s, std::string_view why, bool notify_manager) {
  Station& station = stations_[s];
  if (!station.up) {
    return;
  }
  station.up = false;
  session_of_.erase(station.session);
  if (has_manager()) {
    sessions_->close(station.session);
    if (notify_manager) {
      manager_->switches().lost(station.session, why);
    }
  }
  if (runs(s)) {
    station.agent->channel_down(fabric_.now(), std::string(why));
    drive_later(s);
    dial_later(s);
  }
}

void ManagedFabric::break_channel(SwitchIndex s) { end_channel(s, "the channel broke", true); }

// ---- manager::Environment ----

std::string ManagedFabric::wall_time() { return fmt::format("T+{} ns", fabric_.now().value); }

void ManagedFabric::request_reconcile() {
  if (!std::exchange(reconcile_requested_, true)) {
    after(0, [this, life = manager_life_] {
      if (life == manager_life_ && has_manager()) {
        reconcile();
      }
    });
  }
}

void ManagedFabric::reconcile() {
  reconcile_requested_ = false;
  manager_->reconcile();
  schedule_deadline();
}

void ManagedFabric::schedule_deadline() {
  const TimeNs next = manager_->next_deadline();
  if (next == never || next >= deadline_at_) {
    return;
  }
  deadline_at_ = std::max(next, fabric_.now() + 1);
  fabric_.at(deadline_at_, [this, life = manager_life_, at = deadline_at_] {
    if (life == manager_life_ && has_manager() && at == deadline_at_) {
      deadline_at_ = never;
      reconcile();
    }
  });
}

void ManagedFabric::store(std::function<std::vector<records::Change>()> changes) {
  past_.apply(changes());
  manager_->stored("");
}

void ManagedFabric::work(std::unique_ptr<turns::BackgroundWork> piece) {
  piece->run();
  if (options_.work_ns == 0) {
    manager_->worked(std::move(piece));
    return;
  }
  after(options_.work_ns,
        [this, life = manager_life_,
         held = std::make_shared<std::unique_ptr<turns::BackgroundWork>>(std::move(piece))] {
          if (has_manager() && life == manager_life_) {
            manager_->worked(std::move(*held));
          }
        });
}

void ManagedFabric::send(transaction::SessionNumber session,
                         const control::ManagerMessage& message) {
  if (const auto found = session_of_.find(session); found != session_of_.end()) {
    to_switch(found->second, message);
  }
}

void ManagedFabric::close(transaction::SessionNumber session, std::string_view why) {
  if (const auto found = session_of_.find(session); found != session_of_.end()) {
    end_channel(found->second, why, false);
  }
}

// ---- hosts ----

void ManagedFabric::announce(HostIndex host) {
  announce_as(host, Topology::nid(host), host_name(host));
}

void ManagedFabric::announce_as(HostIndex link_of, Nid nid, const std::string& name) {
  wire::Hello hello;
  hello.kind = wire::HelloKind::host;
  hello.nid = nid;
  hello.name = name;
  hello.interval_ms = 60'000;
  fabric_.send_from_host(link_of, wire::encode(hello));
}

void ManagedFabric::announce_all() {
  for (HostIndex host = 0; host < fabric_.topology().host_count(); ++host) {
    announce(host);
  }
}

void ManagedFabric::join(const api::JoinRequest& request, api::Reply reply) {
  manager_->ask<&manager::Manager::join_group>({.token = {}, .administrator = true}, request,
                                               std::move(reply));
}

// ---- faults ----

void ManagedFabric::kill_manager() {
  manager_.reset();
  sessions_.reset();
  ++manager_life_;
  reconcile_requested_ = false;
  deadline_at_ = never;
  for (SwitchIndex s = 0; s < stations_.size(); ++s) {
    end_channel(s, "the manager is gone", false);
  }
}

void ManagedFabric::start_manager(StoredPast past) {
  past_ = std::move(past);
  start_manager();
}

unsigned ManagedFabric::adopt(std::uint64_t fabric) {
  unsigned status = 0;
  manager_->ask<&manager::Manager::adopt_fabric>(
      {.token = {}, .administrator = true}, {.fabric = fabric},
      [&status](const api::Answer& answer) { status = answer.status; });
  manager_->reconcile();
  return status;
}

void ManagedFabric::start_manager() {
  ++manager_life_;
  options_.manager.boot = manager_life_;
  sessions_.emplace(southbound::protocol::SessionSettings{.manager = "virtual"});
  manager_ = std::make_unique<manager::Manager>(
      options_.manager, static_cast<turns::Environment&>(*this),
      [this](std::span<std::byte> bytes) {
        for (std::byte& b : bytes) {
          b = static_cast<std::byte>(random_.below(256));
        }
      },
      past_.load());
}

void ManagedFabric::crash(SwitchIndex s) {
  fabric_.crash(s);
  stations_[s].agent.reset();
  stations_[s].tables.reset();
  stations_[s].driven_at = never;
  end_channel(s, "the switch crashed", true);
}

void ManagedFabric::restart(SwitchIndex s) {
  fabric_.restart(s);
  start_agent(s);
}

void ManagedFabric::set_link_up(LinkIndex link, bool up) {
  fabric_.set_link_up(link, up);
  for (const LinkEnd& end : fabric_.topology().links()[link].ends) {
    if (end.kind == LinkEnd::Kind::in_switch) {
      stations_[end.node].link_up[end.port.value] = up;
      if (runs(end.node)) {
        note_port(end.node, end.port);
        drive_later(end.node);
      }
    }
  }
}

// ---- state ----

bool ManagedFabric::all_connected() const {
  return has_manager() &&
         std::all_of(stations_.begin(), stations_.end(), [&](const Station& station) {
           const auto s = static_cast<SwitchIndex>(&station - stations_.data());
           const auto id = manager_->graph().find_switch(switch_name(s));
           return id && manager_->coordinator().is_connected(*id);
         });
}

std::vector<std::string> ManagedFabric::disagreements() const {
  std::vector<std::string> found;
  for (SwitchIndex s = 0; s < stations_.size(); ++s) {
    if (!runs(s)) {
      continue;
    }
    const core::Tables& tables = *stations_[s].tables;
    const auto id = manager_->graph().find_switch(switch_name(s));
    for (std::uint16_t t = 0; t < max_trees; ++t) {
      const core::MulticastEntry& held = tables.tree(TreeNumber{t});
      const transaction::Target* target =
          manager_->coordinator().wanted(trees::subject_of(TreeNumber{t}));
      const auto needs = target == nullptr ? std::span<const transaction::Need>() : target->needs;
      for (const transaction::Need& need : needs) {
        const PortNumber port{static_cast<std::uint8_t>(need.at.port)};
        if (id && need.at.at == *id && tables.port(port).nid != need.nid) {
          found.push_back(
              fmt::format("{} does not guard port {} for its member", switch_name(s), port.value));
        }
      }
      const multicast::TreePart* part = nullptr;
      if (target != nullptr && id) {
        const auto at = std::find_if(target->parts.begin(), target->parts.end(),
                                     [&](const transaction::Part& p) { return p.at == *id; });
        part = at == target->parts.end() ? nullptr : &trees::part_of(*at->content);
      }
      if (part == nullptr) {
        if (held.valid) {
          found.push_back(
              fmt::format("{} holds tree {}, which is not wanted there", switch_name(s), t));
        }
        continue;
      }
      PortSet children;
      for (const topology::Port port : part->children) {
        children.insert(PortNumber{static_cast<std::uint8_t>(port)});
      }
      if (!held.valid || held.parent.value != part->parent || held.children != children ||
          held.wait_count != part->wait_count) {
        found.push_back(fmt::format("{} does not hold tree {} as it is wanted", switch_name(s), t));
      }
    }
  }
  return found;
}

} // namespace tributary::fabric
