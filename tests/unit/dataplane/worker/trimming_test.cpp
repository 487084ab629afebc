// RDMA data at a full output: sent frames, counters and traces, and which buffers are trimmed.
#include "dataplane/port/mbuf_ownership.hpp"
#include "tests/unit/dataplane/worker/fabric.hpp"
#include "tributary/wire/rdma.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

namespace tributary::worker::test {
namespace {

constexpr Nid sink{0x201};
constexpr std::size_t payload_bytes = 1000;

Frame data_frame(std::uint32_t pidx) {
  Frame frame(wire::rdma_frame_bytes(payload_bytes));
  const wire::RdmaHeader header{.source = Nid{0x100},
                                .destination = sink,
                                .vni = Vni{10},
                                .kind = wire::RdmaKind::wr,
                                .pidx = pidx};
  const Frame payload(payload_bytes, std::byte{0x5A});
  wire::encode(header, {}, payload, frame.data());
  return frame;
}

wire::RdmaFrame decoded(const Frame& frame) {
  wire::RdmaFrame f;
  EXPECT_EQ(wire::decode(frame, wire::default_ethertype, f), wire::RdmaError::none);
  return f;
}

rte_mbuf* buffer_of(std::span<const std::byte> bytes) {
  rte_mbuf* buffer = port::allocate(eal().pool());
  std::memcpy(rte_pktmbuf_append(buffer, static_cast<std::uint16_t>(bytes.size())), bytes.data(),
              bytes.size());
  return buffer;
}

Frame bytes_in(const rte_mbuf* buffer) {
  const auto* data = rte_pktmbuf_mtod(buffer, const std::byte*);
  return {data, data + buffer->data_len};
}

class TrimTest : public ::testing::TestWithParam<std::uint32_t> {
protected:
  static Options options() {
    return {.workers = GetParam(), .configure = [](std::size_t, config::Port& port) {
              port.classes.queues.classes[0].limit = {16, 1U << 20}; // `queued`
            }};
  }
  static void route_to_port_1(Fabric& fabric) {
    core::TablesBuilder builder;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(builder.add_port({}), "");
    }
    EXPECT_EQ(builder.add_route(sink, PortNumber{1}), "");
    fabric.workers().publish(0, builder.build(2));
  }
  static egress::QueueSnapshot queue(Fabric& fabric) {
    return fabric.workers().queue(0, PortNumber{1}, TrafficClass{0});
  }
  static std::uint64_t seen(Fabric& fabric) {
    const egress::QueueSnapshot q = queue(fabric);
    return q.frames + q.waiting.frames + q.trimmed_waiting;
  }
};

TEST_P(TrimTest, data_that_finds_a_full_queue_arrives_as_its_headers_ahead_of_what_waited) {
  const std::uint32_t before = eal().free_buffers();
  {
    Fabric fabric(options());
    route_to_port_1(fabric);
    fabric.workers().set_tracing(core::Tracing::everything);
    // No host receives: the ring takes some, the queue some, and the others are trimmed.
    constexpr std::uint32_t queued = 16;
    constexpr std::uint32_t cut = 10;
    std::uint32_t sent = 0;
    while (queue(fabric).trimmed < cut) {
      fabric.root().send(data_frame(sent++));
      if (sent % 64 == 0 || sent > port::RingLinks::frames_per_ring) {
        ASSERT_TRUE(eventually([&] { return seen(fabric) == sent; })) << "frame " << sent;
      }
    }
    const std::uint32_t whole = sent - cut;
    EXPECT_EQ(queue(fabric).waiting.frames, queued);
    EXPECT_EQ(queue(fabric).trimmed_waiting, cut);
    EXPECT_EQ(queue(fabric).trimmed_bytes, cut * payload_bytes);
    std::uint64_t traced = 0;
    for (const TraceEvent& e : fabric.workers().trace()) {
      traced += e.event == core::Event::trimmed && e.out == PortNumber{1} ? 1 : 0;
    }
    EXPECT_EQ(traced, cut);

    std::vector<std::uint32_t> headers;
    std::uint32_t got = 0;
    while (got < sent) {
      std::optional<Frame> frame;
      ASSERT_TRUE(eventually([&] { return (frame = fabric.host(1).receive()).has_value(); }));
      const wire::RdmaFrame f = decoded(*frame);
      if (f.trimmed) {
        EXPECT_EQ(frame->size(), wire::rdma_overhead_bytes);
        EXPECT_EQ(got, whole - queued + headers.size()) << "ahead of the queue";
        headers.push_back(f.header.pidx);
      } else {
        EXPECT_EQ(frame->size(), wire::rdma_frame_bytes(payload_bytes));
        EXPECT_EQ(*frame, data_frame(f.header.pidx)) << "whole ones are as they were";
      }
      ++got;
    }
    ASSERT_EQ(headers.size(), cut);
    EXPECT_EQ(headers.front(), whole) << "the newest ones were cut";
    EXPECT_EQ(headers.back(), sent - 1);
    EXPECT_EQ(fabric.drops(1, core::DropReason::queue_full), 0U);
  }
  EXPECT_EQ(eal().free_buffers(), before);
}

INSTANTIATE_TEST_SUITE_P(Workers, TrimTest, ::testing::Values(1U, 2U),
                         [](const auto& workers) { return std::to_string(workers.param); });

TEST(MbufTrim, leaves_the_headers_of_a_frame_in_one_buffer) {
  rte_mbuf* buffer = buffer_of(data_frame(7));
  const Mbufs mbufs;
  EXPECT_FALSE(mbufs.was_trimmed(buffer));
  ASSERT_TRUE(mbufs.trim(buffer));
  EXPECT_EQ(buffer->pkt_len, wire::rdma_overhead_bytes);
  EXPECT_TRUE(mbufs.was_trimmed(buffer));
  const Frame cut = bytes_in(buffer);
  EXPECT_TRUE(decoded(cut).trimmed);
  EXPECT_EQ(decoded(cut).header.pidx, 7U);
  EXPECT_FALSE(mbufs.trim(buffer)) << "once";
  port::give_back(buffer);
}

TEST(MbufTrim, gives_back_the_other_buffers_of_a_frame_that_lies_in_several) {
  const std::uint32_t before = eal().free_buffers();
  const Frame whole = data_frame(8);
  const std::span<const std::byte> bytes(whole);
  rte_mbuf* head = buffer_of(bytes.first(300));
  rte_mbuf* middle = buffer_of(bytes.subspan(300, 300));
  ASSERT_EQ(rte_pktmbuf_chain(head, middle), 0);
  ASSERT_EQ(rte_pktmbuf_chain(head, buffer_of(bytes.subspan(600))), 0);
  ASSERT_TRUE(Mbufs{}.trim(head));
  EXPECT_EQ(head->nb_segs, 1);
  EXPECT_EQ(head->next, nullptr);
  EXPECT_EQ(head->pkt_len, head->data_len);
  EXPECT_EQ(decoded(bytes_in(head)).header.pidx, 8U);
  EXPECT_EQ(eal().free_buffers(), before - 1);
  port::give_back(head);
}

TEST(MbufTrim, leaves_a_frame_alone_whose_headers_do_not_lie_in_one_piece) {
  const Frame whole = data_frame(9);
  const std::span<const std::byte> bytes(whole);
  rte_mbuf* head = buffer_of(bytes.first(wire::rdma_overhead_bytes - 1));
  ASSERT_EQ(rte_pktmbuf_chain(head, buffer_of(bytes.subspan(wire::rdma_overhead_bytes - 1))), 0);
  EXPECT_FALSE(Mbufs{}.trim(head));
  EXPECT_EQ(head->nb_segs, 2);
  port::give_back(head);
}

TEST(MbufTrim, leaves_a_buffer_alone_that_another_frame_refers_to) {
  const Frame whole = data_frame(10);
  rte_mbuf* shared = buffer_of(whole);
  rte_mbuf_refcnt_update(shared, 1);
  EXPECT_FALSE(Mbufs{}.trim(shared));
  rte_mbuf_refcnt_update(shared, -1);
  rte_mbuf* indirect = rte_pktmbuf_clone(shared, eal().pool());
  EXPECT_FALSE(Mbufs{}.trim(indirect));
  port::give_back(indirect);
  EXPECT_EQ(bytes_in(shared), whole);
  port::give_back(shared);
}

TEST(MbufTrim, leaves_other_ethertypes_alone) {
  rte_mbuf* buffer = buffer_of(data_frame(11));
  EXPECT_FALSE(Mbufs{.ethertype = 0x88B6}.trim(buffer));
  port::give_back(buffer);
}

} // namespace
} // namespace tributary::worker::test
