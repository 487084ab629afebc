// The cost of the switch core per frame: nanoseconds, in bursts of 32 unless said otherwise.
//
//   classify            the frame's own bytes only, the floor under all others
//   contribute          a validated contribution absorbed by an armed engine, by trees x ids and by
//                       operator; `trees:1/ids:8` is in cache, `trees:8192/ids:8` is far out of it
//   classify_same       `classify` over the very frames of `contribute`, so that cache misses of
//                       the frames can be separated from those of the tables
//   contribute_wide     the same with vectors: binary32 sums by bytes and ids in flight;
//                       what it costs beside a frame of 84 bytes: `contribute/flt_sum`
//   reduction           whole reductions: the arm, all but one absorbed, one completed and emitted;
//                       all come from one port, a switch's
//   reduction_of_hosts  the same, each contribution from a port of its own with one endpoint behind
//                       it, which the engine lets count once
//   replicate           arming frames on their way down
//   multicast           copies of a tree without reductions
//   unicast             by static route
//
// No frame is sent; the only ceiling is `classify`. What a host does with a frame is in
// host_engine_bench.cpp.

#include "dataplane/core/classify.hpp"
#include "dataplane/core/switch_core.hpp"
#include "tributary/wire/reduction.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tributary::core {
namespace {

constexpr std::size_t default_burst = 32;
constexpr PortNumber parent{0};
constexpr PortNumber child{1};
constexpr Cookie cookie{0x677DAABC};
constexpr Vni vni{0x0400};
/// Where the part of a frame begins that a result changes: at the signature.
constexpr std::size_t changed_offset = wire::ethernet_header_bytes + wire::portals_offset::command;

/// Frames in buffers of two cache lines each, as a packet pool holds them.
class Frames {
public:
  explicit Frames(std::size_t count) : buffers_(count), views_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      views_[i] = {buffers_[i].bytes, wire::reduction_frame_bytes};
    }
  }
  void set(std::size_t i, const wire::ReductionFrame& frame) {
    wire::encode(frame, std::span<std::byte, wire::reduction_frame_bytes>(
                            buffers_[i].bytes, wire::reduction_frame_bytes));
  }
  [[nodiscard]] std::span<const FrameView> burst(std::size_t begin, std::size_t length) const {
    return std::span(views_).subspan(begin, length);
  }
  [[nodiscard]] std::size_t size() const { return views_.size(); }

private:
  struct alignas(64) Buffer {
    std::byte bytes[128];
  };
  std::vector<Buffer> buffers_;
  std::vector<FrameView> views_;
};

class NoEmission : public Emission {
public:
  std::byte* buffer(PortNumber, std::uint32_t, TrafficClass) override { return nullptr; }
};

std::unique_ptr<SwitchCore> make_core(std::size_t trees, ContributionCount wait_count,
                                      std::size_t child_count = 16) {
  SwitchSettings settings;
  settings.descriptors_per_engine = reduction_keys;
  auto core = std::make_unique<SwitchCore>(settings, PortSet::first(max_ports));
  TablesBuilder builder;
  for (std::size_t p = 0; p < 17; ++p) {
    (void)builder.add_port({});
  }
  PortSet children = PortSet::first(child_count + 1);
  children.erase(parent);
  for (std::size_t t = 0; t < trees; ++t) {
    (void)builder.add_tree(TreeNumber{static_cast<std::uint16_t>(t)}, wait_count, parent, children);
  }
  (void)builder.add_route(Nid{77}, PortNumber{9});
  NoEmission emission;
  core->adopt(builder.build(1), TimeNs{0}, emission);
  return core;
}

wire::ReductionFrame contribution(std::size_t tree, std::size_t id, wire::Opcode op) {
  wire::ReductionFrame f;
  f.vni = vni;
  f.cookie = cookie;
  f.source_nid = Nid{0x12345};
  f.tree = TreeNumber{static_cast<std::uint16_t>(tree)};
  f.reduction = ReductionId{static_cast<std::uint8_t>(id)};
  f.signature = 0x1234567;
  f.word.seqno = f.word.resno = SequenceNumber{1};
  f.word.op = static_cast<std::uint8_t>(op);
  f.word.count = 1;
  f.payload = {1, 2, 3, 4};
  return f;
}

wire::ReductionFrame arm(std::size_t tree, std::size_t id) {
  wire::ReductionFrame f = contribution(tree, id, wire::Opcode::barrier);
  f.dscp = wire::dscp_root;
  f.word.arm = true;
  f.word.count = 0;
  return f;
}

/// One contribution for every id of every tree, in an order without a pattern.
Frames contributions(std::size_t trees, std::size_t ids, wire::Opcode op) {
  const std::size_t count = std::max(trees * ids, default_burst * 2);
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) {
    order[i] = i % (trees * ids);
  }
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  Frames frames(count);
  for (std::size_t i = 0; i < count; ++i) {
    frames.set(i, contribution(order[i] / ids, order[i] % ids, op));
  }
  return frames;
}

void arm_all(SwitchCore& core, std::size_t trees, std::size_t ids) {
  Frames frame(1);
  for (std::size_t t = 0; t < trees; ++t) {
    for (std::size_t id = 0; id < ids; ++id) {
      frame.set(0, arm(t, id));
      (void)core.process(parent, frame.burst(0, 1)[0], TimeNs{0});
    }
  }
}

/// Prints the time per frame; in seconds where the output is JSON.
void report(benchmark::State& state, std::size_t frames_per_iteration) {
  state.counters["per_frame"] = benchmark::Counter(static_cast<double>(frames_per_iteration),
                                                   benchmark::Counter::kIsIterationInvariantRate |
                                                       benchmark::Counter::kInvert);
}

void classify(benchmark::State& state) {
  const auto trees = static_cast<std::size_t>(state.range(0));
  const auto ids = static_cast<std::size_t>(state.range(1));
  const Frames frames = contributions(trees, ids, wire::Opcode::int_sum);
  const PortPolicy policy;
  std::size_t at = 0;
  for (auto _ : state) {
    const IngressCheck check(policy);
    std::uint32_t keys = 0;
    for (const FrameView frame : frames.burst(at, default_burst)) {
      keys += check.classify(frame).key().index();
    }
    benchmark::DoNotOptimize(keys);
    at = at + 2 * default_burst <= frames.size() ? at + default_burst : 0;
  }
  report(state, default_burst);
}

void contribute(benchmark::State& state, wire::Opcode op) {
  const auto trees = static_cast<std::size_t>(state.range(0));
  const auto ids = static_cast<std::size_t>(state.range(1));
  const auto burst = static_cast<std::size_t>(state.range(2));
  const auto core = make_core(trees, max_contributions);
  const Frames frames = contributions(trees, ids, op);
  std::vector<Decision> decisions(burst);
  // No reduction may complete: it would rewrite a frame that is used again.
  const std::size_t rearm_after = (max_contributions / 2) * trees * ids;
  std::size_t since_armed = rearm_after;
  std::size_t at = 0;
  for (auto _ : state) {
    if (since_armed >= rearm_after) {
      state.PauseTiming();
      arm_all(*core, trees, ids);
      since_armed = 0;
      state.ResumeTiming();
    }
    core->process_burst(child, frames.burst(at, burst), TimeNs{1}, decisions);
    benchmark::DoNotOptimize(decisions.data());
    since_armed += burst;
    at = at + 2 * burst <= frames.size() ? at + burst : 0;
  }
  if (decisions[0].event != Event::contributed) {
    state.SkipWithError("the contributions were not absorbed");
  }
  report(state, burst);
}

/// Vectors in buffers as a packet pool holds them, headers in front.
class WideFrames {
public:
  WideFrames(std::size_t count, std::size_t payload_bytes)
      : stride_((wire::wide_header_bytes + payload_bytes + 63) / 64 * 64),
        bytes_(count * stride_ + 64), views_(count) {
    auto first = reinterpret_cast<std::uintptr_t>(bytes_.data());
    first = (first + 63) / 64 * 64 - first;
    for (std::size_t i = 0; i < count; ++i) {
      views_[i] = {bytes_.data() + first + i * stride_,
                   static_cast<std::uint32_t>(wire::wide_header_bytes + payload_bytes)};
    }
  }
  void set(std::size_t i, const wire::WideFrame& frame) {
    wire::encode_header(frame, std::span<std::byte, wire::wide_header_bytes>(
                                   views_[i].data, wire::wide_header_bytes));
    for (std::size_t at = 0; at < frame.payload_bytes; at += sizeof(float)) {
      const auto value = static_cast<float>(at % 100);
      std::memcpy(views_[i].data + wire::wide_header_bytes + at, &value, sizeof value);
    }
  }
  [[nodiscard]] std::span<const FrameView> burst(std::size_t begin, std::size_t length) const {
    return std::span(views_).subspan(begin, length);
  }

private:
  std::size_t stride_;
  std::vector<std::byte> bytes_;
  std::vector<FrameView> views_;
};

void contribute_wide(benchmark::State& state) {
  const auto payload = static_cast<std::size_t>(state.range(0));
  const auto ids = static_cast<std::size_t>(state.range(1));
  SwitchCore core(SwitchSettings{}, PortSet::first(max_ports));
  TablesBuilder builder;
  for (std::size_t p = 0; p < 3; ++p) {
    (void)builder.add_port({});
  }
  const std::uint32_t limit = static_cast<std::uint32_t>((payload + 63) / 64 * 64);
  (void)builder.add_tree(TreeNumber{0}, max_contributions, parent, PortSet{0b110},
                         {.slots = 128, .payload_bytes = limit});
  NoEmission emission;
  core.adopt(builder.build(1), TimeNs{0}, emission);
  WideFrames frames(default_burst, payload);
  for (std::size_t i = 0; i < default_burst; ++i) {
    const wire::ReductionFrame narrow = contribution(0, 0, wire::Opcode::flt_sum_nearest);
    wire::WideFrame f;
    f.vni = narrow.vni;
    f.cookie = narrow.cookie;
    f.source_nid = narrow.source_nid;
    f.slot = ReductionId{static_cast<std::uint8_t>(i % ids)};
    f.signature = narrow.signature;
    f.word = narrow.word;
    f.form = wire::Form::bits32;
    f.payload_bytes = payload;
    frames.set(i, f);
  }
  const auto arm_ids = [&] {
    Frames frame(1);
    for (std::size_t id = 0; id < ids; ++id) {
      frame.set(0, arm(0, id));
      (void)core.process(parent, frame.burst(0, 1)[0], TimeNs{0});
    }
  };
  std::vector<Decision> decisions(default_burst);
  const std::size_t rearm_after = (max_contributions / 2) * ids;
  std::size_t since_armed = rearm_after;
  for (auto _ : state) {
    if (since_armed >= rearm_after) {
      state.PauseTiming();
      arm_ids();
      since_armed = 0;
      state.ResumeTiming();
    }
    core.process_burst(child, frames.burst(0, default_burst), TimeNs{1}, decisions);
    benchmark::DoNotOptimize(decisions.data());
    since_armed += default_burst;
  }
  if (decisions[0].event != Event::contributed) {
    state.SkipWithError("the contributions were not absorbed");
  }
  report(state, default_burst);
  state.counters["GB/s"] = benchmark::Counter(static_cast<double>(payload * default_burst) / 1e9,
                                              benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(std::string(reduce::name_of(core.wide_engine().instruction_set())));
}

/// Whole reductions, eight ids of a tree at a time, tree after tree: the arms in one burst, then
/// the contributions, eight in a burst where each port sends its own, all in one otherwise.
void reduce_trees(benchmark::State& state, bool of_hosts) {
  const auto trees = static_cast<std::size_t>(state.range(0));
  const auto wait_count = static_cast<std::size_t>(state.range(1));
  constexpr std::size_t ids = reductions_per_tree;
  const auto core =
      make_core(trees, static_cast<ContributionCount>(wait_count), of_hosts ? wait_count : 2);
  Frames arms(trees * ids);
  Frames rest(trees * ids * wait_count);
  for (std::size_t t = 0; t < trees; ++t) {
    for (std::size_t id = 0; id < ids; ++id) {
      arms.set(t * ids + id, arm(t, id));
      for (std::size_t i = 0; i < wait_count; ++i) {
        rest.set((t * wait_count + i) * ids + id, contribution(t, id, wire::Opcode::int_sum));
      }
    }
  }
  const std::size_t burst = of_hosts ? ids : ids * wait_count;
  std::vector<Decision> decisions(burst);
  std::size_t tree = 0;
  for (auto _ : state) {
    core->process_burst(parent, arms.burst(tree * ids, ids), TimeNs{1}, decisions);
    const auto group = rest.burst(tree * ids * wait_count, ids * wait_count);
    for (std::size_t begin = 0; begin < group.size(); begin += burst) {
      const PortNumber from{static_cast<std::uint8_t>(child.value + begin / burst)};
      core->process_burst(from, group.subspan(begin, burst), TimeNs{1}, decisions);
    }
    // The emitted frames carry a count above one now; restore them.
    for (std::size_t id = 0; id < ids; ++id) {
      std::memcpy(group[group.size() - ids + id].data + changed_offset,
                  group[id].data + changed_offset, wire::reduction_frame_bytes - changed_offset);
    }
    tree = tree + 1 < trees ? tree + 1 : 0;
  }
  if (decisions.back().event != Event::completed_full) {
    state.SkipWithError("the reductions did not complete");
  }
  report(state, ids * (wait_count + 1));
}
void reduction(benchmark::State& state) { reduce_trees(state, false); }
void reduction_of_hosts(benchmark::State& state) { reduce_trees(state, true); }

void replicate(benchmark::State& state) {
  const auto trees = static_cast<std::size_t>(state.range(0));
  const auto core = make_core(trees, 16);
  const std::size_t count = std::max(trees, default_burst);
  Frames frames(count);
  for (std::size_t i = 0; i < count; ++i) {
    frames.set(i, arm(i % trees, 0));
  }
  std::vector<Decision> decisions(default_burst);
  std::size_t at = 0;
  for (auto _ : state) {
    core->process_burst(parent, frames.burst(at, default_burst), TimeNs{1}, decisions);
    benchmark::DoNotOptimize(decisions.data());
    at = at + 2 * default_burst <= frames.size() ? at + default_burst : 0;
  }
  if (decisions[0].action != Action::replicate) {
    state.SkipWithError("the frames were not replicated");
  }
  report(state, default_burst);
}

/// A tree without reductions: only copying.
void multicast(benchmark::State& state) {
  const auto core = make_core(1, 0);
  Frames frames(default_burst);
  for (std::size_t i = 0; i < default_burst; ++i) {
    frames.set(i, arm(0, i % 8));
  }
  std::vector<Decision> decisions(default_burst);
  for (auto _ : state) {
    core->process_burst(parent, frames.burst(0, default_burst), TimeNs{1}, decisions);
    benchmark::DoNotOptimize(decisions.data());
  }
  if (decisions[0].event != Event::multicast) {
    state.SkipWithError("the frames were not replicated");
  }
  report(state, default_burst);
}

void unicast(benchmark::State& state) {
  const auto core = make_core(1, 16);
  Frames frames(default_burst);
  for (std::size_t i = 0; i < default_burst; ++i) {
    frames.set(i, contribution(0, 0, wire::Opcode::int_sum));
    std::byte* p = frames.burst(i, 1)[0].data + wire::ethernet_header_bytes;
    wire::store_be<std::uint32_t>(p + wire::portals_offset::dfa,
                                  wire::FabricAddress::unicast(Nid{77}).value);
    wire::write_fabric_header_checksum(p);
  }
  std::vector<Decision> decisions(default_burst);
  for (auto _ : state) {
    core->process_burst(child, frames.burst(0, default_burst), TimeNs{1}, decisions);
    benchmark::DoNotOptimize(decisions.data());
  }
  if (decisions[0].event != Event::unicast) {
    state.SkipWithError("the frames were not forwarded");
  }
  report(state, default_burst);
}

/// By the manager's routes: a leaf of a fabric of 256 leaves, and destinations in random order.
void unicast_by_table(benchmark::State& state) {
  const auto hosts = static_cast<std::uint32_t>(state.range(0));
  constexpr std::uint32_t leaves = 256;
  auto routes = std::make_shared<forwarding_table::Routes>();
  routes->table = {
      .self = 0,
      .destinations = leaves,
      .vcs = 2,
      .words = 1,
      .classes = std::vector<std::uint16_t>(17),
      .row_of = {0, 0},
      .rows = std::vector<std::uint16_t>(leaves),
      .actions = {forwarding_table::Action{.ports = 1}, forwarding_table::Action{.ports = 2}},
      .port_words = {0, 0x0F00, 0xF000}};
  for (std::uint32_t d = 0; d < leaves; ++d) {
    routes->table.rows[d] = static_cast<std::uint16_t>(d % 2);
  }
  forwarding_table::HostRuns runs;
  const std::uint32_t behind_each = std::max(1U, hosts / leaves);
  for (std::uint32_t first = 0; first < hosts; first += behind_each) {
    runs.push_back({first, behind_each, 1 + first / behind_each % (leaves - 1)});
  }
  routes->hosts = std::make_shared<const forwarding_table::HostRuns>(std::move(runs));
  routes->fabric_ports = {0xFF00};
  TablesBuilder builder;
  for (std::size_t p = 0; p < 17; ++p) {
    (void)builder.add_port({});
  }
  builder.set_routes(std::move(routes));
  SwitchCore core(SwitchSettings{}, PortSet::first(max_ports));
  NoEmission emission;
  core.adopt(builder.build(1), TimeNs{0}, emission);

  constexpr std::size_t frames_made = 4096;
  Frames frames(frames_made);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < frames_made; ++i) {
    frames.set(i, contribution(0, 0, wire::Opcode::int_sum));
    std::byte* p = frames.burst(i, 1)[0].data + wire::ethernet_header_bytes;
    const Nid to{static_cast<std::uint32_t>(random() % hosts)};
    wire::store_be<std::uint32_t>(p + wire::portals_offset::dfa,
                                  wire::FabricAddress::unicast(to).value);
    wire::write_fabric_header_checksum(p);
  }
  std::vector<Decision> decisions(default_burst);
  std::size_t at = 0;
  for (auto _ : state) {
    core.process_burst(child, frames.burst(at, default_burst), TimeNs{1}, decisions);
    benchmark::DoNotOptimize(decisions.data());
    at = at + 2 * default_burst <= frames_made ? at + default_burst : 0;
  }
  if (decisions[0].event != Event::unicast) {
    state.SkipWithError("the frames were not forwarded");
  }
  report(state, default_burst);
}

void trees_and_bursts(benchmark::internal::Benchmark* b) {
  b->ArgNames({"trees", "ids", "burst"});
  b->Args({1, 8, 1})->Args({1, 1, 32})->Args({1, 2, 32})->Args({1, 8, 32});
  for (const int trees : {16, 256, 1024, 8192}) {
    b->Args({trees, 1, 32});
  }
  b->Args({8192, 8, 32});
}

BENCHMARK(classify)->Name("classify")->ArgNames({"trees", "ids"})->Args({1, 8});
BENCHMARK_CAPTURE(contribute, int_sum, wire::Opcode::int_sum)->Apply(trees_and_bursts);
BENCHMARK(classify)
    ->Name("classify_same")
    ->ArgNames({"trees", "ids"})
    ->Args({1024, 1})
    ->Args({8192, 1})
    ->Args({8192, 8});
void one_tree(benchmark::internal::Benchmark* b) {
  b->ArgNames({"trees", "ids", "burst"})->Args({1, 8, 32});
}
BENCHMARK_CAPTURE(contribute, barrier, wire::Opcode::barrier)->Apply(one_tree);
BENCHMARK_CAPTURE(contribute, int_minmaxloc, wire::Opcode::int_minmaxloc)->Apply(one_tree);
BENCHMARK_CAPTURE(contribute, flt_minnum, wire::Opcode::flt_minnum)->Apply(one_tree);
BENCHMARK_CAPTURE(contribute, flt_sum, wire::Opcode::flt_sum_nearest)->Apply(one_tree);
BENCHMARK_CAPTURE(contribute, flt_sum_upward, wire::Opcode::flt_sum_upward)->Apply(one_tree);
BENCHMARK_CAPTURE(contribute, flt_repsum, wire::Opcode::flt_repsum)->Apply(one_tree);
BENCHMARK(contribute_wide)
    ->ArgNames({"bytes", "ids"})
    ->Args({40, 1})
    ->Args({1024, 1})
    ->Args({1408, 1})
    ->Args({1408, 32})
    ->Args({8192, 1})
    ->Args({8192, 32});
void reduction_sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"trees", "wait_count"})
      ->Args({1, 4})
      ->Args({1, 16})
      ->Args({1024, 4})
      ->Args({1024, 16})
      ->Args({8192, 16});
}
BENCHMARK(reduction)->Apply(reduction_sizes);
BENCHMARK(reduction_of_hosts)->Apply(reduction_sizes);
BENCHMARK(replicate)->ArgName("trees")->Arg(1)->Arg(8192);
BENCHMARK(multicast);
BENCHMARK(unicast);
BENCHMARK(unicast_by_table)->ArgName("hosts")->Arg(1)->Arg(1024)->Arg(100'000);

} // namespace
} // namespace tributary::core

BENCHMARK_MAIN();
