#include "tests/unit/dataplane/worker/fabric.hpp"

#include <atomic>
#include <cstring>
#include <utility>

#include <rte_mbuf.h>

#include <fmt/format.h>

namespace tributary::worker::test {
namespace {

constexpr std::size_t most_ports = 12;

config::Config eal_configuration() {
  config::Config c;
  c.process.hugepages = "never";
  c.process.workers = 2;
  c.switches.emplace_back();
  c.switches[0].ports.resize(most_ports);
  for (auto& port : c.switches[0].ports) {
    port.kind = config::PortKind::ring;
  }
  return c;
}

config::Port ring_port(const std::string& ring) {
  config::Port port;
  port.name = ring;
  port.kind = config::PortKind::ring;
  port.ring = ring;
  return port;
}

std::string next_ring() {
  static unsigned rings = 0;
  return fmt::format("test{}", rings++);
}

} // namespace

port::Eal& eal() {
  static port::Eal instance(eal_configuration());
  return instance;
}

wire::ReductionFrame arm_frame(std::uint32_t sequence, TreeNumber t) {
  wire::ReductionFrame f;
  f.dscp = wire::dscp_root;
  f.vni = Vni{10};
  f.tree = t;
  f.cookie = cookie;
  f.word.seqno = SequenceNumber(sequence);
  f.word.arm = true;
  return f;
}

wire::ReductionFrame contribution(std::uint32_t sequence, std::uint64_t value, TreeNumber t) {
  wire::ReductionFrame f;
  f.vni = Vni{10};
  f.tree = t;
  f.cookie = cookie;
  f.word.seqno = SequenceNumber(sequence);
  f.word.op = static_cast<std::uint8_t>(wire::Opcode::int_sum);
  f.word.count = 1;
  f.payload = {value, value + 1, value + 2, value + 3};
  return f;
}

Frame bytes_of(const wire::ReductionFrame& frame) {
  Frame bytes(wire::reduction_frame_bytes);
  wire::encode(frame, std::span<std::byte, wire::reduction_frame_bytes>(bytes));
  return bytes;
}

core::SwitchSettings engines_at_parents() {
  core::SwitchSettings settings;
  settings.descriptors_per_engine = 64;
  return settings;
}

Host::Host(const std::string& ring, std::uint16_t lanes)
    : device_(ring_port(ring), eal(), 1, lanes) {}

void Host::send(const Frame& frame, std::uint16_t lane) {
  rte_mbuf* buffer = port::allocate(eal().pool());
  ASSERT_NE(buffer, nullptr);
  std::memcpy(rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(frame.size())), frame.data(),
              frame.size());
  send(buffer, lane);
}

void Host::send(rte_mbuf* frame, std::uint16_t lane) {
  ASSERT_TRUE(eventually([&] { return device_.transmit_on(lane, &frame, 1) == 1; }));
}

std::optional<Frame> Host::receive() {
  rte_mbuf* buffer = nullptr;
  if (device_.receive(&buffer, 1) == 0) {
    return std::nullopt;
  }
  const auto* data = rte_pktmbuf_mtod(buffer, const std::byte*);
  Frame frame(data, data + buffer->pkt_len);
  port::give_back(buffer);
  return frame;
}

std::optional<wire::ReductionFrame> Host::expect_reduction() {
  std::optional<Frame> frame;
  wire::ReductionFrame decoded;
  if (!eventually([&] { return (frame = receive()).has_value(); }) ||
      wire::decode(*frame, wire::default_ethertype, decoded) != wire::DecodeError::none) {
    return std::nullopt;
  }
  return decoded;
}

std::size_t Host::receive_all() {
  std::size_t count = 0;
  while (receive()) {
    ++count;
  }
  return count;
}

std::shared_ptr<const core::Tables> star_tables(std::size_t ports, std::uint64_t version,
                                                ContributionCount wait_count) {
  core::TablesBuilder builder;
  PortSet children = PortSet::first(ports);
  children.erase(PortNumber{0});
  for (std::size_t i = 0; i < ports; ++i) {
    EXPECT_EQ(builder.add_port({}), "");
  }
  const ContributionCount all =
      wait_count != 0 ? wait_count : static_cast<ContributionCount>(ports - 1);
  EXPECT_EQ(builder.add_tree(tree, all, PortNumber{0}, children), "");
  return builder.build(version);
}

Fabric::Fabric(const Options& options) {
  SwitchPlan plan;
  plan.name = "s0";
  plan.settings = options.settings;
  plan.links = options.links;
  plan.guid = switch_guid;
  plan.tables = options.tables ? options.tables : star_tables(options.ports);
  for (std::size_t i = 0; i < options.ports; ++i) {
    const std::string ring = next_ring();
    config::Port port = ring_port(ring);
    if (i < options.impairments.size()) {
      port.impaired_received = options.impairments[i];
      port.impaired_sent = options.impairments[i];
    }
    if (options.configure) {
      options.configure(i, port);
    }
    const bool sorted = options.sorted.contains(PortNumber{static_cast<std::uint8_t>(i)});
    const auto workers = static_cast<std::uint16_t>(options.workers);
    devices_.push_back(std::make_unique<port::PortDevice>(
        port, eal(), 1, sorted || options.own_queues ? workers : std::uint16_t{1}, sorted));
    hosts_.push_back(std::make_unique<Host>(ring, sorted ? workers : std::uint16_t{1}));
    plan.ports.push_back(devices_.back().get());
  }
  config::Process process;
  process.workers = options.workers;
  process.poll = options.poll;
  workers_ = std::make_unique<WorkerGroup>(process, eal(), std::vector{std::move(plan)});
  if (!options.stepped) {
    workers_->start();
    return;
  }
  for (const auto& device : devices_) {
    device->refresh_link(); // up only since the far end was opened
  }
}

void Fabric::arm(std::uint32_t sequence) {
  root().send(arm_frame(sequence));
  for (std::size_t leaf = 1; leaf < hosts_.size(); ++leaf) {
    const auto got = host(leaf).expect_reduction();
    ASSERT_TRUE(got.has_value()) << "leaf " << leaf;
    EXPECT_TRUE(got->word.arm);
    EXPECT_EQ(got->word.seqno, SequenceNumber(sequence));
  }
}

std::uint64_t Fabric::sum(const std::function<std::uint64_t(const core::Counters&)>& f) const {
  std::uint64_t total = 0;
  for (const auto* counters : workers_->counters(0)) {
    total += f(*counters);
  }
  return total;
}

std::uint64_t Fabric::drops(std::size_t port, core::DropReason reason) const {
  return sum([&](const core::Counters& c) {
    return c.ports[port].drops[static_cast<std::size_t>(reason)].read();
  });
}

void Fabric::stop() {
  workers_->request_stop();
  workers_->join();
}

} // namespace tributary::worker::test
