#include "pktgen/traffic/rdma_plan.hpp"

#include "endpoint/rdma/node.hpp"
#include "tributary/random.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tributary::pktgen::traffic {

using scenario::Pattern;
using scenario::Rdma;

namespace {

constexpr std::size_t regions = 2;
constexpr std::uint32_t most_retries = 10'000;
/// Beside payloads: contexts, a bitmap, timers, records.
constexpr std::uint64_t bytes_of_context = 1024;

std::uint32_t hosts_of(const Rdma& settings, std::size_t ports) {
  return settings.nodes == 0 ? static_cast<std::uint32_t>(ports) : settings.nodes;
}
std::uint32_t writers_of(const Rdma& settings, std::uint32_t hosts) {
  return settings.is_one_end() ? settings.clients : hosts;
}
std::uint64_t longest_of(const Rdma& settings) {
  return settings.sizes.empty() ? 0 : *std::ranges::max_element(settings.sizes);
}

void check(const RdmaPlan& plan) {
  const Rdma& settings = plan.settings;
  if (settings.sizes.empty()) {
    throw std::invalid_argument("transfers need a size");
  }
  const std::uint64_t last = std::uint64_t{plan.placement.first_nid} + plan.hosts - 1;
  if (plan.hosts == 0 || last > max_nid ||
      !wire::is_valid_nid(Nid{static_cast<std::uint32_t>(last)})) {
    throw std::invalid_argument(
        fmt::format("{} hosts from NID {:#x} on: the last one cannot stand in a frame; a lower "
                    "first_nid leaves more room",
                    plan.hosts, plan.placement.first_nid));
  }
  if (settings.to != 0 && (!wire::is_valid_nid(Nid{settings.to}) ||
                           (settings.to >= plan.placement.first_nid && settings.to <= last))) {
    throw std::invalid_argument(
        fmt::format("to: NID {:#x} is a host of this generator; its hosts have {:#x} to {:#x}",
                    settings.to, plan.placement.first_nid, last));
  }
  const std::uint64_t contexts = (std::uint64_t{plan.writers} + 1) * settings.in_flight;
  if (contexts >= rdma::most_contexts) {
    throw std::invalid_argument(fmt::format(
        "{} hosts with {} transfers each: a host would need room for {} at once, and has room for "
        "{}; fewer nodes or transfers in flight need less",
        plan.writers, settings.in_flight, contexts, rdma::most_contexts - 1));
  }
  for (scenario::QueuePairIndex a = 0; a + 1 < plan.placement.queue_pair_count(); ++a) {
    if (plan.placement.port_of(a) == plan.placement.port_of(a + 1)) {
      throw std::invalid_argument("queues: a host of transfers needs all its frames on one queue; "
                                  "give each port one queue, and a core for each port");
    }
  }
}

} // namespace

RdmaPlan::RdmaPlan(const Rdma& with, const Placement& where, std::uint64_t with_seed,
                   std::uint32_t incarnation_of_hosts)
    : settings(with), placement(where), seed(with_seed), incarnation(incarnation_of_hosts),
      hosts(hosts_of(with, where.ports.size())), writers(writers_of(with, hosts)),
      longest(longest_of(with)) {
  check(*this);
  if (settings.to != 0) {
    peers.push_back(peer(Nid{settings.to}));
  }
  if (!settings.is_one_end()) {
    for (std::uint32_t host = 0; host < hosts; ++host) {
      peers.push_back(peer(nid(host)));
    }
    destinations.emplace(settings.pattern, hosts,
                         static_cast<std::uint32_t>(placement.ports.size()), settings.target,
                         settings.hot_share, seed);
  }
}

rdma::Options RdmaPlan::options_of(Nid of) const {
  const std::size_t own = settings.in_flight;
  const std::size_t from_peers = std::size_t{writers} * settings.in_flight;
  rdma::Options options;
  options.address = of;
  options.ethertype = placement.ethertype;
  options.incarnation = incarnation;
  options.seed = Random(seed).fork(of.value).next();
  options.longest_frame = settings.mtu + static_cast<std::uint32_t>(wire::ethernet_header_bytes);
  // One more than can be in use: a context is not free before its last frame has left.
  options.sinks = std::min(2 * (own + from_peers), rdma::most_contexts);
  options.sources = options.sinks;
  options.works = std::min<std::size_t>(options.sinks, 65'535);
  options.peers = std::min<std::size_t>(writers + 16, 65'536);
  // A peer's context has one record.
  options.records = std::clamp<std::size_t>(2 * (own + from_peers), 1024, 65'536);
  options.regions = regions;
  options.completions = options.sinks;
  options.widest_window = settings.window;
  return options;
}

rdma_policy::Policy RdmaPlan::policy() const {
  rdma_policy::Policy policy;
  policy.window = settings.window;
  policy.sink_credit = settings.credit;
  policy.least_credit = std::min(policy.least_credit, std::max(settings.credit, 1U));
  policy.spraying = settings.spraying;
  // A host that shares a core with the switch and its peer may receive nothing for long: a run ends
  // when all are silent (--timeout), not by a time-out of the protocol.
  policy.request_retries = policy.query_retries = policy.sink_timeouts = most_retries;
  return policy;
}

RdmaPlan::Peer RdmaPlan::peer(Nid of) const {
  rdma::Options options = options_of(of);
  options.sinks = options.sources = options.works = options.peers = 1;
  options.records = options.completions = 1;
  rdma::Node node(options);
  const auto data = node.register_region({}, {}, vni());
  const auto slots = node.register_region({}, {}, vni());
  return {of, *data, *slots};
}

std::uint64_t memory_of_rdma(const Rdma& settings, std::size_t ports) {
  const std::uint64_t hosts = hosts_of(settings, ports);
  const std::uint64_t longest = longest_of(settings);
  const std::uint64_t writers = writers_of(settings, static_cast<std::uint32_t>(hosts));
  const std::uint64_t each = settings.in_flight;
  // Only slots that a peer writes to are ever touched.
  const bool one_each = !settings.is_one_end() && settings.pattern != Pattern::random &&
                        settings.pattern != Pattern::hotspot &&
                        settings.pattern != Pattern::all_to_all;
  const std::uint64_t written = settings.to != 0 ? 0 : one_each ? 1 : writers;
  return longest + hosts * each * (longest * (1 + written) + 4 * writers * bytes_of_context);
}

} // namespace tributary::pktgen::traffic
