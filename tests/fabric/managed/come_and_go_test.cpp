// Groups that come and go by the thousand while their hosts do, as with MPI programs that create
// and free communicators on failing nodes: nothing is left over, and the manager keeps working.
// Hosts are forgotten soon after they go down, so that the numbers of others change all the time.
#include "tests/fabric/managed/managed_fabric.hpp"

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tributary::fabric::coming {
namespace {

using testing::IsEmpty;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t s = 1'000'000'000;
const api::Caller administrator{.token = {}, .administrator = true};

constexpr std::uint32_t leaves = 4;
constexpr std::uint32_t spines = 2;
constexpr std::uint32_t hosts_per_leaf = 6;
constexpr std::uint32_t host_count = leaves * hosts_per_leaf;

ManagedOptions short_lives() {
  ManagedOptions options;
  options.hello_interval_ns = 20 * ms;
  options.manager.discovery.host_memory_ns = 30 * ms;
  options.manager.discovery.timeout_ns = 20 * ms;
  options.manager.timeout_ns = 20 * ms;
  options.manager.rebalance_quiet_ns = 5 * ms;
  options.manager.groups.default_multicast_limit = max_trees;
  options.manager.groups.lease_ns = 100 * ms;
  options.manager.groups.join_limit_ns = 100 * ms;
  options.manager.groups.leave_limit_ns = 100 * ms;
  options.manager.routes.routes.enabled = true;
  return options;
}

/// Programs join, wait for their answers, and leave or die, one after the other, on hosts that do
/// the same.
class ComeAndGo {
public:
  explicit ComeAndGo(std::uint64_t seed)
      : random_(Random(seed).fork(30)),
        managed_(leaves_and_spines(leaves, spines, hosts_per_leaf), short_lives(), seed) {
    announce_all();
  }

  void run(std::uint32_t groups) {
    while (made_ < groups) {
      for (std::uint64_t n = random_.between(1, 4); n > 0; --n) {
        join();
      }
      disturb();
      managed_.run_for(random_.between(1, 3000) * 1000);
      leave_some();
    }
  }
  /// All hosts are there again, and all programs end.
  void expect_clean_end() {
    for (HostIndex host = 0; host < host_count; ++host) {
      managed_.set_link_up(link_of(host), true);
    }
    for (SwitchIndex at = 0; at < leaves + spines; ++at) {
      if (!managed_.runs(at)) {
        managed_.restart(at);
      }
    }
    announce_all();
    EXPECT_TRUE(managed_.run_until([&] { return known().groups().empty(); }, 10 * s));
    managed_.run_for(200 * ms);
    EXPECT_THAT(managed_.disagreements(), IsEmpty());
    EXPECT_THAT(managed_.fabric().violations(), IsEmpty());
    EXPECT_THAT(managed_.manager().states().all(), IsEmpty());
  }
  [[nodiscard]] std::uint32_t made() const { return made_; }
  [[nodiscard]] std::uint32_t ready() const { return ready_; }
  [[nodiscard]] std::uint64_t forgotten() {
    return managed_.manager().discovery().hosts_forgotten();
  }

private:
  struct Program {
    std::string name;
    std::vector<HostIndex> hosts;
    std::uint32_t answered = 0;
  };

  [[nodiscard]] const group::Registry& known() { return managed_.manager().groups(); }
  [[nodiscard]] LinkIndex link_of(HostIndex host) {
    return managed_.fabric().topology().link_of(host);
  }
  void announce_all() { managed_.announce_all(); }

  void join() {
    Program program{.name = "g" + std::to_string(made_++), .hosts = {}};
    for (HostIndex host = 0; host < host_count; ++host) {
      program.hosts.push_back(host);
    }
    random_.shuffle(program.hosts);
    program.hosts.resize(random_.between(1, 5));
    const auto trees = static_cast<std::uint32_t>(random_.between(1, 2));
    const auto size = static_cast<std::uint32_t>(program.hosts.size());
    const std::uint64_t missing = random_.below(8) == 0 ? 1 : 0;
    for (std::uint32_t rank = 0; rank + missing < size; ++rank) {
      api::JoinRequest request;
      request.group = {
          .job = {}, .name = program.name, .size = size, .trees = trees, .root_rank = std::nullopt};
      request.rank = rank;
      request.nid = Topology::nid(program.hosts[rank]);
      request.host = ManagedFabric::host_name(program.hosts[rank]);
      request.wait = std::chrono::milliseconds(50);
      managed_.join(request,
                    [this](const api::Answer& answer) { ready_ += answer.status == 200 ? 1 : 0; });
    }
    programs_.push_back(std::move(program));
  }

  void leave_some() {
    while (programs_.size() > 6 || (!programs_.empty() && random_.below(3) == 0)) {
      const Program program = programs_[random_.below(programs_.size())];
      std::erase_if(programs_, [&](const Program& p) { return p.name == program.name; });
      switch (random_.below(4)) {
      case 0: return; // dies: its leases run out
      case 1:
        managed_.manager().ask<&manager::Manager::delete_group>(administrator, {{}, program.name},
                                                                [](const api::Answer&) {});
        break;
      default:
        for (std::uint32_t rank = 0; rank < program.hosts.size(); ++rank) {
          managed_.manager().ask<&manager::Manager::leave_group>(
              administrator, {.job = {}, .group = program.name, .rank = rank},
              [](const api::Answer&) {});
        }
      }
    }
  }

  void disturb() {
    const auto host = static_cast<HostIndex>(random_.below(host_count));
    switch (random_.below(12)) {
    case 0:
    case 1:
    case 2: managed_.set_link_up(link_of(host), false); break;
    case 3:
    case 4:
    case 5:
      managed_.set_link_up(link_of(host), true);
      managed_.announce(host);
      break;
    case 6: // another host is cabled there, or the same under another NID
    {
      const auto stranger = static_cast<std::uint32_t>(random_.below(1000));
      managed_.announce_as(host, Nid{0x50000 + stranger}, "x" + std::to_string(stranger));
      break;
    }
    case 7: managed_.break_channel(static_cast<SwitchIndex>(random_.below(leaves + spines))); break;
    case 8: {
      const auto at = static_cast<SwitchIndex>(random_.below(leaves + spines));
      if (managed_.runs(at) && random_.below(4) == 0) {
        managed_.crash(at);
        managed_.fabric().at(managed_.fabric().now() + random_.between(1, 20) * ms,
                             [this, at] { managed_.restart(at); });
      }
      break;
    }
    default: break;
    }
  }

  Random random_;
  ManagedFabric managed_;
  std::vector<Program> programs_;
  std::uint32_t made_ = 0;
  std::uint32_t ready_ = 0;
};

TEST(come_and_go, ten_thousand_groups_come_and_go_while_their_hosts_do) {
  constexpr std::uint32_t groups = 10'000 / TRIBUTARY_SEED_DIVISOR;
  const char* given = std::getenv("TRIBUTARY_SEED");
  ComeAndGo campaign(given != nullptr ? std::strtoull(given, nullptr, 0) : 1);
  campaign.run(groups);
  EXPECT_GT(campaign.ready(), groups / 10) << "hardly any came to be";
  EXPECT_GT(campaign.forgotten(), groups / 100);
  campaign.expect_clean_end();
}

} // namespace
} // namespace tributary::fabric::coming
