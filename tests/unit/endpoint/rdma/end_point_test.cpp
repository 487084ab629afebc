// Several programs of one host, each with a node and an end point of its own.
#include "tests/unit/endpoint/rdma/pair.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace tributary::rdma::test {
namespace {

constexpr EndPoint second_sink{sink_nid, 256};
constexpr EndPoint second_source{source_nid, 300};

/// A second program on either host. They and the first ones see all frames of their host, as
/// programs with unfiltered sockets do.
class EndPointTest : public PairTest {
protected:
  EndPointTest() {
    also_source.set_policy(quick_policy());
    also_sink.set_policy(quick_policy());
    network().add(also_source);
    network().add(also_sink);
    also_key = *also_sink.register_region(also_to.region(),
                                          {.peers_write = true, .peers_read = true}, vni);
    network().set_filter([this](std::span<std::byte> frame, const wire::RdmaHeader& h) {
      const std::array<Node*, 4> all = {source.get(), sink.get(), &also_source, &also_sink};
      for (Node* const node : all) {
        if (node->options().address != h.destination &&
            node->options().address.nid == h.destination.nid) {
          const FrameView view{frame.data(), static_cast<std::uint32_t>(frame.size())};
          node->receive({&view, 1}, network().now());
          overheard += 1;
        }
      }
      return true;
    });
  }
  static Options with(EndPoint address) {
    Options o = small(address.nid);
    o.address = address;
    return o;
  }
  /// Begins a transfer with the second program of the sink's host.
  Begun begin_with_second(Node& node, bool reads, std::span<std::byte> memory) {
    const Begun begun =
        reads
            ? node.read(
                  {.peer = second_sink, .vni = vni, .memory = memory, .key = also_key, .user = 7})
            : node.write(
                  {.peer = second_sink, .vni = vni, .memory = memory, .key = also_key, .user = 7});
    network().pump();
    return begun;
  }
  Completion completion_of(Node& node) {
    std::optional<Completion> got;
    EXPECT_TRUE(network().run_until(network().now() + ns_per_second, [&] {
      got = node.take_completion();
      return got.has_value();
    }));
    return got.value_or(Completion{.cause = Cause::cancelled});
  }

  Memory also_to{memory_bytes};
  Node also_source{with(second_source)};
  Node also_sink{with(second_sink)};
  RegionKey also_key;
  std::size_t overheard = 0;
};

TEST_F(EndPointTest, TransfersReachTheProgramThatIsNamedAndNoOther) {
  write(100'000);
  ASSERT_EQ(begin_with_second(*source, false, from.region().first(50'000)).error, BeginError::none);
  std::vector<EndPoint> peers;
  for (int i = 0; i < 2; ++i) {
    const Completion end = completion();
    EXPECT_TRUE(end.done());
    peers.push_back(end.peer);
  }
  EXPECT_NE(peers[0], peers[1]);
  EXPECT_TRUE(arrived(100'000));
  EXPECT_TRUE(std::ranges::equal(from.region().first(50'000), also_to.region().first(50'000)));
  EXPECT_TRUE(also_to.canaries_live());
  EXPECT_GT(overheard, 150U) << "each frame came to the other program, too";
  EXPECT_GT(sink->counters().other_end_point, 50U);
  EXPECT_GT(also_sink.counters().other_end_point, 100U);
  EXPECT_EQ(sink->counters().refused_key + also_sink.counters().refused_key, 0U)
      << "a program answers no request to another";
  EXPECT_EQ(also_source.counters().control_sent, 0U);
}

TEST_F(EndPointTest, ProgramsOfOneHostAreTwoPeersWithTheSameNumbers) {
  std::vector<std::byte> theirs(30'000, std::byte{0x5A});
  write(30'000);
  ASSERT_EQ(also_source
                .write({.peer = sink_nid,
                        .vni = vni,
                        .memory = theirs,
                        .key = key,
                        .offset = 100'000,
                        .user = 9})
                .error,
            BeginError::none);
  network().pump();
  EXPECT_TRUE(completion().done());
  EXPECT_TRUE(completion_of(also_source).done());
  EXPECT_TRUE(arrived(30'000));
  EXPECT_TRUE(std::ranges::equal(theirs, to.region().subspan(100'000, 30'000)));
  ASSERT_NE(sink->peer(source_nid, vni), nullptr);
  ASSERT_NE(sink->peer(second_source, vni), nullptr);
  EXPECT_EQ(sink->counters().incarnations, 0U) << "neither is a restart of the other";
  EXPECT_EQ(sink->end_point_of(Nid{0x777}, vni), EndPoint(Nid{0x777}));
}

TEST_F(EndPointTest, AReadComesFromTheProgramThatIsNamed) {
  also_to.fill(11);
  std::vector<std::byte> got(70'000);
  ASSERT_EQ(begin_with_second(*source, true, got).error, BeginError::none);
  EXPECT_TRUE(completion().done());
  EXPECT_TRUE(std::ranges::equal(got, also_to.region().first(got.size())));
}

TEST_F(EndPointTest, AKeyOfAnotherProgramIsWrong) {
  key = also_key;
  write(1'000);
  const Completion end = completion();
  EXPECT_EQ(end.cause, Cause::refused);
  EXPECT_EQ(end.status, wire::RdmaStatus::wrong_key);
}

TEST_F(EndPointTest, AQuarantinedHostIsSoWithAllItsPrograms) {
  ASSERT_TRUE(source->set_quarantined(sink_nid, vni, true));
  EXPECT_EQ(begin_with_second(*source, false, {}).error, BeginError::quarantined);
  ASSERT_TRUE(source->set_quarantined(sink_nid, vni, false));
  EXPECT_EQ(begin_with_second(*source, false, {}).error, BeginError::none);
  EXPECT_TRUE(completion().done());
}

TEST_F(EndPointTest, ANumberThatNoAddressHoldsIsRefused) {
  EXPECT_EQ(source->write({.peer = {sink_nid, 4096}, .vni = vni, .memory = {}, .key = key}).error,
            BeginError::bad_nid);
  EXPECT_EQ(source->write({.peer = second_source, .vni = vni, .memory = {}, .key = key}).error,
            BeginError::own_nid)
      << "frames do not come back to the host that sent them";
}

} // namespace
} // namespace tributary::rdma::test
