#include "tests/fabric/fabric.hpp"

#include "tests/fabric/describe.hpp"

#include <fmt/format.h>

#include <malloc.h>

#include <algorithm>
#include <utility>

namespace tributary::fabric {

namespace {
/// Later ones are dropped: the first ones explain the failure.
constexpr std::size_t violations_kept = 20;
/// Workers of one switch adopt new tables this long after one another.
constexpr std::uint64_t adoption_skew_ns = 1'500;

/// A core's tables are large and mostly untouched. glibc takes the second switch's from memory that
/// the first one's freed and clears all of it, unless configured to map blocks of that size afresh.
void take_tables_from_fresh_pages() {
  constexpr int table_bytes = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, table_bytes);
}
} // namespace

class Fabric::Port final : public HostPort {
public:
  Port(Fabric& fabric, HostIndex host) : fabric_(fabric), host_(host) {}
  void send(std::span<const std::byte> frame, TrafficClass c) override {
    fabric_.send_from_host(host_, frame, c);
  }
  void send_pause(const wire::PauseFrame& pause) override {
    fabric_.send_pause_from_host(host_, pause);
  }
  [[nodiscard]] std::uint32_t waiting(TrafficClass c) const override {
    return static_cast<std::uint32_t>(fabric_.hosts_[host_].out->held(c));
  }

private:
  Fabric& fabric_;
  HostIndex host_;
};

Fabric::Fabric(Topology topology, FabricOptions options, std::uint64_t seed)
    : topology_(std::move(topology)), options_(std::move(options)),
      fault_random_(Random(seed).fork(0xFA)), links_(topology_.links().size()),
      hosts_(topology_.host_count()),
      tables_(topology_.switch_count()), next_check_{options_.check_interval_ns} {
  take_tables_from_fresh_pages();
  for (LinkIndex l = 0; l < links_.size(); ++l) {
    const Link& link = topology_.links()[l];
    links_[l].speed_mbps = link.speed_mbps;
    const bool of_host = link.ends[0].kind == LinkEnd::Kind::host;
    if (options_.vlan_id && (!of_host || options_.tag_hosts)) {
      links_[l].edge = egress::LinkEdge(*options_.vlan_id);
    }
  }
  SwitchSurroundings& surroundings = *this;
  for (SwitchIndex s = 0; s < topology_.switch_count(); ++s) {
    const auto& ports = topology_.ports(s);
    const SwitchOptions& switch_options =
        options_.switch_options ? options_.switch_options(s) : options_.switches;
    switches_.push_back(
        std::make_unique<VirtualSwitch>(s, ports.size(), switch_options, surroundings));
    core::PortPolicy policy;
    policy.verify_checksum = options_.verify_checksums;
    tables_[s].ports.resize(ports.size(), policy);
    for (std::size_t p = 0; p < ports.size(); ++p) {
      tables_[s].ports[p].carries_classes = links_[ports[p]].edge.has_value();
    }
  }
  for (HostIndex h = 0; h < hosts_.size(); ++h) {
    hosts_[h].port = std::make_unique<Port>(*this, h);
    hosts_[h].out = std::make_unique<VirtualPort>(h, options_.host_queues, frames_,
                                                  static_cast<VirtualPort::Wire&>(*this));
    hosts_[h].out->link_changed(true, links_[topology_.link_of(h)].speed_mbps, now());
    const LinkEnd& edge = topology_.edge_port(h);
    if (options_.guard_edges) {
      tables_[edge.node].ports[edge.port.value].nid = Topology::nid(h);
    }
    if (options_.unicast_routes) {
      routes_.push_back(ports_toward(topology_, h));
    }
  }
}

Fabric::~Fabric() = default;

void Fabric::attach(HostIndex host, HostProgram& program) {
  hosts_[host].program = &program;
  poke(host);
}

void Fabric::poke(HostIndex host) {
  hosts_[host].wake_at = now();
  timeline_.schedule(now(), {EventKind::host_wake, host});
}

void Fabric::set_host_alive(HostIndex host, bool alive) {
  trace(fmt::format("host {} {}", host, alive ? "comes back" : "dies"));
  hosts_[host].alive = alive;
  if (alive) {
    poke(host);
  }
}

void Fabric::install(TreeNumber tree, const std::vector<TreePart>& parts) {
  for (const TreePart& part : parts) {
    set_part(tree, part);
  }
}

void Fabric::set_part(TreeNumber tree, const TreePart& part) {
  tables_[part.at].trees[tree.value] = part;
}

void Fabric::remove(TreeNumber tree, SwitchIndex from) { tables_[from].trees.erase(tree.value); }

void Fabric::remove(TreeNumber tree) {
  for (SwitchIndex s = 0; s < tables_.size(); ++s) {
    remove(tree, s);
  }
}

void Fabric::permit(HostIndex host, std::shared_ptr<const core::VniSet> vnis) {
  const LinkEnd& edge = topology_.edge_port(host);
  tables_[edge.node].ports[edge.port.value].vnis = std::move(vnis);
}

void Fabric::set_routes(SwitchIndex s, std::shared_ptr<const forwarding_table::Routes> routes) {
  if (routes != nullptr) {
    if (const std::string problem =
            forwarding_table::problem_with(*routes, tables_[s].ports.size());
        !problem.empty()) {
      violation(fmt::format("switch {}: {}", s, problem));
      return;
    }
  }
  tables_[s].routes = std::move(routes);
}

void Fabric::publish(SwitchIndex s) {
  core::TablesBuilder builder(options_.switches.settings.timers);
  const auto accepted = [&](const std::string& error) {
    if (!error.empty()) {
      violation(fmt::format("switch {}: tables refused: {}", s, error));
    }
  };
  for (const auto& policy : tables_[s].ports) {
    accepted(builder.add_port(policy));
  }
  for (const auto& [number, part] : tables_[s].trees) {
    accepted(builder.add_tree(TreeNumber{number}, part.wait_count, part.parent, part.children,
                              part.slots));
  }
  for (HostIndex h = 0; h < routes_.size(); ++h) {
    accepted(builder.add_route(Topology::nid(h), routes_[h][s]));
  }
  builder.set_routes(tables_[s].routes);
  const auto tables = builder.build(++tables_[s].version);
  check_tables(s, *tables);
  switches_[s]->publish(tables, now(), adoption_skew_ns);
}

void Fabric::check_tables(SwitchIndex s, const core::Tables& tables) {
  const SwitchTables& given = tables_[s];
  bool same = tables.version() == given.version && tables.port_count() == given.ports.size() &&
              tables.tree_count() == given.trees.size();
  for (std::size_t p = 0; same && p < given.ports.size(); ++p) {
    same = tables.port(PortNumber{static_cast<std::uint8_t>(p)}) == given.ports[p];
  }
  for (std::uint16_t t = 0; same && t < max_trees; ++t) {
    const core::MulticastEntry& entry = tables.tree(TreeNumber{t});
    const auto part = given.trees.find(t);
    same = entry.valid == (part != given.trees.end()) &&
           (!entry.valid ||
            (entry.parent == part->second.parent && entry.children == part->second.children &&
             entry.wait_count == part->second.wait_count));
  }
  for (HostIndex h = 0; same && h < routes_.size(); ++h) {
    same = tables.route(Topology::nid(h)) == routes_[h][s];
  }
  if (!same) {
    violation(fmt::format("switch {}: its tables are not those it was given", s));
  }
}

void Fabric::publish_all() {
  for (SwitchIndex s = 0; s < switches_.size(); ++s) {
    publish(s);
  }
}

AimedFault& Fabric::aim(AimedFault fault) { return aimed_.emplace_back(std::move(fault)); }

void Fabric::observe(std::function<void(const Passage&)> observer) {
  observers_.push_back(std::move(observer));
}

void Fabric::set_faults(const LinkFaults& faults) {
  faults_ = faults;
  for (LinkIndex link = 0; link < links_.size(); ++link) {
    for (const std::uint32_t direction : {0U, 1U}) {
      Direction& sender = links_[link].directions[direction];
      sender.impairer.reset();
      if (faults.any()) {
        sender.impairer.emplace(faults, fault_random_.next());
      }
      const auto waiting = std::move(sender.behind);
      if (faults.reorder > 0 && faults.reorder_distance > 0) {
        sender.behind = std::make_unique<impairment::HeldBehind<FrameIndex>>(faults.held_frames);
      }
      while (waiting && !waiting->empty()) {
        reach_end(link, direction, waiting->take().frame);
      }
    }
  }
}

void Fabric::set_link_up(LinkIndex link, bool up) {
  const Link& l = topology_.links()[link];
  trace(fmt::format("link {} - {} goes {}", describe(l.ends[0]), describe(l.ends[1]),
                    up ? "up" : "down"));
  fault_counts_.add(Fault::link_down, up ? 0 : 1);
  links_[link].up = up;
  at(now() + options_.carrier_ns, [this, link] { report_ends(link); });
}

void Fabric::set_link_speed(LinkIndex link, std::uint32_t mbps) {
  const Link& l = topology_.links()[link];
  trace(
      fmt::format("link {} - {} has {} Mb/s now", describe(l.ends[0]), describe(l.ends[1]), mbps));
  fault_counts_.add(Fault::slow_link, mbps == 0 ? 0 : 1);
  links_[link].speed_mbps = mbps;
  for (const std::uint32_t direction : {0U, 1U}) {
    timeline_.schedule(now(), {EventKind::link_free, link * 2 + direction});
  }
}

void Fabric::set_poll_interval(SwitchIndex s, std::uint32_t worker, std::uint64_t ns) {
  trace(fmt::format("switch {} worker {} polls every {} ns", s, worker, ns));
  fault_counts_.add(Fault::slow_worker, ns == 0 ? 0 : 1);
  switches_[s]->set_poll_interval(worker, ns);
}

void Fabric::set_handoff_frames(SwitchIndex s, std::size_t frames) {
  trace(fmt::format("switch {} has hand-off rings of {} frames", s, frames));
  fault_counts_.add(Fault::full_ring, frames < options_.switches.handoff_frames ? 1 : 0);
  switches_[s]->set_handoff_frames(frames);
}

void Fabric::move_tree(SwitchIndex s, TreeNumber tree, std::uint64_t step_ns) {
  const bool begun = switches_[s]->move(tree, step_ns, now());
  trace(fmt::format("switch {}: tree {} {}", s, tree.value,
                    begun ? "moves to another worker" : "cannot move now"));
}

void Fabric::report_ends(LinkIndex link) {
  const bool up = links_[link].up;
  for (const LinkEnd& end : topology_.links()[link].ends) {
    if (end.kind == LinkEnd::Kind::in_switch) {
      switches_[end.node]->link_changed(end.port, up, now());
    } else {
      Host& host = hosts_[end.node];
      host.out->link_changed(up, links_[link].speed_mbps, now());
      if (!up && host.alive && host.program != nullptr) { // whose queue is empty now
        host.program->drained(now(), *host.port);
        after_host_call(end.node);
      }
    }
  }
}

void Fabric::crash(SwitchIndex s) {
  trace(fmt::format("switch {} crashes", s));
  fault_counts_.add(Fault::switch_crash);
  switches_[s]->crash();
}

void Fabric::restart(SwitchIndex s) {
  trace(fmt::format("switch {} comes back", s));
  switches_[s]->restart(now());
}

void Fabric::silence(SwitchIndex s, std::uint64_t ns) {
  trace(fmt::format("switch {} falls silent for {} ns", s, ns));
  fault_counts_.add(Fault::switch_silence);
  switches_[s]->begin_silence();
  at(now() + ns, [this, s] { switches_[s]->end_silence(now()); });
}

void Fabric::at(TimeNs when, std::function<void()> action) {
  scripts_.push_back(std::move(action));
  timeline_.schedule(when, {EventKind::script, static_cast<std::uint32_t>(scripts_.size() - 1)});
}

void Fabric::run_until(TimeNs end) {
  run_until([] { return false; }, end);
  timeline_.advance(end);
}

bool Fabric::run_until(const std::function<bool()>& done, TimeNs limit) {
  constexpr int events_between_questions = 64;
  while (!done()) {
    for (int i = 0; i < events_between_questions; ++i) {
      if (timeline_.empty() || timeline_.next_time() > limit) {
        return done();
      }
      step();
    }
  }
  return true;
}

void Fabric::step() {
  const Event event = timeline_.pop();
  if (now() >= next_check_) {
    check_descriptors();
  }
  ++event_count_;
  digest_.add(now().value ^ std::uint64_t{event.subject} << 40 ^ std::uint64_t{event.detail} << 8 ^
              static_cast<std::uint64_t>(event.kind));
  handle(event);
}

void Fabric::handle(const Event& event) {
  switch (event.kind) {
  case EventKind::frame_arrival: arrive(event.subject / 2, event.subject % 2, event.detail); return;
  case EventKind::link_free:
    end_sending(event.subject / 2, event.subject % 2, event.detail != 0);
    return;
  case EventKind::worker_poll: switches_[event.subject]->poll(event.detail, now()); return;
  case EventKind::host_wake: {
    Host& host = hosts_[event.subject];
    if (host.wake_at == now() && host.alive && host.program != nullptr) {
      host.wake_at = never;
      host.program->wake(now(), *host.port);
      after_host_call(event.subject);
    }
    return;
  }
  case EventKind::held_behind: release_behind(event.subject / 2, event.subject % 2); return;
  case EventKind::script:
    scripts_[event.subject]();
    scripts_[event.subject] = nullptr;
    return;
  }
}

void Fabric::after_host_call(HostIndex h) {
  Host& host = hosts_[h];
  const TimeNs wanted = std::max(host.program->next_wake(), now());
  if (wanted < host.wake_at) {
    host.wake_at = wanted;
    timeline_.schedule(wanted, {EventKind::host_wake, h});
  }
}

void Fabric::check_descriptors() {
  // Timers that end at this very time may not have been polled yet.
  for (const auto& s : switches_) {
    s->check_descriptors(now(), 0);
  }
  next_check_ = now() + options_.check_interval_ns;
}

void Fabric::schedule_poll(SwitchIndex at, std::uint32_t worker, TimeNs when) {
  timeline_.schedule(when, {EventKind::worker_poll, at, worker});
}

bool Fabric::buffer_is_free(double no_buffer) {
  if (!fault_random_.chance(no_buffer)) {
    return true;
  }
  fault_counts_.add(Fault::no_buffer);
  return false;
}

void Fabric::note(SwitchIndex at, PortNumber in, const core::Decision& decision,
                  std::span<const std::byte> frame, TimeNs) {
  digest_.add(std::uint64_t{at} << 32 ^ std::uint64_t{in.value} << 16 ^
              static_cast<std::uint64_t>(decision.action) << 8 ^
              static_cast<std::uint64_t>(decision.event) ^
              static_cast<std::uint64_t>(decision.reason) << 24);
  if (traces()) {
    trace(fmt::format(
        "switch {} port {}: {} {}{}: {}", at, in.value, name_of(decision.action),
        name_of(decision.event),
        decision.action == core::Action::drop ? fmt::format(" {}", name_of(decision.reason)) : "",
        describe(frame)));
  }
}

void Fabric::trace(const std::string& what) {
  if (options_.trace != nullptr) {
    fmt::print(options_.trace, "{:>14.3f} us  {}\n", static_cast<double>(now().value) / 1e3, what);
  }
}

void Fabric::violation(std::string what) {
  trace("VIOLATION: " + what);
  if (violations_.size() < violations_kept) {
    violations_.push_back(fmt::format("at {} ns: {}", now().value, what));
  }
}

std::uint64_t Fabric::drops(core::DropReason reason) const {
  std::uint64_t n = 0;
  for (const auto& s : switches_) {
    n += s->drops(reason);
  }
  return n;
}

std::uint64_t Fabric::engines(core::Counter core::EngineCounters::*counter) const {
  std::uint64_t n = 0;
  for (const auto& s : switches_) {
    n += s->engines(counter);
  }
  return n;
}

std::uint64_t Fabric::trees(core::Counter core::TreeCounters::*counter) const {
  std::uint64_t n = 0;
  for (const auto& s : switches_) {
    n += s->trees(counter);
  }
  return n;
}

std::size_t Fabric::descriptors_in_use() const {
  std::size_t n = 0;
  for (const auto& s : switches_) {
    n += s->descriptors_in_use();
  }
  return n;
}

void Fabric::audit() {
  check_descriptors();
  std::uint64_t ended = 0;
  for (const std::uint64_t n : accounting_.fates) {
    ended += n;
  }
  const std::uint64_t begun =
      accounting_.sent_by_hosts + accounting_.sent_by_switches + accounting_.duplicates;
  if (begun != ended + accounting_.in_flight) {
    violation(fmt::format("{} frames were put on wires, but {} ended and {} are in flight", begun,
                          ended, accounting_.in_flight));
  }
  std::uint64_t waiting = 0;
  for (const auto& s : switches_) {
    s->audit();
    waiting += s->accounting().waiting + s->accounting().crossing + s->queued();
  }
  for (const Host& host : hosts_) {
    host.out->audit();
  }
  if (frames_.in_use() != accounting_.in_flight + waiting) {
    violation(fmt::format("{} frame buffers are in use for {} frames on wires and {} in switches",
                          frames_.in_use(), accounting_.in_flight, waiting));
  }
  if (accounting_.of(Fate::bad_fcs) > fault_counts_.of(Fault::wire_corruption)) {
    violation("more frames failed their FCS than were damaged on a wire");
  }
}

} // namespace tributary::fabric
