// Discovery against a random world: whatever the events and the order of their reports, the final
// result is the real fabric.

#include "tests/unit/controlplane/topology/full_search.hpp"
#include "tests/unit/controlplane/topology/reports.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tributary::topology {
namespace {

using tributary::test::Random;
using tributary::test::seed;

using test::End;
using test::second;
using test::World;

/// Switches with random links, hosts with and without guards, some ports free.
World random_world(Random& random) {
  World world;
  const std::size_t switches = 2 + random() % 5;
  std::vector<End> free;
  for (std::size_t s = 0; s < switches; ++s) {
    const std::string name = fmt::format("s{}", s);
    world.switches[name] = static_cast<std::uint32_t>(4 + random() % 5);
    for (std::uint32_t p = 0; p < world.switches[name]; ++p) {
      free.push_back({name, p});
    }
  }
  std::shuffle(free.begin(), free.end(), random);
  for (std::size_t i = 0; i + 1 < free.size() / 2; i += 2) {
    if (free[i].first != free[i + 1].first) {
      world.join(free[i], free[i + 1]);
    }
  }
  for (std::uint32_t i = 0; i < free.size() / 4; ++i) {
    const std::uint32_t nid = 10 + i;
    world.hosts[nid] = {fmt::format("h{}", nid), random() % 3 != 0, random() % 2 == 0};
    if (!world.hosts[nid].says_hello) {
      world.hosts[nid].guarded = true;
    }
    world.host_at[free[free.size() / 2 + i]] = nid;
  }
  return world;
}

std::vector<End> ports_of(const World& world) {
  std::vector<End> all;
  for (const auto& [name, ports] : world.switches) {
    for (std::uint32_t p = 0; p < ports; ++p) {
      all.push_back({name, p});
    }
  }
  return all;
}

/// One event in the world.
void disturb(World& world, Random& random) {
  const std::vector<End> ports = ports_of(world);
  const auto any_port = [&] { return ports[random() % ports.size()]; };
  switch (random() % 5) {
  case 0: {
    const End at = any_port();
    if (!world.ports_down.erase(at)) {
      world.ports_down.insert(at);
    }
    return;
  }
  case 1: world.part(any_port()); return;
  case 2: { // a link between two ports that were free, or are now
    const End a = any_port();
    const End b = any_port();
    if (a.first != b.first && !world.host_at.contains(a) && !world.host_at.contains(b)) {
      world.part(a);
      world.part(b);
      world.join(a, b);
    }
    return;
  }
  case 3: { // a host moves
    const End to = any_port();
    if (!world.host_at.empty() && !world.host_at.contains(to)) {
      auto moved = world.host_at.begin();
      std::advance(moved, static_cast<std::ptrdiff_t>(random() % world.host_at.size()));
      world.part(to);
      world.host_at[to] = moved->second;
      world.host_at.erase(moved);
    }
    return;
  }
  default: { // a host disappears, or another one appears
    const End at = any_port();
    if (world.host_at.erase(at) == 0 && !world.links.contains(at)) {
      for (const auto& [nid, host] : world.hosts) {
        const bool placed = std::ranges::any_of(
            world.host_at, [&, id = nid](const auto& entry) { return entry.second == id; });
        if (!placed) {
          world.host_at[at] = nid;
          return;
        }
      }
    }
  }
  }
}

/// Invariants at any time.
void check_sanity(const Graph& graph) {
  for (std::uint32_t c = 0; c < graph.links().size(); ++c) {
    const Link& link = graph[LinkId{c}];
    ASSERT_TRUE(link.plugged || !link.up);
    for (const Attachment end : link.ends) {
      ASSERT_EQ(link.plugged, graph.link_at(end) == LinkId{c});
    }
  }
  for (std::uint32_t h = 0; h < graph.hosts().size(); ++h) {
    const Host& host = graph[HostId{h}];
    ASSERT_TRUE(host.plugged || !host.up);
    ASSERT_EQ(host.plugged, graph.host_at(host.at) == HostId{h});
    ASSERT_FALSE(host.plugged && graph.link_at(host.at));
  }
}

/// A mirror of the graph, maintained from the changes alone: they must be complete.
class Mirror {
public:
  void apply(const std::vector<Change>& changes) {
    for (const Change& change : changes) {
      using Kind = Change::Kind;
      switch (change.kind) {
      case Kind::switch_added: add(switches_, change.at.value, true); break;
      case Kind::switch_up: set(switches_, change.at.value, true); break;
      case Kind::switch_down: set(switches_, change.at.value, false); break;
      case Kind::link_added: add(links_, change.link.value, true); break;
      case Kind::link_up: set(links_, change.link.value, true); break;
      case Kind::link_down: set(links_, change.link.value, false); break;
      case Kind::host_added: EXPECT_TRUE(hosts_.emplace(change.nid.value, true).second); break;
      case Kind::host_moved: hosts_.at(change.nid.value) = true; break;
      case Kind::host_up: set(hosts_, change.nid.value, true); break;
      case Kind::host_down: set(hosts_, change.nid.value, false); break;
      case Kind::host_forgotten:
        EXPECT_FALSE(hosts_.at(change.nid.value));
        hosts_.erase(change.nid.value);
        break;
      case Kind::switch_changed:
      case Kind::host_renamed: break;
      }
      EXPECT_FALSE(change.text.empty());
    }
  }
  void expect_equal(const Graph& graph) const {
    const auto compare = [](const auto& mine, const auto& real) {
      ASSERT_EQ(mine.size(), real.size());
      for (std::size_t i = 0; i < real.size(); ++i) {
        ASSERT_EQ(mine.at(static_cast<std::uint32_t>(i)), real[i].up);
      }
    };
    compare(switches_, graph.switches());
    compare(links_, graph.links());
    ASSERT_EQ(hosts_.size(), graph.hosts().size());
    for (const Host& host : graph.hosts()) {
      ASSERT_EQ(hosts_.at(host.nid.value), host.up);
    }
  }

private:
  using Ups = std::map<std::uint32_t, bool>;
  static void add(Ups& ups, std::uint32_t id, bool up) {
    EXPECT_EQ(id, ups.size()) << "numbers are dense and in order";
    EXPECT_TRUE(ups.emplace(id, up).second);
  }
  static void set(Ups& ups, std::uint32_t id, bool up) {
    EXPECT_NE(ups.at(id), up) << "a change that is none";
    ups.at(id) = up;
  }
  Ups switches_, links_, hosts_;
};

/// The current problems, maintained from their reports alone.
class Reported {
public:
  void apply(const std::vector<ProblemNews>& news) {
    for (const ProblemNews& one : news) {
      if (one.there) {
        there_.insert(one.problem);
      } else {
        const auto found = there_.find(one.problem);
        ASSERT_NE(found, there_.end()) << "over without having been there: " << one.problem.text;
        there_.erase(found);
      }
    }
  }
  void expect_equal(const Discovery& discovery) const {
    const std::vector<Problem> all(there_.begin(), there_.end());
    ASSERT_EQ(all, discovery.problems());
    ASSERT_EQ(all, FullSearch::problems(discovery));
    ASSERT_EQ(all.size(), discovery.problem_count());
  }

private:
  std::multiset<Problem> there_;
};

/// A copy of the graph, maintained from touched elements alone.
class Follower {
public:
  void follow(Discovery& discovery) {
    const Graph& graph = discovery.graph();
    const Touched touched = discovery.take_touched();
    for (const SwitchId s : touched.switches) {
      switches_[s] =
          fmt::format("{} {} {} {}", graph[s].name, graph[s].guid, graph[s].ports, graph[s].up);
    }
    for (const LinkId c : touched.links) {
      links_[c] = text(graph, c);
    }
    for (const Nid nid : touched.hosts) {
      if (const auto host = graph.find_host(nid)) {
        hosts_[nid] = text(graph, *host);
      } else {
        hosts_.erase(nid);
      }
    }
    ASSERT_EQ(switches_.size(), graph.switches().size());
    ASSERT_EQ(links_.size(), graph.links().size());
    ASSERT_EQ(hosts_.size(), graph.hosts().size());
    for (const auto& [s, known] : switches_) {
      ASSERT_EQ(known, fmt::format("{} {} {} {}", graph[s].name, graph[s].guid, graph[s].ports,
                                   graph[s].up));
    }
    for (const auto& [c, known] : links_) {
      ASSERT_EQ(known, text(graph, c));
    }
    for (const auto& [nid, known] : hosts_) {
      ASSERT_EQ(known, text(graph, graph.find_host(nid).value()));
    }
  }

private:
  static std::string text(const Graph& graph, LinkId c) {
    return fmt::format("{} {} {} {}", graph.describe(c), graph[c].speed_mbps, graph[c].up,
                       graph[c].plugged);
  }
  static std::string text(const Graph& graph, HostId h) {
    return fmt::format("{} {} {} {} {}", graph[h].name, graph[h].nid.value,
                       graph.describe(graph[h].at), graph[h].up, graph[h].plugged);
  }
  std::map<SwitchId, std::string> switches_;
  std::map<LinkId, std::string> links_;
  std::map<Nid, std::string> hosts_;
};

TEST(RandomDiscovery, finds_the_same_fabric_in_whatever_order_switches_and_ports_report) {
  Random random(seed());
  for (int round = 0; round < 200 / TRIBUTARY_SEED_DIVISOR; ++round) {
    const World world = random_world(random);
    for (int order = 0; order < 5; ++order) {
      Discovery discovery;
      TimeNs now{second};
      // First all switches, in some order, most of them with ports that have received no hello yet;
      // then every port, in some order, some of them several times.
      std::vector<std::string> names;
      for (const auto& [name, ports] : world.switches) {
        names.push_back(name);
      }
      std::shuffle(names.begin(), names.end(), random);
      std::vector<End> reports = ports_of(world);
      for (const std::string& name : names) {
        std::vector<control::Port> ports = world.ports(name);
        for (control::Port& port : ports) {
          if (random() % 3 == 0) {
            port.clear_neighbour();
          } else if (random() % 3 == 0) {
            port.set_up(false);
            port.clear_neighbour();
          }
        }
        discovery.connected(test::hello_of(name, ports), now);
        now = now + random() % second;
        discovery.poll(now);
      }
      reports.insert(reports.end(), reports.begin(),
                     reports.begin() + static_cast<std::ptrdiff_t>(random() % reports.size()));
      std::shuffle(reports.begin(), reports.end(), random);
      for (const End& at : reports) {
        discovery.report(at.first, test::report_of({world.port(at)}), now);
        now = now + random() % (second / 10);
        discovery.poll(now);
        ASSERT_NO_FATAL_FAILURE(check_sanity(discovery.graph()));
      }
      ASSERT_EQ(test::live_of(discovery.graph()), test::live_of(world)) << "round " << round;
      discovery.poll(now + 10 * second);
      ASSERT_EQ(test::live_of(discovery.graph()), test::live_of(world)) << "round " << round;
    }
  }
}

TEST(RandomDiscovery, ends_right_after_links_hosts_and_channels_flapped) {
  Random random(seed() + 1);
  for (int round = 0; round < 100 / TRIBUTARY_SEED_DIVISOR; ++round) {
    World world = random_world(random);
    DiscoverySettings settings;
    settings.host_memory_ns = round % 2 == 0 ? 20 * second : settings.host_memory_ns;
    Discovery discovery(settings);
    Mirror mirror;
    Reported reported;
    Follower copy;
    TimeNs now{second};
    std::set<std::string> connected;
    std::map<std::string, std::uint64_t> boots;
    const auto look = [&] {
      mirror.apply(discovery.take_changes());
      mirror.expect_equal(discovery.graph());
      check_sanity(discovery.graph());
      reported.apply(discovery.take_news());
      ASSERT_NO_FATAL_FAILURE(reported.expect_equal(discovery));
      ASSERT_EQ(discovery.next_deadline(), FullSearch::next_deadline(discovery));
      ASSERT_NO_FATAL_FAILURE(copy.follow(discovery));
    };
    for (int step = 0; step < 300; ++step) {
      now = now + random() % (2 * second);
      discovery.poll(now);
      auto chosen = world.switches.begin();
      std::advance(chosen, static_cast<std::ptrdiff_t>(random() % world.switches.size()));
      const std::string& name = chosen->first;
      switch (random() % 6) {
      case 0:
        if (connected.erase(name) != 0) {
          discovery.disconnected(name, now);
        }
        break;
      case 1:
        connected.insert(name);
        boots[name] += random() % 2; // restarted, or only the channel was lost
        discovery.connected(world.hello(name, boots[name] + 1), now);
        break;
      case 2:
      case 3: disturb(world, random); break;
      default: {
        const auto port = static_cast<std::uint32_t>(random() % chosen->second);
        discovery.report(name, test::report_of({world.port({name, port})}), now);
      }
      }
      ASSERT_NO_FATAL_FAILURE(look());
      if (random() % 50 == 0) { // the manager restarts with its stored state
        Discovery restarted(settings);
        restarted.restore(discovery.graph(), now);
        discovery = std::move(restarted);
        reported = {};
        std::ignore = discovery.take_touched();
        connected.clear();
      }
    }
    for (const auto& [name, ports] : world.switches) {
      discovery.connected(world.hello(name, 1000), now);
    }
    discovery.poll(now + 10 * second);
    ASSERT_NO_FATAL_FAILURE(look());
    ASSERT_EQ(test::live_of(discovery.graph()), test::live_of(world)) << "round " << round;
    discovery.poll(now + 10 * second + 2 * settings.host_memory_ns);
    ASSERT_NO_FATAL_FAILURE(look());
    EXPECT_EQ(discovery.next_deadline(), never);
    ASSERT_EQ(test::live_of(discovery.graph()), test::live_of(world)) << "round " << round;
    EXPECT_EQ(discovery.graph().hosts().size(), test::live_of(world).hosts.size());
  }
}

/// Reports that no healthy port makes.
control::Port strange_port(const World& world, const End& at, Random& random) {
  const auto any_host = [&] {
    auto host = world.hosts.begin();
    std::advance(host, static_cast<std::ptrdiff_t>(random() % world.hosts.size()));
    return host->first;
  };
  auto other = world.switches.begin();
  std::advance(other, static_cast<std::ptrdiff_t>(random() % world.switches.size()));
  const auto port = static_cast<std::uint32_t>(random() % 12);
  switch (random() % 6) {
  case 0: return test::port_message(at.second, true, test::switch_neighbour("ghost", port));
  case 1: return test::port_message(at.second, true, test::switch_neighbour(other->first, port));
  case 2: { // of that name, and another one
    control::Neighbour twin = test::switch_neighbour(other->first, port);
    twin.set_guid(0xBAD);
    return test::port_message(at.second, true, twin);
  }
  case 3: return test::port_message(at.second, true, test::host_neighbour("h", any_host()));
  case 4: // an edge port, of another host than the one it receives
    return test::port_message(at.second, true, test::host_neighbour("h", 900), any_host());
  default:
    return test::port_message(at.second, true,
                              test::host_neighbour(world.hosts.at(any_host()).name, 901));
  }
}

TEST(RandomDiscovery, problems_reported_one_by_one_are_those_of_a_look_at_everything) {
  Random random(seed() + 3);
  std::size_t most = 0;
  for (int round = 0; round < 60 / TRIBUTARY_SEED_DIVISOR; ++round) {
    World world = random_world(random);
    world.hosts[902] = {"h", true, false};
    Discovery discovery;
    Reported reported;
    TimeNs now{second};
    for (int step = 0; step < 150; ++step) {
      now = now + random() % second;
      discovery.poll(now);
      auto chosen = world.switches.begin();
      std::advance(chosen, static_cast<std::ptrdiff_t>(random() % world.switches.size()));
      const std::string& name = chosen->first;
      const End at{name, static_cast<std::uint32_t>(random() % chosen->second)};
      switch (random() % 12) {
      case 0: discovery.disconnected(name, now); break;
      case 1: {
        control::SwitchHello hello = world.hello(name, 1 + random() % 2);
        if (random() % 4 == 0) {
          hello.set_guid(wire::guid_of_name(world.switches.begin()->first));
        }
        discovery.connected(hello, now);
        break;
      }
      case 2: disturb(world, random); break;
      case 3:
      case 4:
      case 5:
        discovery.report(name, test::report_of({strange_port(world, at, random)}), now);
        break;
      case 6:
        now = now + 4 * second;
        discovery.poll(now);
        break;
      default: discovery.report(name, test::report_of({world.port(at)}), now);
      }
      reported.apply(discovery.take_news());
      ASSERT_NO_FATAL_FAILURE(reported.expect_equal(discovery)) << "round " << round;
      ASSERT_EQ(discovery.next_deadline(), FullSearch::next_deadline(discovery));
      most = std::max(most, discovery.problem_count());
    }
  }
  EXPECT_GT(most, 4U) << "nothing strange happened";
}

TEST(RandomDiscovery, dead_switches_are_down_and_come_back) {
  Random random(seed() + 2);
  for (int round = 0; round < 100 / TRIBUTARY_SEED_DIVISOR; ++round) {
    World world = random_world(random);
    Discovery discovery;
    TimeNs now{second};
    for (const auto& [name, ports] : world.switches) {
      discovery.connected(world.hello(name), now);
    }
    for (int again = 0; again < 5; ++again) {
      for (const auto& [name, ports] : world.switches) {
        if (random() % 2 == 0) {
          world.dead.insert(name);
          discovery.disconnected(name, now);
        }
      }
      now = now + 4 * second;
      for (const End& at : ports_of(world)) {
        discovery.report(at.first, test::report_of({world.port(at)}), now); // ignored from the dead
      }
      now = now + 4 * second;
      discovery.poll(now);
      ASSERT_EQ(test::live_of(discovery.graph()), test::live_of(world)) << "round " << round;
      for (const std::string& name : std::exchange(world.dead, {})) {
        discovery.connected(world.hello(name, 2 + static_cast<std::uint64_t>(again)), now);
      }
      for (const End& at : ports_of(world)) {
        discovery.report(at.first, test::report_of({world.port(at)}), now);
      }
      now = now + 4 * second;
      discovery.poll(now);
      ASSERT_EQ(test::live_of(discovery.graph()), test::live_of(world)) << "round " << round;
    }
  }
}

} // namespace
} // namespace tributary::topology
