#include "tests/fabric/allreduce/compare.hpp"

#include "controlplane/multicast/planner.hpp"
#include "tests/fabric/allreduce/busy_host.hpp"
#include "tests/fabric/allreduce/host_group.hpp"
#include "tests/fabric/scenarios/routed_fabric.hpp"
#include "tools/simulator/allreduce/host_run.hpp"
#include "tools/simulator/allreduce/tree_run.hpp"
#include "tributary/wire/reduction.hpp"

#include <memory>
#include <numeric>

namespace tributary::fabric {
namespace {

using namespace simulator::allreduce;
using simulator::allreduce::Path;

constexpr std::uint64_t seed = 1;
/// The start of the timed part; everything earlier is complete by then.
constexpr std::uint64_t begin_ns = 20'000'000;
constexpr std::uint64_t limit_ns = 60'000'000'000;
constexpr std::size_t headers = 62;

/// Frames of the reduction protocol, to the root or to leaves.
class ReductionReader final : public WorkReader {
public:
  explicit ReductionReader(bool of_root) : of_root_(of_root) {}
  [[nodiscard]] FrameWork sent(std::span<const std::byte> frame, bool idle) const override {
    return {.payload = frame.size() - headers, .begins = idle};
  }
  [[nodiscard]] FrameWork received(std::span<const std::byte> frame, bool idle) const override {
    return {.payload = frame.size() - headers, .ends = idle, .adds = of_root_};
  }

private:
  bool of_root_;
};

FabricOptions options() {
  FabricOptions options;
  options.check_interval_ns = 100'000'000;
  for (egress::PortSettings* queues : {&options.switches.queues, &options.host_queues}) {
    // Nothing is lost: contending frames wait.
    queues->classes[0].limit = {1U << 20, 1U << 31};
    queues->classes[0].when_full = egress::WhenFull::drop;
  }
  options.switches.receive_frames = 1U << 20;
  return options;
}

/// The fabric's own graph, so that ports and links have the same numbers in both.
topology::Model model_of(const Topology& topology, const std::string& name) {
  topology::Model model;
  model.name = name;
  model.graph = topology.graph();
  return model;
}

void install_tree(Fabric& fabric, TreeNumber tree, const std::vector<topology::HostId>& ranks,
                  const Costs& costs) {
  const topology::Graph& graph = fabric.topology().graph();
  multicast::Planner planner(graph, {.seed = seed});
  for (const multicast::TreePart& part :
       multicast::orient(graph, planner.plan(ranks).value(), ranks, ranks.front())) {
    TreePart own{
        .at = part.at.value,
        .parent = PortNumber{static_cast<std::uint8_t>(part.parent)},
        .children = {},
        .wait_count = part.wait_count,
        .slots = {.slots = costs.slots, .payload_bytes = costs.payload, .half_floats = false}};
    for (const topology::Port port : part.children) {
      own.children.insert(PortNumber{static_cast<std::uint8_t>(port)});
    }
    fabric.set_part(tree, own);
  }
}

std::uint64_t frames_on_links(const Fabric& fabric) {
  std::uint64_t frames = 0;
  for (LinkIndex link = 0; link < fabric.topology().links().size(); ++link) {
    frames += fabric.carried(link, 0) + fabric.carried(link, 1);
  }
  return frames;
}

} // namespace

Costs costs_of_virtual_fabric() {
  Costs costs = default_costs();
  costs.payload = 1408; // its frames have room for an MTU of 1,500
  const auto set = [](Cost& cost, double value) { cost = {value, "the virtual fabric's"}; };
  set(costs.host_link_latency, 400);
  set(costs.link_latency, 700);
  set(costs.switch_latency, static_cast<double>(SwitchOptions{}.poll_delay_ns));
  set(costs.switch_contribute, 0);
  set(costs.switch_contribute_byte, 0);
  set(costs.switch_copy, 0);
  set(costs.switch_forward, 0);
  return costs;
}

ComparedAllreduce compare_allreduce(const std::string& topology, std::uint32_t hosts,
                                    std::uint64_t bytes, Algorithm algorithm, const Costs& costs) {
  Fabric fabric(Topology(topology::build_model(topology).graph), options(), seed);
  for (LinkIndex link = 0; link < fabric.topology().links().size(); ++link) {
    fabric.set_link_speed(link, static_cast<std::uint32_t>(costs.link_gbps.value * 1000));
  }
  const Paths paths(model_of(fabric.topology(), topology), Routes::planned, 1);
  const auto ranks = paths.place(hosts, Placement::packed, seed);
  std::vector<HostIndex> numbers(hosts);
  std::iota(numbers.begin(), numbers.end(), HostIndex{0});

  ComparedAllreduce result{.simulated = {.algorithm = algorithm, .hosts = hosts, .bytes = bytes}};
  const auto never_stop = [] { return false; };
  std::vector<std::unique_ptr<BusyHost>> busy;
  const auto attach = [&](auto& group, const auto& reader_of) {
    fabric.publish_all();
    for (std::uint32_t rank = 0; rank < hosts; ++rank) {
      busy.push_back(std::make_unique<BusyHost>(group.program(rank), reader_of(rank), costs));
      fabric.attach(numbers[rank], *busy.back());
    }
    if (!fabric.run_until([&] { return group.complete(); }, TimeNs{limit_ns})) {
      result.violations.emplace_back("not complete");
    }
    result.fabric_ns = static_cast<double>(elapsed_ns(group.completed_at(), TimeNs{begin_ns}));
  };
  if (algorithm == Algorithm::in_network) {
    result.simulated.ns = run_in_network(paths, ranks, bytes, costs, seed, never_stop).ns;
    VectorSetup setup{.tree = TreeNumber{17}, .cookie = Cookie{0x5CA1E}, .hosts = numbers};
    setup.parameters.slots = costs.slots;
    setup.parameters.payload = costs.payload;
    // A first one uses every slot, so that its results arm all engines, as in a running program.
    setup.lengths = {std::size_t{costs.slots} * costs.payload / sizeof(std::int32_t),
                     bytes / sizeof(float)};
    setup.in_flight = 1;
    setup.period_ns = begin_ns;
    install_tree(fabric, setup.tree, ranks, costs);
    VectorGroup group(fabric, setup);
    const ReductionReader root(true);
    const ReductionReader leaf(false);
    attach(group, [&](std::uint32_t rank) -> const WorkReader& {
      return rank == setup.root_rank ? root : leaf;
    });
  } else {
    const HostAlgorithm of_hosts = algorithm == Algorithm::ring ? HostAlgorithm::ring
                                   : algorithm == Algorithm::recursive_doubling
                                       ? HostAlgorithm::recursive_doubling
                                       : HostAlgorithm::rabenseifner;
    result.simulated.ns = run_host_algorithm(of_hosts, paths, ranks, bytes, costs, never_stop).ns;
    const std::string refused =
        set_planned_routes(fabric, fabric.topology().graph(), "general", 1, 1);
    if (!refused.empty()) {
      result.violations.push_back(refused);
      return result;
    }
    HostGroup group(fabric, of_hosts, numbers, bytes / 8, costs.payload, TimeNs{begin_ns});
    const MessageReader reader;
    attach(group, [&](std::uint32_t) -> const WorkReader& { return reader; });
  }
  result.frames = frames_on_links(fabric);
  const auto& found = fabric.violations();
  result.violations.insert(result.violations.end(), found.begin(), found.end());
  return result;
}

} // namespace tributary::fabric
