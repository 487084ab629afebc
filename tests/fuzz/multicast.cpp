// Any bytes at a member of a group that multicasts: frames of peers and strangers, calls of its
// owner, and time.
//
//   first byte   bit 0 the member is the root, 1 in-switch results, 2 twin trees (without 1), 3 the
//                NIDs of ranks are not known
//   steps        a byte for the kind, and its arguments. Frames are made of the input's fields with
//                right checks, so that they get past the decoder; their numbers are small, so that
//                they often mean something
//
// What a host sends has the byte of its NID. After each step: the block of a rank that a finished
// call received has that rank's byte everywhere, and so have the member's own chunks whenever it
// sends them; nothing around a call's memory is touched, nor the memory after the call.
#include "endpoint/collective/notice.hpp"
#include "endpoint/reliable_multicast/acknowledgement.hpp"
#include "endpoint/reliable_multicast/member.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/require.hpp"
#include "tributary/wire/opcode.hpp"
#include "tributary/wire/reduction.hpp"
#include "tributary/wire/shared.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace tributary::fuzz {
namespace {

using namespace reliable_multicast;
using Bytes = std::vector<std::byte>;

constexpr std::size_t canary = 64;
constexpr std::byte untouched{0xC5};
constexpr std::uint32_t size = 3;
constexpr std::uint32_t windows = 2;
constexpr Cookie cookie{0x5EED0001};
constexpr std::size_t most_calls = 64;

constexpr Nid nid_of(std::uint32_t rank) { return Nid{0x100 + rank}; }
constexpr std::byte byte_of(std::uint32_t rank) { return static_cast<std::byte>(0x10 + rank); }

class World {
public:
  explicit World(std::uint8_t settings) {
    Parameters p;
    p.group.tree = TreeNumber{7};
    p.group.vni = Vni{5};
    p.group.cookie = cookie;
    p.group.size = size;
    p.group.rank = (settings & 1U) != 0 ? 0 : 1;
    p.group.nid = nid_of(p.group.rank);
    p.group.root_nid = nid_of(0);
    p.group.in_switch = (settings & 2U) != 0;
    if ((settings & 6U) == 4U) {
      p.group.twin = TreeNumber{8};
    }
    p.group.slots = windows;
    p.group.first_id = ReductionId{8};
    p.group.tree_slots = 16;
    p.group.retry_ns = 1'000'000;
    p.group.result_timeout_ns = 20'000'000;
    p.group.collective_timeout_ns = 200'000'000;
    p.group.member_timeout_ns = 100'000'000;
    p.group.leave_grace_ns = 10'000'000;
    p.chunk_bytes = 40;
    p.window_chunks = 4;
    p.eager_bytes = 80;
    p.gap_ns = 1'000'000;
    if ((settings & 8U) == 0) {
      p.nids = {nid_of(0), nid_of(1), nid_of(2)};
    } else {
      // The source guard's part: no host is the first to speak for another rank.
      is_guarded_ = true;
    }
    rank_ = p.group.rank;
    member_ = std::make_unique<Member>(p);
  }

  void step(Input& input) {
    switch (input.below(8)) {
    case 0: now_ = now_ + 10'000U * input.take<std::uint16_t>(); break;
    case 1: begin(input); break;
    case 2:
    case 3: give_chunk(input); break;
    case 4:
    case 5: give_reduction(input); break;
    case 6: give(input.bytes(input.take<std::uint8_t>())); break;
    default: move(input); break;
    }
    settle();
  }

private:
  struct Call {
    std::vector<Block> blocks;
    Bytes memory;
    std::unique_ptr<Operation> operation;
    bool is_over = false;
    [[nodiscard]] std::span<std::byte> data() {
      return std::span(memory).subspan(canary, memory.size() - 2 * canary);
    }
  };

  void begin(Input& input) {
    if (member_->failure() || calls_.size() == most_calls) {
      return;
    }
    const std::uint8_t choice = input.take<std::uint8_t>();
    Task task = (choice & 1U) != 0
                    ? allgather(size, nullptr, input.take<std::uint8_t>())
                    : broadcast((choice >> 1U) % size, nullptr, input.take<std::uint16_t>() % 1000);
    Call& call = calls_.emplace_back();
    call.blocks = task.blocks;
    call.memory.assign(task.shape.bytes + 2 * canary, untouched);
    task.data = call.data().data();
    for (const Block& block : call.blocks) {
      if (block.rank == rank_) {
        std::ranges::fill(call.data().subspan(block.offset, block.bytes), byte_of(rank_));
      }
    }
    const Parameters& p = member_->parameters();
    call.operation = std::make_unique<Operation>(task, p.chunk_bytes, p.window_chunks);
    member_->start(*call.operation, now_);
  }

  void give(const Bytes& frame) { member_->receive(frame, now_); }

  void give_chunk(Input& input) {
    const auto choice = input.take<std::uint8_t>();
    const std::uint32_t host = choice % 4; // 3: a stranger
    wire::SharedFrame f;
    f.vni = Vni{5};
    f.source_nid = nid_of(host);
    f.tree = TreeNumber{static_cast<std::uint16_t>(7 + (choice >> 2U & 1U))};
    f.rank = (choice & 8U) != 0 && !is_guarded_ ? input.below(size + 1) : host;
    f.cookie = (choice & 0x70U) == 0x70 ? Cookie{1} : cookie;
    f.window = (choice & 0x80U) != 0 ? input.take<std::uint64_t>() & wire::signature_mask
                                     : member_->windows() + input.below(5);
    f.chunk = input.below(6);
    f.bytes = static_cast<std::uint16_t>(1 + input.below(48));
    if (f.bytes > 40) {
      f.bytes = 40; // most are whole
    }
    const auto round = input.take<std::uint8_t>();
    f.round = (round & 0x80U) != 0 ? round : wire::first_round;
    Bytes frame(wire::shared_header_bytes + wire::padded_chunk(f.bytes), byte_of(host));
    wire::encode_header(f, std::span(frame).first<wire::shared_header_bytes>());
    give(frame);
  }

  void give_reduction(Input& input) {
    const auto choice = input.take<std::uint8_t>();
    wire::ReductionFrame f;
    f.vni = Vni{5};
    f.rank = choice % size;
    f.source_nid = nid_of((choice & 4U) != 0 ? 0 : f.rank);
    f.tree = TreeNumber{static_cast<std::uint16_t>(7 + (choice >> 3U & 1U))};
    f.cookie = cookie;
    const std::uint64_t window =
        member_->windows() - std::min<std::uint64_t>(member_->windows(), 2) + input.below(6);
    f.reduction = ReductionId{static_cast<std::uint8_t>(8 + window % windows)};
    const auto kind = input.take<std::uint8_t>();
    const bool all = (choice & 16U) != 0;
    const SequenceNumber seqno{input.below(12)};
    f.word = {.seqno = seqno,
              .arm = (kind & 1U) != 0,
              .op = static_cast<std::uint8_t>(wire::Opcode::bit_and),
              .count = static_cast<ContributionCount>(all ? size : kind >> 1U & 3U),
              .resno = SequenceNumber{input.below(12)},
              .rc = static_cast<std::uint8_t>((kind & 0xF0U) == 0xF0 ? 2 : 0),
              .pad = static_cast<std::uint8_t>((choice & 32U) != 0 ? wire::pad_retry : 0)};
    switch (choice >> 6U) {
    case 0: f.signature = input.below(4); break; // a flag of the root
    case 1:
      f.signature =
          collective::signature_of_piece(collective::signature_base(cookie, f.rank), window);
      break;
    default: f.signature = collective::SignatureSum(cookie, size).expected(window); break;
    }
    if ((kind & 8U) != 0) {
      f.word = collective::notice_word();
      f.payload = {input.take<std::uint64_t>(), input.take<std::uint64_t>(), 0, 0};
    } else {
      f.payload = acknowledgement(window, ChunkSet({input.take<std::uint8_t>(), 0, 0}));
    }
    Bytes frame(wire::reduction_frame_bytes);
    wire::encode(f, std::span<std::byte, wire::reduction_frame_bytes>(frame));
    give(frame);
  }

  void move(Input& input) {
    collective::GroupParameters group = member_->parameters().group;
    group.tree = TreeNumber{static_cast<std::uint16_t>(input.below(2) == 0 ? 7 : 9)};
    member_->move_to(group, now_);
  }

  void settle() {
    for (int i = 0; member_->next_deadline() <= now_; ++i) {
      TRIBUTARY_REQUIRE(i < 100);
      member_->poll(now_);
    }
    for (int i = 0; member_->has_to_send(); ++i) {
      TRIBUTARY_REQUIRE(i < 1000);
      take_frame();
      check_calls();
    }
    check_calls();
  }

  void take_frame() {
    Bytes frame(member_->next_frame_bytes());
    const Member::Begun begun = member_->take_frame(frame.data());
    TRIBUTARY_REQUIRE(begun.bytes + begun.rest.size() <= frame.size());
    std::ranges::copy(begun.rest, frame.begin() + static_cast<std::ptrdiff_t>(begun.bytes));
    frame.resize(begun.bytes + begun.rest.size());
    wire::SharedFrame shared;
    if (wire::decode(frame, wire::default_ethertype, shared) != wire::DecodeError::none) {
      wire::ReductionFrame reduction;
      TRIBUTARY_REQUIRE(wire::decode(frame, wire::default_ethertype, reduction) ==
                        wire::DecodeError::none);
      return;
    }
    TRIBUTARY_REQUIRE(shared.rank == rank_ && shared.source_nid == nid_of(rank_));
    TRIBUTARY_REQUIRE(std::ranges::all_of(wire::chunk_of(frame, shared),
                                          [&](std::byte b) { return b == byte_of(rank_); }));
  }

  void check_calls() {
    for (Call& call : calls_) {
      if (!call.is_over && (call.operation->finished() || member_->failure())) {
        call.is_over = true;
        for (const Block& block : call.blocks) {
          TRIBUTARY_REQUIRE(
              !call.operation->finished() ||
              std::ranges::all_of(call.data().subspan(block.offset, block.bytes),
                                  [&](std::byte b) { return b == byte_of(block.rank); }));
        }
        std::ranges::fill(call.data(), untouched); // it is the caller's again
      }
      const auto is_untouched = [](std::byte b) { return b == untouched; };
      const std::span all(call.memory);
      TRIBUTARY_REQUIRE(std::ranges::all_of(all.first(canary), is_untouched));
      TRIBUTARY_REQUIRE(std::ranges::all_of(all.last(canary), is_untouched));
      TRIBUTARY_REQUIRE(!call.is_over || std::ranges::all_of(all, is_untouched));
    }
  }

  std::unique_ptr<Member> member_;
  std::deque<Call> calls_;
  std::uint32_t rank_ = 0;
  bool is_guarded_ = false;
  TimeNs now_{1'000'000'000};
};

} // namespace
} // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary::fuzz;
  Input input(data, size);
  World world(input.take<std::uint8_t>());
  while (!input.empty()) {
    world.step(input);
  }
  return 0;
}
