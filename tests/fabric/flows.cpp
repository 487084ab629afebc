#include "tests/fabric/flows.hpp"

#include "tributary/wire/reduction.hpp"
#include "tributary/wire/vlan_tag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace tributary::fabric {
namespace {

// Behind the fabric header: flow, frame number, class.
constexpr std::size_t flow_at = wire::ethernet_header_bytes + wire::fabric_header_bytes;
constexpr std::size_t number_at = flow_at + 4;
constexpr std::size_t class_at = number_at + 8;
constexpr std::size_t shortest_frame = class_at + 1;

bool is_unicast(std::span<const std::byte> frame) {
  if (frame.size() < shortest_frame ||
      wire::ethertype_of(frame.data()) != wire::default_ethertype) {
    return false;
  }
  const std::byte* header = frame.data() + wire::ethernet_header_bytes;
  return wire::fabric_header_checksum_ok(header) && !wire::dfa_of(header).is_multicast();
}

} // namespace

class Flows::FlowHost final : public HostProgram {
public:
  FlowHost(Flows& flows, HostProgram* beside) : flows_(flows), background_(beside) {}
  void add(std::uint32_t number, Flow& flow) { mine_.emplace_back(number, &flow); }

  void receive(std::span<const std::byte> frame, TrafficClass c, TimeNs now,
               HostPort& port) override {
    if (is_unicast(frame)) {
      flows_.receive(frame, c, now);
    } else if (background_ != nullptr) {
      background_->receive(frame, c, now, port);
    }
  }
  void wake(TimeNs now, HostPort& port) override {
    send_what_is_due(now, port);
    if (background_ != nullptr) {
      background_->wake(now, port);
    }
  }
  void drained(TimeNs now, HostPort& port) override { send_what_is_due(now, port); }
  [[nodiscard]] TimeNs next_wake() const override {
    TimeNs wake = background_ == nullptr ? never : background_->next_wake();
    for (const auto& [number, flow] : mine_) {
      wake = flow->all_sent() || flow->waits_for_queue ? wake : std::min(wake, flow->next_at);
    }
    return wake;
  }

private:
  void send_what_is_due(TimeNs now, HostPort& port) {
    for (const auto& [number, flow] : mine_) {
      if (flow->all_sent() || flow->next_at > now) {
        continue;
      }
      flow->waits_for_queue = port.waiting(flow->traffic_class) >= flow->most_waiting;
      if (!flow->waits_for_queue) {
        flows_.send(*flow, number, port);
        flow->next_at = now + flow->gap_ns;
      }
    }
  }

  Flows& flows_;
  HostProgram* background_;
  std::vector<std::pair<std::uint32_t, Flow*>> mine_;
};

Flows::Flows(Fabric& fabric) : fabric_(fabric) {
  fabric.on_loss([this](std::span<const std::byte> frame, std::string_view why) {
    std::vector<std::byte> bytes(frame.begin(), frame.end());
    if (frame.size() > wire::ethernet_header_bytes + wire::vlan_tag_bytes &&
        wire::has_vlan_tag(frame.data())) { // on a wire
      wire::strip_vlan_tag(bytes.data());
      bytes.erase(bytes.begin(), bytes.begin() + wire::vlan_tag_bytes);
    }
    if (is_unicast(bytes)) {
      lose(bytes, why);
    }
  });
}

Flows::~Flows() { fabric_.on_loss(nullptr); }

Flow& Flows::add(const Flow& flow) { return flows_.emplace_back(flow); }

void Flows::start(const std::function<HostProgram*(HostIndex)>& program_of) {
  const auto host = [&](HostIndex h) -> FlowHost& {
    auto& found = hosts_[h];
    if (!found) {
      found = std::make_unique<FlowHost>(*this, program_of(h));
    }
    return *found;
  };
  for (std::uint32_t number = 0; number < flows_.size(); ++number) {
    Flow& flow = flows_[number];
    flow.next_at = flow.start = std::max(flow.start, fabric_.now());
    host(flow.from).add(number, flow);
    host(flow.to);
  }
  for (const auto& [h, program] : hosts_) {
    fabric_.attach(h, *program);
  }
}

void Flows::send(Flow& flow, std::uint32_t number, HostPort& port) const {
  wire::ReductionFrame f;
  const Nid from = Topology::nid(flow.from);
  f.source_nid = from;
  f.source = wire::host_mac(from);
  f.destination = wire::port_mac(from);
  std::vector<std::byte> bytes(
      std::max<std::size_t>(flow.frame_bytes, wire::reduction_frame_bytes));
  wire::encode(f, std::span<std::byte, wire::reduction_frame_bytes>(bytes.data(),
                                                                    wire::reduction_frame_bytes));
  bytes.resize(std::max<std::size_t>(flow.frame_bytes, shortest_frame));
  std::byte* header = bytes.data() + wire::ethernet_header_bytes;
  wire::store_be<std::uint16_t>(
      header + wire::portals_offset::total_length,
      static_cast<std::uint16_t>(bytes.size() - wire::ethernet_header_bytes));
  wire::store_be<std::uint32_t>(header + wire::portals_offset::dfa,
                                wire::FabricAddress::unicast(Topology::nid(flow.to)).value);
  wire::write_fabric_header_checksum(header);
  wire::store_be<std::uint32_t>(bytes.data() + flow_at, number);
  wire::store_be<std::uint64_t>(bytes.data() + number_at, flow.sent);
  bytes[class_at] = std::byte{flow.traffic_class.value};
  ++flow.sent;
  port.send(bytes, flow.traffic_class);
}

void Flows::receive(std::span<const std::byte> frame, TrafficClass c, TimeNs now) {
  const auto which = wire::load_be<std::uint32_t>(frame.data() + flow_at);
  const auto number = wire::load_be<std::uint64_t>(frame.data() + number_at);
  if (which >= flows_.size()) {
    fabric_.violation("a frame of no flow came");
    return;
  }
  Flow& flow = flows_[which];
  if (in_order_ && number < flow.next_number) {
    fabric_.violation(fmt::format("frame {} of flow {} came behind its frame {}", number, which,
                                  flow.next_number - 1));
  }
  if (in_class_ && std::to_integer<std::uint8_t>(frame[class_at]) != c.value) {
    fabric_.violation(fmt::format("frame {} of flow {} was sent in class {} and came in class {}",
                                  number, which, flow.traffic_class.value, c.value));
  }
  flow.next_number = number + 1;
  ++flow.received;
  flow.last_received = now;
}

void Flows::lose(std::span<const std::byte> frame, std::string_view why) {
  const auto which = wire::load_be<std::uint32_t>(frame.data() + flow_at);
  if (which < flows_.size()) { // a stranger's otherwise
    ++flows_[which].lost[why];
    flows_[which].last_lost = fabric_.now();
  }
}

std::uint64_t Flows::lost(std::string_view why) const {
  std::uint64_t n = 0;
  for (const Flow& flow : flows_) {
    const auto found = flow.lost.find(why);
    n += found == flow.lost.end() ? 0 : found->second;
  }
  return n;
}

void Flows::expect_explained() const {
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    const Flow& flow = flows_[i];
    std::uint64_t lost = 0;
    std::string names;
    for (const auto& [why, count] : flow.lost) {
      lost += count;
      names += fmt::format(" {} {}", why, count);
    }
    if (lost != flow.missing()) {
      fabric_.violation(fmt::format("flow {}: {} frames of {} did not come; lost:{}", i,
                                    flow.missing(), flow.sent, names));
    }
  }
}

std::uint64_t Flows::sent() const {
  std::uint64_t n = 0;
  for (const Flow& flow : flows_) {
    n += flow.sent;
  }
  return n;
}

std::uint64_t Flows::received() const {
  std::uint64_t n = 0;
  for (const Flow& flow : flows_) {
    n += flow.received;
  }
  return n;
}

bool Flows::all_sent() const { return std::ranges::all_of(flows_, &Flow::all_sent); }
bool Flows::all_received() const { return std::ranges::all_of(flows_, &Flow::all_received); }

} // namespace tributary::fabric
