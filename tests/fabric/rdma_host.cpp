#include "tests/fabric/rdma_host.hpp"

#include "endpoint/engine/protocol.hpp"
#include "tests/fabric/run.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::fabric {

rdma_policy::Policy impatient_rdma() {
  rdma_policy::Policy policy;
  policy.window = 256;
  policy.initial_timeout_ns = microseconds(400);
  policy.least_timeout_ns = microseconds(200);
  policy.most_timeout_ns = milliseconds(10);
  policy.initial_reordering_ns = microseconds(20);
  policy.finished_ns = milliseconds(200);
  policy.sink_credit = 0; // each has its own window: senders should compete in the queue
  return policy;
}

/// Gives the node room while the host's queue is short.
class RdmaHost::Link final : public link::Port {
public:
  Link() {
    for (auto& buffer : buffers_) {
      free_.push_back(buffer.data());
    }
  }
  void use(HostPort& port) { port_ = &port; }
  [[nodiscard]] std::uint32_t longest_frame() const override { return rdma_longest_frame; }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "virtual"; }

private:
  static constexpr std::uint32_t most_waiting = 64;

  std::size_t transmit(std::span<Slot> slots) override {
    for (const Slot& slot : slots) {
      port_->send({slot.data, slot.length});
      free_.push_back(slot.data);
    }
    return slots.size();
  }
  std::size_t replenish(std::span<Slot> slots) override {
    const std::uint32_t waiting = port_->waiting({});
    std::size_t count = 0;
    for (; count < slots.size() && waiting + count < most_waiting && !free_.empty(); ++count) {
      slots[count].data = free_.back();
      free_.pop_back();
    }
    return count;
  }
  std::size_t take(std::span<FrameView> /*views*/) override { return 0; }

  HostPort* port_ = nullptr;
  std::array<std::array<std::byte, rdma_longest_frame>, 2 * burst> buffers_;
  std::vector<std::byte*> free_;
};

RdmaHost::RdmaHost(Fabric& fabric, HostIndex host, const rdma_policy::Policy& policy)
    : fabric_(fabric), host_(host), policy_(policy) {
  make_node();
  fabric_.attach(host, *this);
}
RdmaHost::~RdmaHost() = default;

void RdmaHost::make_node() {
  rdma::Options options;
  options.address = Topology::nid(host_);
  options.incarnation = ++incarnation_;
  options.seed = host_ + 1'000'000ULL * incarnation_;
  options.longest_frame = rdma_longest_frame;
  options.sinks = options.sources = options.records = options.peers = 128;
  options.works = options.regions = 8;
  options.completions = 128;
  options.widest_window = 256;
  link_ = std::make_unique<Link>();
  node_ = std::make_unique<rdma::Node>(options);
  node_->set_policy(policy_);
}

rdma::RegionKey RdmaHost::serve(std::span<std::byte> memory) {
  return node_->register_region(memory, {.peers_write = true}, rdma_vni).value();
}

bool RdmaHost::write(const RdmaHost& to, rdma::RegionKey key, std::span<const std::byte> memory,
                     std::uint64_t offset) {
  const rdma::Begun begun = node_->write({.peer = Topology::nid(to.index()),
                                          .vni = rdma_vni,
                                          .memory = memory,
                                          .key = key,
                                          .offset = offset});
  if (begun.error != rdma::BeginError::none) {
    fabric_.violation(fmt::format("host {} cannot write to host {}: {}", host_, to.index(),
                                  rdma::text_of(begun.error)));
    return false;
  }
  ++begun_;
  fabric_.poke(host_);
  return true;
}

void RdmaHost::restart() {
  failed_ = begun_ - done_;
  make_node();
  fabric_.poke(host_);
}

void RdmaHost::receive(std::span<const std::byte> frame, TrafficClass /*c*/, TimeNs now,
                       HostPort& port) {
  std::array<std::byte, rdma_longest_frame> copy{};
  const std::size_t length = std::min(frame.size(), copy.size());
  std::copy_n(frame.begin(), length, copy.begin());
  if (wire::is_trimmed({copy.data(), length})) {
    ++trimmed_;
    if (damage_one_in_ != 0 && trimmed_ % damage_one_in_ == 0) {
      flip_bit({copy.data() + wire::ethernet_header_bytes + wire::rdma_offset::header,
                wire::rdma_header_bytes},
               trimmed_ % (8 * wire::rdma_offset::crc));
    }
  }
  const FrameView view{copy.data(), static_cast<std::uint32_t>(length)};
  node_->receive({&view, 1}, now);
  pump(now, port);
}

void RdmaHost::wake(TimeNs now, HostPort& port) { pump(now, port); }

void RdmaHost::pump(TimeNs now, HostPort& port) {
  link_->use(port);
  node_->poll(now);
  while (node_->has_to_send()) {
    engine::Outlet outlet(*link_);
    node_->send(outlet);
    link_->flush();
    if (outlet.link_full()) {
      break; // `drained` continues
    }
  }
  while (const auto completion = node_->take_completion()) {
    (completion->done() ? done_ : failed_) += 1;
    last_end_ = now;
  }
}

} // namespace tributary::fabric
