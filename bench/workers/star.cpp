#include "bench/workers/star.hpp"

#include "dataplane/port/mbuf_ownership.hpp"
#include "dataplane/port/transmit_queues.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include <rte_mbuf.h>

#include <fmt/format.h>

namespace tributary::bench {
namespace {

constexpr std::uint16_t burst = 32;

config::Port ring_port(const std::string& ring) {
  config::Port port;
  port.name = ring;
  port.kind = config::PortKind::ring;
  port.ring = ring;
  return port;
}

std::uint64_t operand(std::size_t leaf, std::size_t reduction) { return leaf * 1000 + reduction; }

} // namespace

Machine::Machine(std::size_t ports, std::uint32_t workers) {
  config::Config c;
  c.process.hugepages = "auto";
  c.process.workers = workers;
  c.switches.emplace_back();
  c.switches[0].ports.resize(ports);
  for (config::Port& port : c.switches[0].ports) {
    port.kind = config::PortKind::ring;
  }
  eal_ = std::make_unique<port::Eal>(c);
}

Star::Star(Machine& machine, const Shape& shape, const Traffic& traffic)
    : machine_(machine), shape_(shape), traffic_(traffic), random_(traffic.seed) {
  std::vector<std::size_t> order(reductions());
  std::iota(order.begin(), order.end(), std::size_t{0});
  orders_.assign(shape_.ports, order);
  static unsigned stars = 0;
  worker::SwitchPlan plan;
  plan.name = "bench";
  plan.placed = traffic_.placed;
  core::TablesBuilder builder;
  const auto must = [](const std::string& problem) {
    if (!problem.empty()) {
      throw std::runtime_error(problem);
    }
  };
  for (std::size_t i = 0; i < shape_.ports; ++i) {
    const std::string ring = fmt::format("bench{}-{}", stars, i);
    devices_.push_back(std::make_unique<port::PortDevice>(
        ring_port(ring), machine_.eal(), 1,
        traffic_.own_queues ? port::wanted_senders(ring_port(ring), shape_.workers, 1) : 1,
        traffic_.sorted));
    hosts_.push_back(std::make_unique<port::PortDevice>(
        ring_port(ring), machine_.eal(), 1, static_cast<std::uint16_t>(shape_.workers), true));
    plan.ports.push_back(devices_.back().get());
    must(builder.add_port({}));
  }
  ++stars;
  PortSet children = PortSet::first(shape_.ports);
  children.erase(PortNumber{0});
  for (std::size_t t = 0; t < shape_.trees; ++t) {
    must(builder.add_tree(TreeNumber{static_cast<std::uint16_t>(t)},
                          static_cast<ContributionCount>(leaves()), PortNumber{0}, children));
  }
  plan.tables = builder.build(1);
  config::Process process;
  process.workers = shape_.workers;
  process.poll = config::Poll::busy;
  group_ =
      std::make_unique<worker::WorkerGroup>(process, machine_.eal(), std::vector{std::move(plan)});
  if (!traffic_.traced) {
    group_->set_tracing(core::Tracing::off);
  }
  for (const auto* those : {&devices_, &hosts_}) {
    for (const auto& device : *those) {
      device->refresh_link(); // up only since the far end was opened
    }
  }
}

wire::ReductionFrame Star::frame(std::size_t reduction) const {
  wire::ReductionFrame f;
  f.vni = Vni{10};
  f.tree = TreeNumber{static_cast<std::uint16_t>(reduction / reductions_per_tree)};
  f.reduction = ReductionId{static_cast<std::uint8_t>(reduction % reductions_per_tree)};
  f.cookie = Cookie{0x1234};
  f.word.seqno = SequenceNumber(sequence_);
  f.word.resno = f.word.seqno;
  return f;
}

void Star::put(port::PortDevice& device, const std::vector<wire::ReductionFrame>& frames) {
  for (const wire::ReductionFrame& f : frames) {
    rte_mbuf* buffer = port::allocate(machine_.eal().pool());
    if (buffer == nullptr) {
      throw std::runtime_error("no buffer is free; use fewer trees or ports");
    }
    std::array<std::byte, wire::reduction_frame_bytes> bytes;
    wire::encode(f, bytes);
    std::memcpy(rte_pktmbuf_append(buffer, bytes.size()), bytes.data(), bytes.size());
    if (device.transmit_on(queue_of(f.tree), &buffer, 1) != 1) {
      port::give_back(buffer);
      throw std::runtime_error("a port's ring is full; use fewer trees");
    }
    ++sent_;
  }
}

std::size_t Star::receiver_of(PortNumber port, TreeNumber tree) const {
  const placement::Placement* const placement = traffic_.sorted ? group_->placement(0) : nullptr;
  return placement != nullptr ? placement->worker_of(tree) : group_->worker_of(0, port);
}

std::uint16_t Star::queue_of(TreeNumber tree) const {
  return traffic_.sorted ? static_cast<std::uint16_t>(receiver_of(PortNumber{0}, tree))
                         : std::uint16_t{0};
}

void Star::begin() {
  ++sequence_;
  if (traffic_.skewed) {
    for (std::vector<std::size_t>& order : orders_) {
      std::ranges::shuffle(order, random_);
    }
  }
}

void Star::send_arms(std::size_t worker) {
  std::vector<wire::ReductionFrame> frames;
  for (std::size_t r = 0; r < reductions(); ++r) {
    wire::ReductionFrame f = frame(r);
    if (worker != receiver_of(PortNumber{0}, f.tree)) {
      continue;
    }
    f.dscp = wire::dscp_root;
    f.word.arm = true;
    frames.push_back(f);
  }
  put(*hosts_[0], frames);
}

void Star::send_contributions(std::size_t worker) {
  for (std::size_t leaf = 1; leaf < shape_.ports; ++leaf) {
    std::vector<wire::ReductionFrame> frames;
    for (const std::size_t r : orders_[leaf]) {
      wire::ReductionFrame f = frame(r);
      if (worker != receiver_of(PortNumber{static_cast<std::uint8_t>(leaf)}, f.tree)) {
        continue;
      }
      f.source_nid = Nid{static_cast<std::uint32_t>(leaf)};
      f.word.op = static_cast<std::uint8_t>(traffic_.op);
      f.word.count = 1;
      f.signature = leaf;
      f.payload.fill(operand(leaf, r));
      frames.push_back(f);
    }
    put(*hosts_[leaf], frames);
  }
}

std::size_t Star::take_copies(std::size_t worker) {
  std::size_t taken = 0;
  std::array<rte_mbuf*, burst> frames;
  for (std::size_t leaf = 1; leaf < shape_.ports; ++leaf) {
    while (const std::uint16_t count = hosts_[leaf]->receive_from(
               static_cast<std::uint16_t>(worker), frames.data(), burst)) {
      std::for_each_n(frames.begin(), count, port::give_back);
      taken += count;
    }
  }
  return taken;
}

Star::Results Star::take_results(std::size_t worker) {
  Results results;
  std::array<rte_mbuf*, burst> frames;
  while (const std::uint16_t count =
             hosts_[0]->receive_from(static_cast<std::uint16_t>(worker), frames.data(), burst)) {
    for (std::size_t i = 0; i < count; ++i) {
      ++results.frames;
      wire::ReductionFrame f;
      const std::span<const std::byte> bytes(rte_pktmbuf_mtod(frames[i], const std::byte*),
                                             frames[i]->data_len);
      if (wire::decode(bytes, wire::default_ethertype, f) != wire::DecodeError::none) {
        continue;
      }
      const std::size_t r = f.tree.value * reductions_per_tree + f.reduction.value;
      std::uint64_t signatures = 0;
      std::uint64_t sum = 0;
      for (std::size_t leaf = 1; leaf < shape_.ports; ++leaf) {
        signatures += leaf;
        sum += operand(leaf, r);
      }
      results.whole += f.word.count == leaves() && f.signature == signatures &&
                               (traffic_.op != wire::Opcode::int_sum || f.payload[0] == sum)
                           ? 1
                           : 0;
    }
    std::for_each_n(frames.begin(), count, port::give_back);
  }
  return results;
}

std::uint64_t Star::handed_over() const {
  std::uint64_t sum = 0;
  for (std::size_t w = 0; w < shape_.workers; ++w) {
    sum += group_->statistics(w).handed_over.read();
  }
  return sum;
}

std::uint64_t Star::drops(core::DropReason reason) const {
  std::uint64_t sum = 0;
  for (const core::Counters* counters : group_->counters(0)) {
    for (const core::PortCounters& port : counters->ports) {
      sum += port.drops[static_cast<std::size_t>(reason)].read();
    }
  }
  return sum;
}

std::uint64_t Star::drops() const {
  std::uint64_t sum = 0;
  for (std::size_t reason = 0; reason < core::drop_reason_count; ++reason) {
    sum += drops(static_cast<core::DropReason>(reason));
  }
  return sum;
}

std::uint64_t Star::received() const {
  std::uint64_t sum = 0;
  for (const core::Counters* counters : group_->counters(0)) {
    for (const core::PortCounters& port : counters->ports) {
      sum += port.rx_frames.read();
    }
  }
  return sum;
}

std::uint64_t Star::crossings() const {
  std::uint64_t sum = handed_over();
  for (std::size_t w = 0; w < shape_.workers; ++w) {
    const worker::WorkerStatistics& s = group_->statistics(w);
    sum -= s.added_up.read() - s.subtotals.read();
  }
  return sum;
}

std::uint64_t Star::subtotals() const {
  std::uint64_t sum = 0;
  for (std::size_t w = 0; w < shape_.workers; ++w) {
    sum += group_->statistics(w).subtotals.read();
  }
  return sum;
}

bool Star::idle() const {
  std::uint64_t taken = 0;
  for (std::size_t w = 0; w < shape_.workers; ++w) {
    taken += group_->statistics(w).frames.read();
  }
  return received() == sent_ && taken == sent_ + handed_over();
}

} // namespace tributary::bench
