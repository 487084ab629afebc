// Any bytes at a messenger: frames of streams, segments in them, and actions of owner and time.
//
//   first byte 0   the rest is a segment. What decodes, encodes to the same bytes
//   else steps, each a byte for the kind, and its arguments. Two peers open sessions, or accept
//                  those of the messenger, as they should; then they send what the input says, with
//                  the right names or wrong ones
//
// After each step: nothing around memory is touched, each operation completes at most once, and
// nothing grows beyond its room. In the end all comes to rest.

#include "endpoint/messages/messenger.hpp"
#include "lib/link/port.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/require.hpp"
#include "tributary/wire/segment.hpp"
#include "tributary/wire/stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tributary::fuzz {
namespace {

using Bytes = std::vector<std::byte>;
using namespace messages;
namespace stream_flag = wire::stream_flag;

constexpr std::size_t canary = 64;
constexpr std::size_t memory_bytes = 2'000;
constexpr std::uint32_t longest_frame = 270;
constexpr Vni vni{7};
constexpr EndPoint own_address{Nid{1}, 256};

/// What the messenger has said to a peer last.
struct Peer {
  std::uint32_t name = 0; ///< of its session, for frames to it
  std::uint64_t proof = 0;
  std::uint32_t expected = 0; ///< number of the frame that it expects
  std::uint32_t sent = 0;     ///< number of its next frame
};
std::array<Peer, 2> peers;

EndPoint address_of(std::size_t peer) { return {Nid{static_cast<std::uint32_t>(2 + peer)}}; }
std::uint32_t name_of_peer(std::size_t peer) { return static_cast<std::uint32_t>(100 + peer); }

class Drain final : public link::Port {
public:
  [[nodiscard]] std::uint32_t longest_frame() const override { return fuzz::longest_frame; }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "fuzz"; }

private:
  std::size_t transmit(std::span<Slot> slots) override {
    for (const Slot& slot : slots) {
      TRIBUTARY_REQUIRE(slot.length <= fuzz::longest_frame);
      wire::RdmaFrame frame;
      TRIBUTARY_REQUIRE(wire::decode({slot.data, slot.length}, wire::default_ethertype, frame) ==
                        wire::RdmaError::none);
      TRIBUTARY_REQUIRE(frame.header.source == own_address);
      hear(frame.header);
      free_.push_back(slot.data);
    }
    return slots.size();
  }
  static void hear(const wire::RdmaHeader& h) {
    const std::size_t of = h.destination.nid.value - 2;
    if (of >= peers.size()) {
      return;
    }
    Peer& peer = peers[of];
    const unsigned step = h.kind == wire::RdmaKind::ack ? h.flags & stream_flag::steps : 0U;
    if (step == stream_flag::open || step == stream_flag::accept) {
      peer = {.name = h.value, .proof = peer.proof};
    } else if (step == stream_flag::challenge) {
      peer.proof = h.word;
    } else if (step == 0 && (h.kind == wire::RdmaKind::ack || h.kind == wire::RdmaKind::str)) {
      peer.expected = h.value;
      peer.sent = h.kind == wire::RdmaKind::str ? h.pidx + 1 : peer.sent;
    }
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

class MessageWorld {
public:
  MessageWorld() : memory_(memory_bytes + 2 * canary, std::byte{0xC5}), own_(memory_bytes) {
    peers = {};
    Options o;
    o.rdma.address = o.streams.address = own_address;
    o.rdma.longest_frame = o.streams.longest_frame = longest_frame;
    o.rdma.sinks = o.rdma.sources = o.rdma.works = 4;
    o.rdma.peers = o.rdma.regions = 3;
    o.rdma.records = o.rdma.completions = 8;
    rdma_policy::Policy p;
    p.window = 128;
    p.initial_timeout_ns = p.least_timeout_ns = 1000;
    p.most_timeout_ns = 100'000;
    p.initial_reordering_ns = 500;
    p.sink_timeouts = p.request_retries = p.query_retries = 3;
    p.finished_ns = 50'000;
    p.busy_retries = 5;
    o.streams.policy = p;
    o.streams.sessions = 2;
    o.streams.window = 64;
    o.streams.send_frames = o.streams.hold_frames = 20;
    o.streams.receive_room = 32;
    o.streams.keepalive_ns = 1'000'000;
    o.operations = 8;
    o.completions = 16;
    o.unexpected_messages = 6;
    o.unexpected_bytes = 4'000;
    o.eager_bytes = 400;
    messenger_ = std::make_unique<Messenger>(o);
    messenger_->node().set_policy(p);
    key_ = *messenger_->register_region(memory(), {.peers_write = true, .peers_read = true}, vni);
  }

  void step(Input& input) {
    switch (input.below(10)) {
    case 0: now_ = now_ + 100U * input.take<std::uint16_t>(); break;
    case 1: begin_send(input); break;
    case 2: begin_receive(input); break;
    case 3: messenger_->cancel(1 + input.below(8)); break;
    case 4: probe(input); break;
    case 5: open(input); break;
    case 6: give_segments(input); break;
    case 7: begin_there(input); break;
    default: give_header(input); break;
    }
    move();
    check();
  }
  void come_to_rest() {
    for (int i = 0; i < 20'000 && messenger_->next_deadline() != never; ++i) {
      if (claimed_ != Matching::none) {
        static_cast<void>(messenger_->discard(std::exchange(claimed_, Matching::none)));
      }
      now_ = std::max(now_ + 1, messenger_->next_deadline());
      move();
    }
    for (std::uint64_t user = 1; user <= users_; ++user) {
      messenger_->cancel(user);
    }
    move();
    TRIBUTARY_REQUIRE(messenger_->streams().sessions_in_use() == 0);
    TRIBUTARY_REQUIRE(messenger_->streams().frames_in_use() == 0);
    TRIBUTARY_REQUIRE(messenger_->operations_in_use() == 0);
    TRIBUTARY_REQUIRE(begun_.empty());
  }

private:
  std::span<std::byte> memory() { return std::span(memory_).subspan(canary, memory_bytes); }
  void begin_send(Input& input) {
    const auto how = input.take<std::uint8_t>();
    const std::uint64_t user = users_ + 1;
    const bool inject = (how & 2) != 0;
    const std::size_t length =
        inject ? input.below(200) : input.take<std::uint16_t>() % memory_bytes;
    const bool silent = inject || (how & 8) != 0;
    if (messenger_->send({.peer = address_of(how & 1U),
                          .vni = vni,
                          .memory = std::span(own_).first(length),
                          .tag = input.below(3),
                          .tagged = (how & 4) == 0,
                          .inject = inject,
                          .wants_done = (how & 16) != 0,
                          .silent = silent,
                          .user = user}) == BeginError::none) {
      ++users_;
      if (!silent) {
        begun_.insert(user);
      }
    }
  }
  void begin_receive(Input& input) {
    const auto how = input.take<std::uint8_t>();
    Pattern pattern{.tag = input.below(3), .tagged = (how & 4) == 0};
    pattern.ignored = (how & 2) != 0 ? 3 : 0;
    if ((how & 1) != 0) {
      pattern.source = source_of(address_of(how >> 7), vni);
    }
    const std::size_t length = input.take<std::uint16_t>() % (memory_bytes + 1);
    if (messenger_->receive(
            {.pattern = pattern, .memory = memory().last(length), .user = users_ + 1}) ==
        BeginError::none) {
      begun_.insert(++users_);
    }
  }
  /// An atomic, or a short write, at a peer.
  void begin_there(Input& input) {
    const auto how = input.take<std::uint8_t>();
    const auto type = static_cast<wire::AtomicType>(input.below(wire::atomic_types));
    const auto operation = static_cast<wire::AtomicOperation>(input.below(wire::atomic_operations));
    const std::size_t count = input.below(20);
    const std::size_t length = count * wire::atomic_width(type);
    const unsigned operands = wire::atomic_operands(operation);
    const std::uint64_t user = users_ + 1;
    const bool silent = (how & 8) != 0;
    const BeginError error =
        (how & 2) != 0
            ? messenger_->put({.peer = address_of(how & 1U),
                               .vni = vni,
                               .memory = std::span(own_).first(length),
                               .data = (how & 4) != 0 ? std::optional(user) : std::nullopt,
                               .silent = silent,
                               .user = user})
            : messenger_->atomic({.peer = address_of(how & 1U),
                                  .vni = vni,
                                  .operation = operation,
                                  .type = type,
                                  .count = count,
                                  .operand = std::span(own_).first(operands > 0 ? length : 0),
                                  .compare = std::span(own_).first(operands > 1 ? length : 0),
                                  .old = memory().last((how & 4) != 0 ? length : 0),
                                  .silent = silent,
                                  .user = user});
    if (error == BeginError::none) {
      ++users_;
      if (!silent) {
        begun_.insert(user);
      }
    }
  }
  void probe(Input& input) {
    const auto how = input.take<std::uint8_t>();
    if (claimed_ == Matching::none) {
      const Found found = messenger_->peek({.ignored = 3, .tagged = (how & 4) == 0});
      if (found.message != Matching::none && (how & 1) != 0) {
        claimed_ = found.message;
        messenger_->claim(claimed_);
      }
    } else if ((how & 1) != 0) {
      if (messenger_->discard(claimed_) == BeginError::none) {
        claimed_ = Matching::none;
      }
    } else if (messenger_->receive_claimed(claimed_, {.memory = memory().first(how),
                                                      .user = users_ + 1}) == BeginError::none) {
      begun_.insert(++users_);
      claimed_ = Matching::none;
    }
  }
  [[nodiscard]] wire::RdmaHeader header(std::size_t of, wire::RdmaKind kind) const {
    wire::RdmaHeader h;
    h.source = address_of(of);
    h.destination = own_address;
    h.vni = vni;
    h.kind = kind;
    h.message = peers[of].name;
    return h;
  }
  void give(const wire::RdmaHeader& h, const Bytes& payload = {}) {
    Bytes frame(wire::rdma_frame_bytes(payload.size()));
    wire::encode(h, {}, payload, frame.data());
    const FrameView view{frame.data(), static_cast<std::uint32_t>(frame.size())};
    messenger_->receive({&view, 1}, now_);
  }
  /// As a peer should: OPEN with the proof, or ACCEPT.
  void open(Input& input) {
    const auto how = input.take<std::uint8_t>();
    const std::size_t of = how & 1U;
    wire::RdmaHeader h = header(of, wire::RdmaKind::ack);
    h.flags = (how & 2) != 0 ? stream_flag::accept : stream_flag::open;
    h.generation = wire::stream_version;
    h.scid = (how & 4) != 0 ? 200 : 64;
    h.dcid = how >> 3;
    h.value = name_of_peer(of) + ((how & 0x80) != 0 ? 1U : 0U);
    h.word = peers[of].proof;
    give(h);
  }
  void give_segments(Input& input) {
    const auto how = input.take<std::uint8_t>();
    const std::size_t of = how & 1U;
    wire::RdmaHeader h = header(of, wire::RdmaKind::str);
    h.pidx = peers[of].expected + (how >> 1 & 3U);
    const std::uint32_t taken = (how & 8) != 0 ? peers[of].sent : 0;
    wire::put({.expected = taken, .credit = 64}, input.take<std::uint8_t>(), h);
    Bytes payload(200);
    std::size_t at = 0;
    for (unsigned n = 0; n < 1U + (how >> 4 & 3U); ++n) {
      wire::Segment s;
      s.kind = static_cast<wire::SegmentKind>(input.below(8));
      s.flags = input.take<std::uint8_t>() & 0x3F;
      s.number = input.take<std::uint8_t>() | (how & 0x40U) << 10; // an operation of ours, perhaps
      s.tag = input.below(3);
      s.total = input.take<std::uint16_t>() % 1'000;
      s.key = input.take<std::uint8_t>();
      if (s.kind == wire::SegmentKind::atomic && s.key < 0xF0) { // of something that is there
        s.key = key_.value;
        s.tag = input.take<std::uint16_t>() % (memory_bytes + 10);
        s.total = input.below(wire::atomic_operations) |
                  std::uint64_t{input.below(wire::atomic_types)} << 8U |
                  std::uint64_t{input.below(10)} << 16U;
      }
      const std::size_t header_bytes = wire::header_bytes(s.kind, s.flags);
      if (at + header_bytes > payload.size()) {
        break;
      }
      s.length = static_cast<std::uint16_t>(
          std::min<std::size_t>(input.below(120), payload.size() - at - header_bytes));
      at += wire::encode(s, &payload[at]) + s.length;
    }
    payload.resize(at + ((how & 0x80) != 0 ? 3 : 0)); // the last may be cut off
    give(h, payload);
  }
  void give_header(Input& input) {
    const auto how = input.take<std::uint8_t>();
    const std::size_t of = how & 1U;
    wire::RdmaHeader h = header(of, (how & 2) != 0 ? wire::RdmaKind::str : wire::RdmaKind::ack);
    h.flags = input.take<std::uint8_t>();
    h.message += (how & 4) != 0 ? input.take<std::uint8_t>() : 0U;
    h.pidx = input.take<std::uint8_t>();
    h.dcid = input.take<std::uint16_t>();
    h.scid = input.take<std::uint16_t>();
    h.generation = input.take<std::uint8_t>();
    h.value = input.take<std::uint8_t>();
    h.word = input.take<std::uint64_t>();
    give(h, input.bytes(8U * (how >> 5)));
  }

  void move() {
    messenger_->poll(now_);
    for (int i = 0; i < 100 && messenger_->has_to_send(); ++i) {
      engine::Outlet outlet(port_);
      messenger_->send(outlet);
      port_.flush();
    }
    TRIBUTARY_REQUIRE(!messenger_->has_to_send());
    while (const auto completion = messenger_->take_completion()) {
      if (completion->kind != Completion::Kind::arrival && !completion->silent) {
        TRIBUTARY_REQUIRE(begun_.erase(completion->user) == 1);
      }
    }
  }
  void check() {
    const auto live = [](std::byte b) { return b == std::byte{0xC5}; };
    TRIBUTARY_REQUIRE(std::all_of(memory_.begin(), memory_.begin() + canary, live));
    TRIBUTARY_REQUIRE(std::all_of(memory_.end() - canary, memory_.end(), live));
    TRIBUTARY_REQUIRE(messenger_->unexpected() <= 6 && messenger_->operations_in_use() <= 8);
    TRIBUTARY_REQUIRE(messenger_->next_deadline() > now_);
  }

  Bytes memory_;
  Bytes own_;
  rdma::RegionKey key_{};
  Drain port_;
  std::unique_ptr<Messenger> messenger_;
  std::uint32_t claimed_ = Matching::none;
  std::set<std::uint64_t> begun_;
  std::uint64_t users_ = 0;
  TimeNs now_{1};
};

void check_segment(const Bytes& bytes) {
  const auto segment = wire::decode_segment(bytes);
  if (!segment) {
    return;
  }
  Bytes again(wire::longest_segment_header);
  const std::size_t header = wire::encode(*segment, again.data());
  TRIBUTARY_REQUIRE(header == wire::header_bytes(segment->kind, segment->flags));
  TRIBUTARY_REQUIRE(std::equal(again.begin(), again.begin() + static_cast<std::ptrdiff_t>(header),
                               bytes.begin()));
}

} // namespace
} // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary::fuzz;
  Input input(data, size);
  if (input.take<std::uint8_t>() == 0) {
    check_segment(input.bytes(size));
    return 0;
  }
  const auto world = std::make_unique<MessageWorld>();
  while (!input.empty()) {
    world->step(input);
  }
  world->come_to_rest();
  return 0;
}
