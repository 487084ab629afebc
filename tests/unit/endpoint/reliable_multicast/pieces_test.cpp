// Reductions with results for some: members around one switch, which reduces pieces and
// acknowledgements as docs/protocol/engine.md says, and loses what a test wants lost.
#include "world.hpp"

#include "endpoint/reliable_multicast/acknowledgement.hpp"
#include "tributary/wire/arm_set.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace tributary::reliable_multicast::test {
namespace pieces {

using collective::ElementType;
using Values = std::vector<std::uint32_t>;

constexpr std::uint32_t windows = 2;
constexpr std::uint32_t pieces_of_a_window = 7;
constexpr std::size_t elements_of_a_piece = 10; // 40 bytes

Parameters reducing_member(std::uint32_t size, std::uint32_t rank) {
  Parameters p = member_of(size, rank);
  p.group.slots = windows;
  p.group.first_id = ReductionId{16};
  p.group.tree_slots = 32;
  p.group.payload = 64;
  p.group.in_switch = true;
  p.reduces = true;
  p.first_piece = ReductionId{18};
  p.window_chunks = pieces_of_a_window;
  p.chunk_bytes = 40;
  return p;
}

std::uint32_t value_of(std::uint32_t rank, std::size_t at) {
  return static_cast<std::uint32_t>(at * 1'000'003 + rank * 77 + 5);
}

class Star {
public:
  /// Whether a frame that reaches this member is lost.
  using Loses = std::function<bool(std::uint32_t to, std::span<const std::byte> frame)>;

  explicit Star(std::uint32_t size) : reducer_(reducing_member(size, 0).group) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      members_.push_back(std::make_unique<Member>(reducing_member(size, rank)));
    }
    calls_.resize(size);
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }
  [[nodiscard]] Member& operator[](std::uint32_t rank) { return *members_[rank]; }
  [[nodiscard]] TimeNs now() const { return now_; }
  void set_losses(Loses loses) { loses_ = std::move(loses); }

  /// A reduce-scatter of blocks of this many elements, or with a root a reduction to it.
  void call(std::uint32_t rank, std::size_t elements, std::optional<std::uint32_t> root = {},
            wire::Opcode op = wire::Opcode::int_sum) {
    Made& made = *calls_[rank].emplace_back(std::make_unique<Made>());
    made.in.resize(root ? elements : elements * size());
    for (std::size_t at = 0; at < made.in.size(); ++at) {
      made.in[at] = value_of(rank, at);
    }
    made.first = root ? 0 : rank * elements;
    made.out.assign(!root || *root == rank ? elements : 0, 0xEEEEEEEE);
    auto* const in = reinterpret_cast<std::byte*>(made.in.data());
    auto* const out = reinterpret_cast<std::byte*>(made.out.data());
    const Parameters& p = members_[rank]->parameters();
    made.operation = std::make_unique<Operation>(
        root ? reduce(*root, in, out, elements * 4, op, ElementType::uint32)
             : reduce_scatter(size(), rank, in, out, elements * 4, op, ElementType::uint32),
        p.chunk_bytes, p.window_chunks);
    members_[rank]->start(*made.operation, now_);
  }
  void call_everywhere(std::size_t elements, std::optional<std::uint32_t> root = {}) {
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      call(rank, elements, root);
    }
  }
  [[nodiscard]] bool finished() const {
    return std::ranges::all_of(calls_, [](const auto& of_rank) {
      return std::ranges::all_of(of_rank, [](const auto& c) { return c->operation->finished(); });
    });
  }
  /// Until all calls are finished and all is acknowledged; false if that takes longer.
  [[nodiscard]] bool run(std::uint64_t limit_ns = 60 * second) {
    const TimeNs end = now_ + limit_ns;
    const auto is_over = [&] {
      return std::ranges::all_of(members_,
                                 [](const auto& m) { return m->failure() || m->is_complete(); });
    };
    while (!is_over()) {
      if (send_all()) {
        continue;
      }
      TimeNs next = never;
      for (const auto& member : members_) {
        next = std::min(next, member->next_deadline());
      }
      if (next > end) {
        return false;
      }
      now_ = std::max(now_, next);
      for (const auto& member : members_) {
        member->poll(now_);
      }
    }
    return true;
  }
  [[nodiscard]] bool all_right() const {
    for (const auto& of_rank : calls_) {
      for (const auto& made : of_rank) {
        for (std::size_t at = 0; at < made->out.size(); ++at) {
          std::uint32_t sum = 0;
          for (std::uint32_t rank = 0; rank < size(); ++rank) {
            sum += value_of(rank, made->first + at);
          }
          if (made->out[at] != sum) {
            return false;
          }
        }
      }
    }
    return true;
  }
  [[nodiscard]] Statistics statistics() const {
    Statistics sum;
    for (const auto& member : members_) {
      const Statistics s = member->statistics();
#define TRIBUTARY_X(name, text) sum.name += s.name;
      TRIBUTARY_MULTICAST_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
    }
    return sum;
  }
  /// Moves what members have to send, without time passing. Whether there was any.
  bool send_all() {
    bool sent = false;
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      while (members_[rank]->has_to_send()) {
        Bytes frame(members_[rank]->next_frame_bytes());
        const Member::Begun begun = members_[rank]->take_frame(frame.data());
        frame.resize(begun.bytes);
        frame.insert(frame.end(), begun.rest.begin(), begun.rest.end());
        at_switch(rank, frame);
        sent = true;
      }
    }
    return sent;
  }
  void deliver(std::uint32_t to, const Bytes& frame) {
    if (!loses_ || !loses_(to, frame)) {
      members_[to]->receive(frame, now_);
    }
  }

private:
  struct Made {
    Values in;
    Values out;
    std::size_t first = 0;
    std::unique_ptr<Operation> operation;
  };
  struct Piece {
    SequenceNumber sequence;
    bool armed = false;
    std::optional<wire::WideFrame> first;
    Values sum;
    std::uint64_t signatures = 0;
    std::set<std::uint32_t> counted;
    std::set<std::uint32_t> wanted;
  };

  void at_switch(std::uint32_t from, const Bytes& frame) {
    wire::ReductionFrame f;
    if (wire::decode(frame, wire::default_ethertype, f) != wire::DecodeError::none) {
      return contribute(from, frame);
    }
    f.reduction = wire::dfa_of(frame.data() + wire::ethernet_header_bytes).slot();
    if (wire::arms_set(f.word)) {
      wire::arm_set_in(f.payload).for_each([&](std::uint64_t id) {
        pieces_[static_cast<std::uint32_t>(id)] = {.sequence = f.word.seqno, .armed = true};
      });
      return to_leaves(frame);
    }
    const auto out = from == 0 ? reducer_.from_root(f) : reducer_.from_leaf(f);
    if (!out) {
      return;
    }
    Bytes copy(wire::reduction_frame_bytes);
    wire::encode(out->frame, std::span<std::byte, wire::reduction_frame_bytes>(copy));
    if (out->to_root) {
      deliver(0, copy);
    }
    if (out->to_leaves) {
      to_leaves(copy);
    }
  }
  void to_leaves(const Bytes& frame) {
    for (std::uint32_t rank = 1; rank < size(); ++rank) {
      deliver(rank, frame);
    }
  }
  void contribute(std::uint32_t from, const Bytes& frame) {
    wire::WideFrame w;
    ASSERT_EQ(wire::decode(frame, wire::default_ethertype, w), wire::DecodeError::none);
    EXPECT_EQ(w.rank, from);
    EXPECT_EQ(w.word.count, 1U);
    EXPECT_EQ(w.word.resno, w.word.seqno);
    Piece& piece = pieces_[w.slot.value];
    if (!piece.armed || piece.sequence != w.word.seqno || !piece.counted.insert(from).second) {
      return;
    }
    Values values(w.payload_bytes / 4);
    std::memcpy(values.data(), wire::payload_of(frame, w).data(), w.payload_bytes);
    if (!piece.first) {
      piece.first = w;
      piece.sum.assign(values.size(), 0);
    }
    for (std::size_t i = 0; i < std::min(values.size(), piece.sum.size()); ++i) {
      piece.sum[i] += values[i];
    }
    piece.signatures += w.signature;
    if (w.word.wanted()) {
      piece.wanted.insert(from);
    }
    if (piece.counted.size() < size()) {
      return;
    }
    wire::WideFrame result = *piece.first;
    result.word.count = size();
    result.word.pad = wire::pad_wanted;
    result.signature = piece.signatures & wire::signature_mask;
    Bytes bytes(wire::wide_header_bytes + result.payload_bytes);
    wire::encode_header(result, std::span(bytes).first<wire::wide_header_bytes>());
    std::memcpy(bytes.data() + wire::wide_header_bytes, piece.sum.data(), result.payload_bytes);
    piece.armed = false;
    for (const std::uint32_t rank : piece.wanted) {
      deliver(rank, bytes);
    }
  }

  Reducer reducer_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::vector<std::unique_ptr<Made>>> calls_;
  std::map<std::uint32_t, Piece> pieces_;
  Loses loses_;
  TimeNs now_{second};
};

bool is_result(std::span<const std::byte> frame) {
  wire::WideFrame w;
  return wire::decode(frame, wire::default_ethertype, w) == wire::DecodeError::none;
}
bool is_arm_set(std::span<const std::byte> frame) {
  wire::ReductionFrame f;
  return wire::decode(frame, wire::default_ethertype, f) == wire::DecodeError::none &&
         wire::arms_set(f.word);
}

TEST(Pieces, give_each_member_the_sums_of_its_block) {
  for (const std::uint32_t size : {2U, 3U, 5U}) {
    Star star(size);
    for (const std::size_t elements : {0U, 1U, 10U, 25U, 400U}) {
      star.call_everywhere(elements);
    }
    ASSERT_TRUE(star.run()) << size;
    EXPECT_TRUE(star.finished() && star.all_right()) << size;
    const Statistics s = star.statistics();
    EXPECT_EQ(s.results, (1 + 1 + 3 + 40) * size);
    EXPECT_EQ(s.pieces_sent, s.results * size);
    EXPECT_EQ(s.pieces_resent + s.with_holes + s.retried + s.wrong_result + s.duplicates, 0U);
  }
}

TEST(Pieces, give_a_root_all_sums) {
  for (const std::uint32_t root : {0U, 2U}) {
    Star star(3);
    star.call_everywhere(400, root);
    star.call_everywhere(7, 2 - root);
    ASSERT_TRUE(star.run());
    EXPECT_TRUE(star.finished() && star.all_right()) << root;
    EXPECT_EQ(star[1].statistics().results, 0U) << "nobody else gets one";
  }
}

TEST(Pieces, of_a_group_of_one_are_copied) {
  Star star(1);
  star.call_everywhere(5);
  EXPECT_TRUE(star.finished() && star.all_right());
}

TEST(Pieces, whose_result_is_lost_are_asked_for_again_at_once) {
  Star star(3);
  int lost = 0;
  star.set_losses([&](std::uint32_t to, std::span<const std::byte> frame) {
    return to == 1 && is_result(frame) && lost++ == 0; // its first one; later ones reveal it
  });
  star.call_everywhere(100);
  const TimeNs begun = star.now();
  ASSERT_TRUE(star.run());
  EXPECT_TRUE(star.all_right());
  const Statistics s = star.statistics();
  EXPECT_EQ(s.pieces_resent, 3U) << "that piece, by each member";
  EXPECT_GT(s.overtaken, 0U);
  EXPECT_EQ(elapsed_ns(star.now(), begun), 0U) << "no time-out";
}

TEST(Pieces, whose_last_result_is_lost_are_asked_for_after_the_gap) {
  Star star(3);
  int seen = 0;
  star.set_losses([&](std::uint32_t to, std::span<const std::byte> frame) {
    return to == 1 && is_result(frame) && seen++ == 1; // the last one of the window
  });
  star.call_everywhere(20); // 6 pieces, two of each
  const TimeNs begun = star.now();
  ASSERT_TRUE(star.run());
  EXPECT_TRUE(star.all_right());
  EXPECT_EQ(star[1].statistics().gaps, 1U);
  EXPECT_GE(elapsed_ns(star.now(), begun), 10 * ms);
}

TEST(Pieces, whose_arm_a_member_misses_are_armed_again) {
  Star star(3);
  int lost = 0;
  star.set_losses([&](std::uint32_t to, std::span<const std::byte> frame) {
    return to == 2 && is_arm_set(frame) && lost++ < 3;
  });
  star.call_everywhere(100);
  ASSERT_TRUE(star.run());
  EXPECT_TRUE(star.all_right());
}

TEST(Pieces, arms_of_a_later_window_complete_one_whose_result_was_lost) {
  Star star(3);
  int lost = 0;
  star.set_losses([&](std::uint32_t to, std::span<const std::byte> frame) {
    wire::ReductionFrame f;
    if (to != 1 || wire::decode(frame, wire::default_ethertype, f) != wire::DecodeError::none ||
        f.word.count == 0) {
      return false;
    }
    return f.payload[3] == window_word(0) && lost++ == 0; // the result of window 0
  });
  star.call_everywhere(400);
  ASSERT_TRUE(star.run());
  EXPECT_TRUE(star.all_right());
  EXPECT_GT(star[1].statistics().by_data, 0U);
}

TEST(Pieces, wait_for_a_member_that_is_late) {
  Star star(3);
  star.call(0, 100);
  star.call(1, 100);
  while (star.send_all()) {
  }
  EXPECT_FALSE(star.finished());
  star.call(2, 100);
  ASSERT_TRUE(star.run());
  EXPECT_TRUE(star.finished() && star.all_right());
  EXPECT_EQ(star.statistics().pieces_resent, 0U);
}

TEST(Pieces, random_losses_leave_every_result_right) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    Star star(2 + static_cast<std::uint32_t>(random.below(4)));
    star.set_losses(
        [&](std::uint32_t, std::span<const std::byte>) { return random.below(20) == 0; });
    for (int i = 0; i < 4; ++i) {
      star.call_everywhere(random.below(150));
    }
    ASSERT_TRUE(star.run(600 * second)) << seed;
    ASSERT_TRUE(star.finished() && star.all_right()) << seed;
  }
}

TEST(Pieces, results_that_cannot_be_right_are_refused_by_name) {
  Star star(3);
  Bytes kept;
  star.set_losses([&](std::uint32_t to, std::span<const std::byte> frame) {
    if (to == 1 && is_result(frame) && kept.empty()) {
      kept.assign(frame.begin(), frame.end());
      return true;
    }
    return false;
  });
  star.call(0, 10);
  star.call(1, 10);
  star.call(2, 10);
  while (kept.empty() && star.send_all()) {
  }
  ASSERT_FALSE(kept.empty());
  wire::WideFrame right;
  ASSERT_EQ(wire::decode(kept, wire::default_ethertype, right), wire::DecodeError::none);
  const auto give = [&](const auto& change) {
    wire::WideFrame f = right;
    change(f);
    Bytes forged = kept;
    forged.resize(wire::wide_header_bytes + f.payload_bytes);
    wire::encode_header(
        f, std::span<std::byte, wire::wide_header_bytes>(forged.data(), wire::wide_header_bytes));
    const std::uint64_t before = star[1].statistics().wrong_result;
    star[1].receive(forged, star.now());
    return star[1].statistics().wrong_result == before + 1;
  };
  EXPECT_TRUE(give([](auto& f) { ++f.signature; })) << "a member is missing, or twice in it";
  EXPECT_TRUE(give([](auto& f) { f.word.count = 2; }));
  EXPECT_TRUE(give([](auto& f) { f.word.resno = collective::successor(f.word.resno); }));
  EXPECT_TRUE(give([](auto& f) { f.word.op = static_cast<std::uint8_t>(wire::Opcode::int_min); }));
  ASSERT_TRUE(star.run());
  EXPECT_TRUE(star.all_right());
}

TEST(Pieces, of_calls_that_differ_end_with_what_each_called) {
  Star star(3);
  star.call(0, 10);
  star.call(1, 10, {}, wire::Opcode::bit_xor);
  star.call(2, 10);
  ASSERT_TRUE(star.run(600 * second));
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(star[rank].failure()) << rank;
    EXPECT_EQ(star[rank].failure()->what, Verdict::What::calls_differ);
    EXPECT_EQ(star[rank].failure()->rank, 1U);
    EXPECT_EQ(star[rank].failure()->other_call.op,
              static_cast<std::uint8_t>(wire::Opcode::bit_xor));
    EXPECT_EQ(star[rank].failure()->root_call.op, static_cast<std::uint8_t>(wire::Opcode::int_sum));
    EXPECT_EQ(star[rank].failure()->root_call.type, static_cast<std::uint8_t>(ElementType::uint32));
  }
}

TEST(Pieces, parameters_are_checked) {
  const auto fault = [](const auto& change) {
    Parameters p = reducing_member(3, 1);
    change(p);
    return fault_of(p);
  };
  EXPECT_EQ(fault([](auto&) {}), "");
  EXPECT_NE(fault([](auto& p) { p.group.in_switch = false; }).find("in-switch results"),
            std::string::npos);
  EXPECT_NE(fault([](auto& p) { p.chunk_bytes = 72; }).find("72 bytes"), std::string::npos);
  EXPECT_NE(fault([](auto& p) { p.window_chunks = 65; }).find("1 to 64"), std::string::npos);
  EXPECT_NE(fault([](auto& p) { p.window_chunks = 8; }).find("ids 18 to 33"), std::string::npos);
  EXPECT_NE(fault([](auto& p) { p.first_piece = ReductionId{4}; }).find("acknowledgements"),
            std::string::npos);
}

} // namespace pieces
} // namespace tributary::reliable_multicast::test
