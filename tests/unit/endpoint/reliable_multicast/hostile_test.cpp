// What a hostile member or a stranger sends: counted by name, and never a wrong byte.
#include "world.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tributary::reliable_multicast::test {
namespace {

/// A chunk of rank 1 as it would send it, full of lies.
Bytes chunk(const std::function<void(wire::SharedFrame&)>& change = {}) {
  wire::SharedFrame frame;
  frame.vni = Vni{0x400};
  frame.source_nid = nid_of_rank(1);
  frame.tree = TreeNumber{0xABC};
  frame.rank = 1;
  frame.cookie = Cookie{0x5EED0001};
  frame.chunk = 5;
  frame.bytes = 40;
  if (change) {
    change(frame);
  }
  Bytes bytes(wire::shared_header_bytes + wire::padded_chunk(frame.bytes), std::byte{0xBA});
  wire::encode_header(frame, std::span(bytes).first<wire::shared_header_bytes>());
  return bytes;
}

/// Rank 3 sends the frame again and again, before and during a broadcast of rank 1.
Statistics flood(const Bytes& frame, bool known_nids = true) {
  World world(4, [&](Parameters& p) {
    if (known_nids) {
      p.nids = {nid_of_rank(0), nid_of_rank(1), nid_of_rank(2), nid_of_rank(3)};
    }
  });
  for (int i = 0; i < 20; ++i) {
    world.send(3, frame);
    world.pass(5 * us);
  }
  world.call_everywhere(broadcast_of(1, 2000));
  for (int i = 0; i < 200; ++i) {
    world.send(3, frame);
    world.pass(5 * us);
  }
  EXPECT_TRUE(world.run(30 * second));
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    EXPECT_TRUE(world.is_right(rank)) << rank;
  }
  return world[2].statistics();
}

TEST(a_hostile_member, cannot_give_others_a_wrong_byte) {
  using Frame = wire::SharedFrame;
  EXPECT_GT(flood(chunk([](Frame& f) { f.source_nid = nid_of_rank(3); })).wrong_source, 100U);
  EXPECT_GT(flood(chunk([](Frame& f) {
              f.source_nid = nid_of_rank(3);
              f.rank = 3;
            })).wrong_owner,
            0U);
  EXPECT_GT(flood(chunk([](Frame& f) { f.rank = 4; })).wrong_source, 100U);
  EXPECT_GT(flood(chunk([](Frame& f) { f.rank = 2; })).wrong_source, 100U);
  EXPECT_GT(flood(chunk([](Frame& f) { f.cookie = Cookie{1}; })).foreign, 100U);
  EXPECT_GT(flood(chunk([](Frame& f) { f.vni = Vni{1}; })).foreign, 100U);
  EXPECT_GT(flood(chunk([](Frame& f) { f.tree = TreeNumber{1}; })).foreign, 100U);
  EXPECT_GT(flood(chunk([](Frame& f) { f.source_nid = nid_of_rank(2); })).misdirected, 100U);
}

TEST(a_hostile_member, that_has_its_own_rank_is_held_to_windows_and_lengths) {
  const auto own = [](const std::function<void(wire::SharedFrame&)>& change) {
    return chunk([&](wire::SharedFrame& f) {
      f.source_nid = nid_of_rank(3);
      f.rank = 3;
      change(f);
    });
  };
  EXPECT_GT(flood(own([](auto& f) { f.window = 1'000'000; })).beyond_window, 100U);
  EXPECT_GT(flood(own([](auto& f) { f.window = wire::signature_mask; })).beyond_window, 100U);
  EXPECT_GT(flood(own([](auto& f) { f.chunk = 8; })).wrong_length, 100U);
  EXPECT_GT(flood(own([](auto& f) { f.chunk = 0xFFFF; })).wrong_length, 100U);
  EXPECT_GT(flood(own([](auto& f) { f.bytes = 48; })).wrong_length, 100U);
  EXPECT_GT(flood(own([](auto& f) { f.bytes = 7; })).wrong_length, 0U);
  EXPECT_GT(flood(own([](auto& f) { f.round = 0x81; })).wrong_owner, 0U);
}

TEST(a_hostile_member, that_takes_a_rank_first_is_found_out_where_nids_are_not_known) {
  World world(4, [](Parameters& p) { p.group.member_timeout_ns = 5 * second; });
  world.send(3, chunk([](wire::SharedFrame& f) { f.source_nid = nid_of_rank(3); }));
  world.pass(ms);
  world.call_everywhere(broadcast_of(1, 320));
  ASSERT_TRUE(world.run(60 * second));
  EXPECT_GT(world[2].statistics().wrong_source, 0U);
  ASSERT_TRUE(world[0].failure()); // nothing waits silently
}

TEST(a_member, that_acknowledges_what_it_has_not_harms_itself_alone) {
  World world(4);
  // Rank 3 gets no data, and the switch is given an acknowledgement in its name.
  world.set_script([](std::uint32_t, std::uint32_t to, std::span<const std::byte> frame) {
    return to == 3 && wire::is_shared(wire::dfa_of(frame.data() + wire::ethernet_header_bytes))
               ? std::optional(0)
               : std::nullopt;
  });
  world.call_everywhere(broadcast_of(1, 320));
  world.pass(500 * us);
  wire::ReductionFrame lie;
  lie.vni = Vni{0x400};
  lie.source_nid = nid_of_rank(3);
  lie.tree = TreeNumber{0xABC};
  lie.reduction = ReductionId{8};
  lie.rank = 3;
  lie.cookie = Cookie{0x5EED0001};
  lie.signature = collective::signature_of_piece(collective::signature_base(lie.cookie, 3), 0);
  lie.word = {
      .seqno = {}, .op = static_cast<std::uint8_t>(wire::Opcode::bit_and), .count = 1, .resno = {}};
  lie.payload = {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, 0x00000000FFFFFFFF};
  Bytes frame(wire::reduction_frame_bytes);
  wire::encode(lie, std::span<std::byte, wire::reduction_frame_bytes>(frame));
  world.send(3, frame);
  world.pass(5 * ms);
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    EXPECT_TRUE(world.is_right(rank)) << rank;
  }
  EXPECT_FALSE(world.finished(3));
}

TEST(an_acknowledgement, with_the_signature_of_another_is_never_taken_for_all) {
  World world(4, [](Parameters& p) { p.group.armed = false; });
  world.kill(3);
  world.call_everywhere(broadcast_of(1, 320));
  world.pass(500 * us);
  wire::ReductionFrame lie;
  lie.vni = Vni{0x400};
  lie.source_nid = nid_of_rank(2);
  lie.tree = TreeNumber{0xABC};
  lie.reduction = ReductionId{8};
  lie.rank = 2;
  lie.cookie = Cookie{0x5EED0001};
  lie.signature = collective::signature_of_piece(collective::signature_base(lie.cookie, 2), 0);
  lie.word = {
      .seqno = {}, .op = static_cast<std::uint8_t>(wire::Opcode::bit_and), .count = 1, .resno = {}};
  lie.payload = {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, 0x00000000FFFFFFFF};
  Bytes frame(wire::reduction_frame_bytes);
  wire::encode(lie, std::span<std::byte, wire::reduction_frame_bytes>(frame));
  world.send(2, frame);
  world.pass(5 * ms);
  EXPECT_GT(world[0].statistics().refused, 0U);
  EXPECT_FALSE(world.finished(1)); // rank 3 has not acknowledged
}

TEST(any_bytes, are_counted_and_ignored) {
  World world(2);
  Random random(7);
  std::uint64_t refused = 0;
  for (int i = 0; i < 2000; ++i) {
    Bytes frame = chunk();
    frame.resize(random.below(frame.size() + 1));
    for (std::uint64_t n = random.below(4); n > 0 && !frame.empty(); --n) {
      frame[random.below(frame.size())] = static_cast<std::byte>(random.below(256));
    }
    refused += world[0].receive(frame, world.now()) ? 0 : 1;
  }
  EXPECT_EQ(world[0].statistics().malformed, refused);
  EXPECT_GT(refused, 100U);
}

} // namespace
} // namespace tributary::reliable_multicast::test
