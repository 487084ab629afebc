#include "tests/rdma/network.hpp"

#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/portals.hpp"

#include <algorithm>
#include <cstring>

namespace tributary::rdma::test {

namespace {
constexpr std::size_t buffer_bytes = 9100;

wire::RdmaHeader header_of(std::span<const std::byte> frame) {
  wire::RdmaFrame decoded;
  (void)wire::decode(frame, wire::default_ethertype, decoded);
  return decoded.header;
}
} // namespace

class Network::HostPort final : public link::Port {
public:
  HostPort(Network& network, std::size_t host, std::uint32_t longest_frame)
      : network_(network), host_(host), longest_(longest_frame) {
    for (auto& buffer : buffers_) {
      buffer.resize(longest_frame);
      free_.push_back(buffer.data());
    }
  }
  [[nodiscard]] std::uint32_t longest_frame() const override { return longest_; }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "virtual"; }

private:
  std::size_t transmit(std::span<Slot> slots) override {
    for (const Slot& slot : slots) {
      network_.transmit(host_, {slot.data, slot.length});
      free_.push_back(slot.data);
    }
    return slots.size();
  }
  std::size_t replenish(std::span<Slot> slots) override {
    std::size_t count = 0;
    if (network_.uplink_full(network_.hosts_[host_])) {
      return 0;
    }
    for (; count < slots.size() && !free_.empty(); ++count) {
      slots[count].data = free_.back();
      free_.pop_back();
    }
    return count;
  }
  std::size_t take(std::span<FrameView>) override { return 0; }

  Network& network_;
  std::size_t host_;
  std::uint32_t longest_;
  std::array<std::vector<std::byte>, 2 * burst> buffers_;
  std::vector<std::byte*> free_;
};

Network::Network(const NetworkSettings& settings, std::uint64_t seed)
    : settings_(settings), random_(seed) {
  if (settings_.queue_bits_per_second == 0) {
    settings_.queue_bits_per_second = settings_.bits_per_second;
  }
}
Network::~Network() = default;

std::size_t Network::add(engine::Protocol& protocol, EndPoint address,
                         std::uint32_t longest_frame) {
  const std::size_t host = hosts_.size();
  hosts_.push_back({});
  hosts_.back().protocol = &protocol;
  hosts_.back().address = address;
  hosts_.back().port = std::make_unique<HostPort>(*this, host, longest_frame);
  return host;
}

void Network::replace(std::size_t host, engine::Protocol* protocol) {
  hosts_[host].protocol = protocol;
}
void Network::set_dead(std::size_t host, bool dead) { hosts_[host].dead = dead; }

void Network::inject(std::span<const std::byte> frame, std::uint64_t after_ns) {
  schedule(now() + after_ns, EventKind::deliver, frame);
}

std::uint64_t Network::time_of(std::size_t bytes, std::uint64_t bits_per_second) {
  constexpr std::size_t preamble_fcs_and_gap = 24;
  return bits_per_second == 0
             ? 0
             : (bytes + preamble_fcs_and_gap) * 8 * ns_per_second / bits_per_second;
}

void Network::transmit(std::size_t from, Bytes frame) {
  ++frames_;
  Host& host = hosts_[from];
  const auto kind = static_cast<wire::RdmaKind>(
      frame[wire::ethernet_header_bytes + wire::rdma_offset::header] & std::byte{0xF});
  if (filter_ && !filter_(frame, header_of(frame))) {
    count(kind, Fault::lost);
    return;
  }
  host.uplink_free =
      std::max(host.uplink_free, now()) + time_of(frame.size(), settings_.bits_per_second);
  if (host.dead) {
    return;
  }
  const Faults& f = settings_.faults;
  if (random_.chance(f.loss)) {
    count(kind, Fault::lost);
    return;
  }
  if (random_.chance(f.duplicate)) {
    count(kind, Fault::duplicated);
    travel(frame, host.uplink_free, kind);
  }
  travel(frame, host.uplink_free, kind);
}

void Network::travel(Bytes frame, TimeNs from, wire::RdmaKind kind) {
  const Faults& f = settings_.faults;
  const bool jitters =
      settings_.jitter_ns != 0 && (kind == wire::RdmaKind::wr || !settings_.jitter_of_data_alone);
  TimeNs at = from + settings_.delay_ns + (jitters ? random_.below(settings_.jitter_ns + 1) : 0);
  if (random_.chance(f.late)) {
    count(kind, Fault::delayed);
    at = at + random_.below(f.late_ns + 1);
  }
  if (!random_.chance(f.corrupt)) {
    schedule(at, EventKind::queue, frame);
    return;
  }
  count(kind, Fault::corrupted);
  const std::size_t bit = random_.below(8 * frame.size());
  const std::byte flip{static_cast<unsigned char>(1U << bit % 8)};
  frame[bit / 8] ^= flip;
  schedule(at, EventKind::queue, frame);
  frame[bit / 8] ^= flip;
}

void Network::schedule(TimeNs at, EventKind kind, std::span<const std::byte> frame) {
  if (free_buffers_.empty()) {
    free_buffers_.push_back(static_cast<std::uint32_t>(buffers_.size()));
    buffers_.push_back(std::make_unique<std::byte[]>(buffer_bytes));
  }
  const std::uint32_t buffer = free_buffers_.back();
  free_buffers_.pop_back();
  std::memcpy(buffers_[buffer].get(), frame.data(), frame.size());
  timeline_.schedule(at, {kind, buffer, static_cast<std::uint32_t>(frame.size())});
}

bool Network::uplink_full(const Host& host) const {
  constexpr std::size_t usual_frame = 1000;
  return elapsed_ns(host.uplink_free, now()) >
         uplink_frames * time_of(usual_frame, settings_.bits_per_second);
}

Network::Host* Network::destination_of(const std::byte* frame) {
  const EndPoint to = wire::dfa_of(frame + wire::ethernet_header_bytes).end_point();
  for (Host& host : hosts_) {
    if (host.protocol != nullptr && host.address == to) {
      return &host;
    }
  }
  // A damaged address: the switch does not know the host, and drops the frame.
  return nullptr;
}

bool Network::step() {
  TimeNs due = never;
  Host* first = nullptr;
  for (Host& host : hosts_) {
    if (host.protocol == nullptr) {
      continue;
    }
    const TimeNs next = std::min(host.protocol->next_deadline(), host.again);
    if (next < due) {
      due = next;
      first = &host;
    }
  }
  if (timeline_.empty() && first == nullptr) {
    return false;
  }
  if (first != nullptr && (timeline_.empty() || due < timeline_.next_time())) {
    timeline_.advance(due);
    pump(*first);
    return true;
  }
  const Event event = timeline_.pop();
  if (event.kind == EventKind::queue) {
    enter_queue(event);
  } else {
    arrive(event);
  }
  return true;
}

void Network::enter_queue(const Event& event) {
  Host* const host = destination_of(buffers_[event.buffer].get());
  if (host == nullptr || settings_.bits_per_second == 0) {
    arrive(event);
    return;
  }
  std::byte* const frame = buffers_[event.buffer].get();
  if (settings_.queue_frames != 0 && host->queued >= settings_.queue_frames) {
    const auto kind = static_cast<wire::RdmaKind>(
        frame[wire::ethernet_header_bytes + wire::rdma_offset::header] & std::byte{0xF});
    const bool trimmed = settings_.trims && wire::is_trimmable({frame, event.length});
    count(kind, trimmed ? Fault::trimmed : Fault::queue_full);
    if (trimmed) {
      const std::size_t length = wire::trim(frame);
      timeline_.schedule(
          now() + time_of(length, settings_.queue_bits_per_second),
          {EventKind::deliver_trimmed, event.buffer, static_cast<std::uint32_t>(length)});
    } else {
      free_buffers_.push_back(event.buffer);
    }
    return;
  }
  ++host->queued;
  host->queue_free =
      std::max(host->queue_free, now()) + time_of(event.length, settings_.queue_bits_per_second);
  timeline_.schedule(host->queue_free, {EventKind::deliver, event.buffer, event.length});
}

void Network::arrive(const Event& event) {
  std::byte* const frame = buffers_[event.buffer].get();
  Host* const host = destination_of(frame);
  free_buffers_.push_back(event.buffer);
  if (host == nullptr) {
    return;
  }
  if (event.kind == EventKind::deliver && settings_.bits_per_second != 0 && host->queued > 0) {
    --host->queued;
  }
  if (host->dead) {
    return;
  }
  const FrameView view{frame, event.length};
  host->protocol->receive({&view, 1}, now());
  pump(*host);
}

void Network::pump() {
  for (Host& host : hosts_) {
    pump(host);
  }
}

void Network::pump(Host& host) {
  if (host.protocol == nullptr) {
    return;
  }
  host.again = never;
  host.protocol->poll(now());
  while (host.protocol->has_to_send()) {
    engine::Outlet outlet(*host.port);
    host.protocol->send(outlet);
    host.port->flush();
    if (outlet.link_full()) {
      host.again = now() + std::max<std::uint64_t>(elapsed_ns(host.uplink_free, now()) / 2, 1);
      return;
    }
  }
}

} // namespace tributary::rdma::test
