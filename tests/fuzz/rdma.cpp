// Any bytes at an RDMA node: as a frame, and as actions of peers, owner and time.
//
//   first byte 0   the rest is a frame. What decodes, encodes to the same bytes
//   else steps, each a byte for the kind, and its arguments. Frames are made of the
//                  input's fields with right checks, so that they get past the decoder; their
//                  numbers are small, so that they often mean something
//
// After each step: nothing around the region is touched, no more contexts are in use than exist,
// and each transfer completes at most once.

#include "tributary/wire/rdma.hpp"
#include "endpoint/rdma/node.hpp"
#include "lib/link/port.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/require.hpp"
#include "tributary/wire/rdma_request.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tributary::fuzz {
namespace {

using Bytes = std::vector<std::byte>;
using namespace rdma;

constexpr std::size_t canary = 64;
constexpr std::size_t region_bytes = 4000;
constexpr std::uint32_t longest_frame = 270;
constexpr Vni vni{7};

/// Takes a node's frames, and checks them.
class Drain final : public link::Port {
public:
  [[nodiscard]] std::uint32_t longest_frame() const override { return fuzz::longest_frame; }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "fuzz"; }
  /// The context that the node last named in an RSP or RD_RQT, so that frames can be for it.
  wire::RdmaHeader heard;

private:
  std::size_t transmit(std::span<Slot> slots) override {
    for (const Slot& slot : slots) {
      TRIBUTARY_REQUIRE(slot.length <= fuzz::longest_frame);
      wire::RdmaFrame frame;
      TRIBUTARY_REQUIRE(wire::decode({slot.data, slot.length}, wire::default_ethertype, frame) ==
                        wire::RdmaError::none);
      TRIBUTARY_REQUIRE(frame.header.source == Nid{1});
      heard = frame.header;
      free_.push_back(slot.data);
    }
    return slots.size();
  }
  std::size_t replenish(std::span<Slot> slots) override {
    std::size_t count = 0;
    for (; count < slots.size() && !free_.empty(); ++count) {
      slots[count].data = free_.back();
      free_.pop_back();
    }
    return count;
  }
  std::size_t take(std::span<FrameView>) override { return 0; }

  std::array<std::array<std::byte, fuzz::longest_frame>, longest_burst> buffers_{};
  std::vector<std::byte*> free_ = [this] {
    std::vector<std::byte*> all;
    for (auto& buffer : buffers_) {
      all.push_back(buffer.data());
    }
    return all;
  }();
};

class World {
public:
  World() : memory_(region_bytes + 2 * canary, std::byte{0xC5}), own_(region_bytes) {
    Options o;
    o.address = Nid{1};
    o.longest_frame = longest_frame;
    o.sinks = o.sources = 4;
    o.works = o.peers = o.regions = 3;
    o.records = o.completions = 5;
    node_ = std::make_unique<Node>(o);
    rdma_policy::Policy p;
    p.window = 128;
    p.initial_timeout_ns = p.least_timeout_ns = 1000;
    p.most_timeout_ns = 100'000;
    p.initial_reordering_ns = 500;
    p.sink_timeouts = p.request_retries = p.query_retries = 3;
    p.finished_ns = 50'000;
    p.forget_early = true;
    p.sink_credit = 40;
    node_->set_policy(p);
    key_ = *node_->register_region(region(), {.peers_write = true, .peers_read = true}, vni);
  }

  void step(Input& input) {
    switch (input.below(8)) {
    case 0: now_ = now_ + 100U * input.take<std::uint16_t>(); break;
    case 1: begin(input, false); break;
    case 2: begin(input, true); break;
    case 3: node_->cancel(last_); break;
    case 4:
      if (node_->deregister_region(key_)) {
        key_ = *node_->register_region(region(), {.peers_write = true, .peers_read = true}, vni);
      }
      break;
    default: give(input); break;
    }
    node_->poll(now_);
    while (node_->has_to_send()) {
      engine::Outlet outlet(port_);
      node_->send(outlet);
      port_.flush();
    }
    while (const auto completion = node_->take_completion()) {
      if (completion->kind != Completion::Kind::arrival) {
        TRIBUTARY_REQUIRE(begun_.erase(completion->user) == 1);
      }
    }
    const auto live = [](std::byte b) { return b == std::byte{0xC5}; };
    TRIBUTARY_REQUIRE(std::all_of(memory_.begin(), memory_.begin() + canary, live));
    TRIBUTARY_REQUIRE(std::all_of(memory_.end() - canary, memory_.end(), live));
    TRIBUTARY_REQUIRE(node_->sinks_in_use() <= 4 && node_->sources_in_use() <= 4);
    TRIBUTARY_REQUIRE(node_->next_deadline() > now_);
  }
  /// Without input, it comes to rest.
  void come_to_rest() {
    for (int i = 0; i < 5000 && node_->next_deadline() != never; ++i) {
      now_ = std::max(now_, node_->next_deadline());
      node_->poll(now_);
      while (node_->has_to_send()) {
        engine::Outlet outlet(port_);
        node_->send(outlet);
        port_.flush();
      }
      while (const auto completion = node_->take_completion()) {
        if (completion->kind != Completion::Kind::arrival) {
          begun_.erase(completion->user);
        }
      }
    }
    TRIBUTARY_REQUIRE(begun_.empty());
    TRIBUTARY_REQUIRE(node_->sinks_in_use() == 0 && node_->sources_in_use() == 0);
  }

private:
  std::span<std::byte> region() { return std::span(memory_).subspan(canary, region_bytes); }
  void begin(Input& input, bool read) {
    const std::size_t length = input.take<std::uint16_t>() % (region_bytes + 1);
    const Nid peer{2U + input.below(3)};
    const std::uint64_t user = ++users_;
    const Begun begun = read ? node_->read({.peer = peer,
                                            .vni = vni,
                                            .memory = std::span(own_).first(length),
                                            .key = RegionKey{1},
                                            .user = user})
                             : node_->write({.peer = peer,
                                             .vni = vni,
                                             .memory = std::span(own_).first(length),
                                             .key = RegionKey{1},
                                             .user = user});
    if (begun.error == BeginError::none) {
      begun_.insert(user);
      last_ = begun.id;
    }
  }
  void give(Input& input) {
    wire::RdmaHeader h;
    const auto choice = input.take<std::uint8_t>();
    h.source = Nid{2U + choice % 3};
    h.destination = Nid{1};
    h.vni = (choice & 0x40) != 0 ? Vni{8} : vni;
    h.kind = static_cast<wire::RdmaKind>(1 + input.below(wire::rdma_kinds - 1));
    h.flags = input.take<std::uint8_t>();
    if (port_.heard.kind == wire::RdmaKind::rsp &&
        (port_.heard.word & 0xFF) == static_cast<std::uint64_t>(wire::RdmaStatus::unproven)) {
      proof_ = wire::rdma_proof_in(port_.heard);
    }
    if ((choice & 0x80) != 0) { // an answer to the node's last frame
      h.source = port_.heard.destination;
      h.dcid = port_.heard.scid;
      h.scid = port_.heard.kind == wire::RdmaKind::rd_rqt ? input.below(4) : port_.heard.dcid;
      h.generation = port_.heard.generation;
      h.message = port_.heard.message;
    } else {
      h.dcid = input.below(6);
      h.scid = input.below(4);
      h.generation = input.take<std::uint8_t>();
      h.message = input.below(4);
    }
    h.pidx = input.take<std::uint8_t>();
    h.word = input.take<std::uint16_t>();
    h.value = input.take<std::uint16_t>();
    Bytes payload;
    const bool request = h.kind == wire::RdmaKind::rqt || h.kind == wire::RdmaKind::rd_rqt;
    if (request && (choice & 0x20) == 0) {
      payload.resize(wire::rdma_request_bytes);
      wire::RdmaRequest r{.key = key_.value,
                          .immediate = users_,
                          .incarnation = 1U + input.below(3),
                          .proof = (choice & 0x04) != 0 ? proof_ : 0,
                          .credit = input.take<std::uint8_t>(),
                          .payload = 100,
                          .slot = h.scid};
      if ((choice & 0x10) != 0) {
        r.payload = input.take<std::uint16_t>();
        r.key ^= input.take<std::uint8_t>();
      } else {
        h.value %= region_bytes + 1;
        h.pidx = static_cast<std::uint32_t>(wire::rdma_frames_of(h.value, r.payload));
        h.word %= region_bytes - h.value + 1;
      }
      wire::encode(r, std::span<std::byte, wire::rdma_request_bytes>(payload));
    } else if (h.kind == wire::RdmaKind::wr) {
      payload.assign((choice & 0x20) != 0 ? input.take<std::uint8_t>() % 201U : 100U,
                     std::byte{0x11});
    } else {
      payload = input.bytes(8U * (choice % 4U));
    }
    Bytes frame(wire::rdma_frame_bytes(payload.size()));
    wire::encode(h, {}, payload, frame.data());
    if ((choice & 0x08) != 0 && wire::is_trimmable(frame)) {
      frame.resize(wire::trim(frame.data()));
    }
    const FrameView view{frame.data(), static_cast<std::uint32_t>(frame.size())};
    node_->receive({&view, 1}, now_);
  }

  Bytes memory_;
  Bytes own_;
  Drain port_;
  std::unique_ptr<Node> node_;
  RegionKey key_;
  TransferId last_;
  std::set<std::uint64_t> begun_;
  std::uint64_t users_ = 0;
  std::uint64_t proof_ = 0; ///< that the node last asked for
  TimeNs now_{1};
};

void check_frame(const Bytes& bytes) {
  wire::RdmaFrame frame;
  const wire::RdmaError error = wire::decode(bytes, wire::default_ethertype, frame);
  TRIBUTARY_REQUIRE(name_of(error) != "unknown");
  if (error != wire::RdmaError::none || frame.trimmed) {
    return;
  }
  Bytes again(wire::rdma_frame_bytes(frame.payload.size()));
  wire::encode(frame.header, {}, frame.payload, again.data());
  wire::RdmaFrame decoded;
  TRIBUTARY_REQUIRE(wire::decode(again, wire::default_ethertype, decoded) == wire::RdmaError::none);
  TRIBUTARY_REQUIRE(decoded.header == frame.header);
  TRIBUTARY_REQUIRE(std::equal(decoded.payload.begin(), decoded.payload.end(),
                               frame.payload.begin(), frame.payload.end()));
}

} // namespace
} // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary::fuzz;
  Input input(data, size);
  if (input.take<std::uint8_t>() == 0) {
    check_frame(input.bytes(size));
    return 0;
  }
  const auto world = std::make_unique<World>();
  while (!input.empty()) {
    world->step(input);
  }
  world->come_to_rest();
  return 0;
}
