#include "dataplane/placement/frame_owner.hpp"
#include "tributary/wire/hello.hpp"
#include "tributary/wire/link_hello.hpp"
#include "tributary/wire/reduction.hpp"

#include <gtest/gtest.h>

#include <array>
#include <span>

namespace tributary::placement::test {
namespace {

constexpr std::size_t self = 1;
constexpr std::size_t of_port = 2;
const Placement placement(5);

std::size_t owner(std::span<const std::byte> frame) {
  return worker_of(frame.data(), frame.size(), placement, self, of_port);
}

std::array<std::byte, wire::reduction_frame_bytes> reduction(TreeNumber tree, ReductionId id) {
  wire::ReductionFrame f;
  f.tree = tree;
  f.reduction = id;
  std::array<std::byte, wire::reduction_frame_bytes> bytes;
  wire::encode(f, bytes);
  return bytes;
}

TEST(FrameOwner, of_a_tree_is_the_worker_of_its_bucket_whatever_the_reduction) {
  for (std::uint16_t t = 0; t < 300; ++t) {
    for (std::uint8_t id = 0; id < reductions_per_tree; ++id) {
      ASSERT_EQ(owner(reduction(TreeNumber{t}, ReductionId{id})),
                placement.worker_of(TreeNumber{t}));
    }
  }
}

TEST(FrameOwner, of_a_unicast_is_the_worker_that_has_it) {
  auto frame = reduction(TreeNumber{7}, ReductionId{0});
  wire::store_be<std::uint32_t>(frame.data() + wire::ethernet_header_bytes + 16,
                                wire::FabricAddress::unicast(Nid{0x12345}, 7).value);
  EXPECT_EQ(owner(frame), self);
}

TEST(FrameOwner, of_both_kinds_of_hello_is_the_worker_of_the_port) {
  EXPECT_EQ(owner(wire::encode(wire::Hello{})), of_port);
  EXPECT_EQ(owner(wire::encode(wire::LinkHello{}, wire::default_ethertype)), of_port);
}

TEST(FrameOwner, of_a_frame_too_short_for_an_address_is_the_worker_that_has_it) {
  const auto frame = reduction(TreeNumber{2}, ReductionId{0});
  ASSERT_NE(placement.worker_of(TreeNumber{2}), self);
  for (std::size_t length = 0; length < addressed_frame_bytes; ++length) {
    ASSERT_EQ(owner(std::span(frame).first(length)), self) << length;
  }
  EXPECT_NE(owner(std::span(frame).first(addressed_frame_bytes)), self);
}

} // namespace
} // namespace tributary::placement::test
