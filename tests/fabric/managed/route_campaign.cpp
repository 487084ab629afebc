#include "tests/fabric/managed/route_campaign.hpp"

#include "controlplane/topology/builders.hpp"
#include "tests/fabric/flows.hpp"
#include "tests/fabric/managed/route_walk.hpp"
#include "tributary/random.hpp"

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace tributary::fabric {
namespace {

constexpr std::uint64_t milliseconds = 1'000'000;
constexpr std::uint64_t seconds = 1'000'000'000;
const api::Caller administrator{.token = {}, .administrator = true};

/// Virtual time from the last event until no operation is pending.
constexpr std::uint64_t rest_within_ns = 8 * seconds;
constexpr std::uint64_t steps_of_a_run = 6;
constexpr std::uint64_t most_at_once = 3;
constexpr std::uint64_t flows_of_a_run = 6;
constexpr std::uint64_t paths_of_a_step = 6;
/// At rest, in which nothing may be lost.
constexpr std::uint64_t quiet_ns = 5 * milliseconds;

Topology ring_with_chords(std::uint32_t switches, std::uint32_t chords) {
  Topology ring;
  for (SwitchIndex at = 0; at < switches; ++at) {
    ring.add_switch();
    ring.add_host(at, 1'000);
  }
  for (SwitchIndex at = 0; at < switches; ++at) {
    ring.connect(at, (at + 1) % switches, 1'000);
  }
  for (SwitchIndex at = 0; at < chords; ++at) {
    ring.connect(at, at + switches / 2, 1'000);
  }
  return ring;
}

/// Drawn first: the fabric, and its routing.
struct Scene {
  std::string name;
  Topology topology;
  std::string algorithm{"auto"};
  std::uint8_t vcs = 2;

  explicit Scene(Random& random) {
    vcs = static_cast<std::uint8_t>(1 + random.below(2));
    switch (random.below(4)) {
    case 0: {
      const auto switches = static_cast<std::uint32_t>(6 + 2 * random.below(3));
      const auto chords = static_cast<std::uint32_t>(random.below(switches / 2 + 1));
      topology = ring_with_chords(switches, chords);
      name = fmt::format("ring of {} and {} chords", switches, chords);
      break;
    }
    case 1: model(random, "ft3:4"); break;
    case 2: model(random, "kdft:4x4x1"); break;
    default: model(random, "dragonfly:3,1,1"); break;
    }
    name += fmt::format(", {} virtual channel{}, {}", vcs, vcs == 1 ? "" : "s", algorithm);
  }

private:
  void model(Random& random, const char* model) {
    name = model;
    topology = Topology(topology::build_model(model).graph);
    constexpr std::array<std::string_view, 4> by_name{"vtftr", "vtftr_plus", "phase_search",
                                                      "general"};
    if (random.below(3) == 0) {
      algorithm = by_name[random.below(by_name.size())];
    }
  }
};

ManagedOptions options_of(const Scene& scene, Random& random) {
  ManagedOptions options;
  options.open_edges = true;
  options.hello_interval_ns = 10 * milliseconds;
  options.work_ns = random.below(3) * 2 * milliseconds;
  options.fabric.vlan_id = 0;
  options.manager.timeout_ns = 300 * milliseconds;
  options.manager.discovery.timeout_ns = 300 * milliseconds;
  options.manager.routes.routes.enabled = true;
  options.manager.routes.routes.algorithm = scene.algorithm;
  options.manager.routes.routes.vcs = scene.vcs;
  options.manager.routes.damping.enabled = false; // a link that is up again is used again
  return options;
}

class RouteCampaign {
public:
  RouteCampaign(std::uint64_t seed, std::FILE* trace)
      : random_(Random(seed).fork(3)), scene_(random_), trace_(trace),
        managed_(scene_.topology, options_of(scene_, random_), seed), flows_(managed_.fabric()) {
    report_.seed = seed;
    report_.fabric = scene_.name;
    const auto& links = topology().links();
    for (LinkIndex l = 0; l < links.size(); ++l) {
      if (links[l].ends[0].kind == LinkEnd::Kind::in_switch) {
        trunks_.push_back(l);
      }
    }
  }

  RouteCampaignReport run() {
    log(report_.fabric);
    managed_.announce_all();
    begin_traffic();
    managed_.run_for(200 * milliseconds);
    managed_.announce_all();
    if (rests("the start")) {
      for (report_.steps = 1; report_.steps <= steps_of_a_run; ++report_.steps) {
        const std::string what = step();
        if (!rests(what)) {
          break;
        }
      }
    }
    report_.frames = flows_.received();
    for (const std::string& violation : managed_.fabric().violations()) {
      violate("fabric", violation);
    }
    return std::move(report_);
  }

private:
  [[nodiscard]] const Topology& topology() { return managed_.fabric().topology(); }
  void log(const std::string& text) {
    if (trace_ != nullptr) {
      fmt::print(trace_, "{:>10.3f} ms  {}\n",
                 static_cast<double>(managed_.fabric().now().value) / 1e6, text);
    }
  }
  void violate(const std::string& when, const std::string& what) {
    report_.violations.push_back(fmt::format("{}: after {}: {}", report_.fabric, when, what));
    log("VIOLATION " + report_.violations.back());
  }

  void begin_traffic() {
    flows_.allow_disorder();
    flows_.allow_other_classes();
    const auto hosts = static_cast<HostIndex>(topology().host_count());
    for (std::uint64_t i = 0; i < flows_of_a_run; ++i) {
      const auto from = static_cast<HostIndex>(random_.below(hosts));
      const auto to = static_cast<HostIndex>((from + 1 + random_.below(hosts - 1)) % hosts);
      flows_.add({.from = from, .to = to, .frames = ~std::uint64_t{0}, .gap_ns = 2 * milliseconds});
    }
    flows_.start([](HostIndex) -> HostProgram* { return nullptr; });
  }

  // ---- faults and recoveries ----

  std::string step() {
    std::string all;
    const std::uint64_t count = 1 + random_.below(most_at_once);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string what = random_event();
      if (!what.empty()) {
        log(what);
        ++report_.faults;
        all += (all.empty() ? "" : ", ") + what;
        managed_.run_for(random_.below(4) * random_.below(8) * milliseconds);
      }
    }
    return all;
  }

  std::string random_event() {
    switch (random_.below(10)) {
    case 0:
    case 1: return kill_or_restart();
    case 2:
    case 3:
    case 4: return flip_link();
    case 5: return drain_or_not();
    case 6: return restart_manager();
    case 7: return isolate_or_join();
    case 8: return break_channel();
    default: return everything_comes_back();
    }
  }

  SwitchIndex any_switch() {
    return static_cast<SwitchIndex>(random_.below(topology().switch_count()));
  }

  std::string kill_or_restart() {
    const SwitchIndex at = any_switch();
    if (managed_.runs(at)) {
      managed_.crash(at);
      const bool carrier = random_.below(3) == 0;
      if (!carrier) {
        no_carrier_.insert(at);
        update_links(at);
      }
      return fmt::format("s{} died{}", at, carrier ? ", its ports keep their carrier" : "");
    }
    return restart(at);
  }

  std::string restart(SwitchIndex at) {
    managed_.restart(at);
    no_carrier_.erase(at);
    update_links(at);
    for (HostIndex h = 0; h < topology().host_count(); ++h) {
      if (topology().edge_port(h).node == at) {
        managed_.announce(h);
      }
    }
    return fmt::format("s{} started", at);
  }

  std::string flip_link() {
    const LinkIndex link = trunks_[random_.below(trunks_.size())];
    const bool was_cut = cut_.erase(link) != 0;
    if (!was_cut) {
      cut_.insert(link);
    }
    update_link(link);
    return fmt::format("{} is {}", describe_link(link), was_cut ? "mended" : "cut");
  }

  std::string isolate_or_join() {
    const SwitchIndex at = any_switch();
    const bool was = isolated_.erase(at) != 0;
    if (!was) {
      isolated_.insert(at);
    }
    update_links(at);
    return fmt::format("s{} {} all its links", at, was ? "has again" : "has lost");
  }

  std::string break_channel() {
    const SwitchIndex at = any_switch();
    if (!managed_.has_manager() || !managed_.runs(at)) {
      return {};
    }
    managed_.break_channel(at);
    return fmt::format("the channel of s{} broke", at);
  }

  std::string restart_manager() {
    managed_.kill_manager();
    managed_.run_for(random_.below(100) * milliseconds);
    managed_.start_manager();
    return "the manager started again";
  }

  std::string drain_or_not() {
    using Verb = api::DrainRequest::Verb;
    const SwitchIndex at =
        drained_.empty() || random_.below(2) == 0 ? any_switch() : *drained_.begin();
    const bool is_drained = drained_.contains(at);
    unsigned status = 0;
    managed_.manager().ask<&manager::Manager::drain>(
        administrator,
        {.verb = is_drained ? Verb::undrain : Verb::drain,
         .at = ManagedFabric::switch_name(at),
         .force = true},
        [&](const api::Answer& answer) { status = answer.status; });
    managed_.run_for(1 * milliseconds);
    if (status != 202) {
      return {}; // a restarted manager does not know it
    }
    if (is_drained) {
      drained_.erase(at);
    } else {
      drained_.insert(at);
    }
    return fmt::format("s{} is {}drained", at, is_drained ? "un" : "");
  }

  std::string everything_comes_back() {
    isolated_.clear();
    cut_.clear();
    for (SwitchIndex at = 0; at < topology().switch_count(); ++at) {
      if (!managed_.runs(at)) {
        static_cast<void>(restart(at));
      }
    }
    for (const LinkIndex link : trunks_) {
      update_link(link);
    }
    return "everything came back";
  }

  std::string describe_link(LinkIndex link) {
    const auto& ends = topology().links()[link].ends;
    return fmt::format("s{} - s{}", ends[0].node, ends[1].node);
  }
  [[nodiscard]] bool should_be_up(LinkIndex link) {
    const auto& ends = topology().links()[link].ends;
    return !cut_.contains(link) && std::ranges::none_of(ends, [&](const LinkEnd& end) {
      return isolated_.contains(end.node) || no_carrier_.contains(end.node);
    });
  }
  void update_link(LinkIndex link) {
    const LinkEnd& end = topology().links()[link].ends[0];
    if (managed_.link_up(end.node, end.port) != should_be_up(link)) {
      managed_.set_link_up(link, should_be_up(link));
    }
  }
  void update_links(SwitchIndex at) {
    for (const LinkIndex link : trunks_) {
      const auto& ends = topology().links()[link].ends;
      if (ends[0].node == at || ends[1].node == at) {
        update_link(link);
      }
    }
  }

  // ---- at rest ----

  [[nodiscard]] const fabric_controller::RouteControl& control() {
    return managed_.manager().route_control();
  }

  /// Whether the manager knows the current fabric, and no operation is pending.
  [[nodiscard]] std::string unrest() {
    const topology::Graph& graph = managed_.manager().graph();
    for (SwitchIndex at = 0; at < topology().switch_count(); ++at) {
      const auto id = graph.find_switch(ManagedFabric::switch_name(at));
      const bool is_connected = id && managed_.manager().coordinator().is_connected(*id);
      if (is_connected != managed_.runs(at)) {
        return fmt::format("s{} is {}connected", at, is_connected ? "" : "not ");
      }
    }
    for (const LinkIndex link : trunks_) {
      const auto& ends = topology().links()[link].ends;
      const bool is_up =
          should_be_up(link) && managed_.runs(ends[0].node) && managed_.runs(ends[1].node);
      const auto a = graph.find_switch(ManagedFabric::switch_name(ends[0].node));
      const auto b = graph.find_switch(ManagedFabric::switch_name(ends[1].node));
      const auto known = a && b
                             ? graph.find_link({*a, ends[0].port.value}, {*b, ends[1].port.value})
                             : std::nullopt;
      if ((known && graph[*known].plugged && graph.usable(*known)) != is_up) {
        return fmt::format("{} is taken for {}", describe_link(link), is_up ? "down" : "up");
      }
    }
    const route_controller::RouteSets& life = control().life();
    if (life.next() != nullptr && life.next()->state != route_controller::State::refused) {
      return fmt::format("the next set is {}", route_controller::name_of(life.next()->state));
    }
    if (life.installing() != nullptr) {
      return fmt::format("a set is {}", route_controller::name_of(life.installing()->state));
    }
    for (const faults::Fault& fault : control().log().faults()) {
      if (fault.state == faults::FaultState::open ||
          fault.state == faults::FaultState::installing) {
        return fmt::format("fault {} is {}", fault.number, faults::name_of(fault.state));
      }
    }
    return control().problem();
  }

  bool rests(const std::string& what) {
    const TimeNs from = managed_.fabric().now();
    std::string unrest_now;
    do {
      managed_.run_for(40 * milliseconds);
      unrest_now = unrest();
    } while (!unrest_now.empty() && elapsed_ns(managed_.fabric().now(), from) < rest_within_ns);
    const std::uint64_t took = elapsed_ns(managed_.fabric().now(), from);
    report_.longest_ns = std::max(report_.longest_ns, took);
    report_.remade = std::max(report_.remade, control().failures());
    log(fmt::format("at rest after {} ms", took / milliseconds));
    if (!unrest_now.empty()) {
      std::string routes;
      managed_.manager().ask<&manager::Manager::view_routes>(
          administrator, {},
          [&](const api::Answer& answer) { routes = boost::json::serialize(answer.body); });
      managed_.manager().ask<&manager::Manager::faults>(
          administrator, 4,
          [&](const api::Answer& answer) { routes += boost::json::serialize(answer.body); });
      violate(what, fmt::format("no rest: {}; {}", unrest_now, routes));
      return false;
    }
    const RouteWalk walk(managed_, drained_);
    report_.pairs += walk.pairs();
    for (const std::string& problem : walk.problems()) {
      violate(what, problem);
    }
    compare_paths(what, walk);
    watch_traffic(what, walk);
    return report_.violations.empty();
  }

  void compare_paths(const std::string& what, const RouteWalk& walk) {
    const auto hosts = static_cast<HostIndex>(topology().host_count());
    for (std::uint64_t i = 0; i < paths_of_a_step; ++i) {
      const auto from = static_cast<HostIndex>(random_.below(hosts));
      const auto to = static_cast<HostIndex>((from + 1 + random_.below(hosts - 1)) % hosts);
      if (!walk.connected(from, to)) {
        continue;
      }
      managed_.manager().ask<&manager::Manager::paths>(
          administrator, {ManagedFabric::host_name(from), ManagedFabric::host_name(to)},
          [&](const api::Answer& answer) {
            ++report_.paths;
            const std::string text = boost::json::serialize(answer.body);
            if (answer.status != 200 || answer.body.at("end") != "deliver") {
              violate(what, fmt::format("paths h{} h{} says {}", from, to, text));
              return;
            }
            std::vector<RouteWalk::Hop> hops;
            for (const auto& hop : answer.body.at("hops").as_array()) {
              hops.push_back({std::string(hop.at("switch").as_string()),
                              PortNumber{hop.at("in").to_number<std::uint8_t>()},
                              PortNumber{hop.at("out").to_number<std::uint8_t>()}});
            }
            if (const std::string why = walk.differs(from, to, hops); !why.empty()) {
              violate(what, fmt::format("paths h{} h{} says what the tables do not: {}; {}", from,
                                        to, why, text));
            }
          });
    }
  }

  void watch_traffic(const std::string& what, const RouteWalk& walk) {
    std::vector<std::pair<std::uint64_t, std::map<std::string_view, std::uint64_t>>> before;
    flows_.for_each([&](const Flow& flow) { before.emplace_back(flow.received, flow.lost); });
    managed_.run_for(quiet_ns);
    std::size_t i = 0;
    flows_.for_each([&](const Flow& flow) {
      const auto& [received, lost] = before[i++];
      if (walk.connected(flow.from, flow.to) && (flow.lost != lost || flow.received == received)) {
        std::string why;
        for (const auto& [reason, count] : flow.lost) {
          why += fmt::format(" {} {}", reason, count);
        }
        violate(what, fmt::format("{} frames of h{} came to h{} without any event; lost:{}",
                                  flow.received - received, flow.from, flow.to, why));
      }
    });
  }

  Random random_;
  Scene scene_;
  std::FILE* trace_;
  RouteCampaignReport report_;
  ManagedFabric managed_;
  Flows flows_;
  std::vector<LinkIndex> trunks_;
  std::set<LinkIndex> cut_;
  std::set<SwitchIndex> isolated_;
  std::set<SwitchIndex> no_carrier_; ///< dead, and its ports are dark
  std::set<SwitchIndex> drained_;
};

} // namespace

RouteCampaignReport run_route_campaign(std::uint64_t seed, std::FILE* trace) {
  return RouteCampaign(seed, trace).run();
}

std::string route_campaign_command(std::uint64_t seed) {
  return fmt::format("fabric-managed --seed {} --trace", seed);
}

} // namespace tributary::fabric
