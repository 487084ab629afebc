// The parts of the worker that need neither a running DPDK nor a thread.
#include "dataplane/worker/idle_backoff.hpp"
#include "dataplane/worker/private_frames.hpp"
#include "dataplane/worker/trace_ring.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace tributary::worker::test {
namespace {

config::Process adaptive(int spin_us, int longest_us) {
  config::Process p;
  p.idle_spin = std::chrono::microseconds(spin_us);
  p.idle_sleep_max = std::chrono::microseconds(longest_us);
  return p;
}

/// The sleeps of a worker without work from `begin` on: each sleep takes its nominal time, each
/// yield of its processor `offer_ns`.
std::vector<std::uint64_t> sleeps(IdleBackoff& backoff, TimeNs begin, std::size_t count,
                                  std::uint64_t offer_ns) {
  std::vector<std::uint64_t> result;
  TimeNs now = begin;
  while (result.size() < count) {
    const std::uint64_t sleep = backoff.sleep_ns(now, never);
    if (sleep == 0) {
      backoff.offered(offer_ns);
      now = now + offer_ns;
    } else {
      result.push_back(sleep);
      now = now + sleep;
    }
  }
  return result;
}

constexpr std::uint64_t not_taken = 1'000;
constexpr std::uint64_t taken = 5'000;

TEST(IdleBackoff, spins_first_and_sleeps_longer_and_longer_where_others_want_the_processor) {
  IdleBackoff backoff(adaptive(20, 50));
  EXPECT_EQ(backoff.sleep_ns(TimeNs{1'000}, never), 0U);
  EXPECT_EQ(backoff.sleep_ns(TimeNs{20'999}, never), 0U);
  EXPECT_EQ(sleeps(backoff, TimeNs{21'000}, 6, taken),
            (std::vector<std::uint64_t>{4'000, 8'000, 16'000, 32'000, 50'000, 50'000}));
}

TEST(IdleBackoff, sleeps_stay_short_where_no_other_thread_wants_the_processor) {
  IdleBackoff backoff(adaptive(20, 200));
  std::vector<std::uint64_t> due(25, 8'000);
  due.front() = 4'000;
  EXPECT_EQ(sleeps(backoff, TimeNs{0}, due.size(), not_taken), due);
  // Now and then another thread takes it.
  EXPECT_EQ(sleeps(backoff, TimeNs{250'000}, 2, taken),
            (std::vector<std::uint64_t>{16'000, 32'000}));
}

TEST(IdleBackoff, long_after_the_last_frame_sleeps_grow_without_offers_between_them) {
  IdleBackoff backoff(adaptive(20, 200));
  EXPECT_EQ(sleeps(backoff, TimeNs{0}, 1, not_taken), (std::vector<std::uint64_t>{4'000}));
  std::vector<std::uint64_t> grown;
  for (std::uint64_t i = 0; i < 7; ++i) {
    grown.push_back(backoff.sleep_ns(TimeNs{300'000 + i}, never));
  }
  EXPECT_EQ(grown,
            (std::vector<std::uint64_t>{8'000, 16'000, 32'000, 64'000, 128'000, 200'000, 200'000}));
}

TEST(IdleBackoff, sleeps_grow_from_the_beginning_where_no_time_awake_is_wanted) {
  config::Process p = adaptive(20, 30);
  p.idle_awake = std::chrono::microseconds(0);
  IdleBackoff backoff(p);
  EXPECT_EQ(sleeps(backoff, TimeNs{0}, 5, not_taken),
            (std::vector<std::uint64_t>{4'000, 8'000, 16'000, 30'000, 30'000}));
}

TEST(IdleBackoff, starts_over_after_work) {
  IdleBackoff backoff(adaptive(20, 50));
  EXPECT_EQ(sleeps(backoff, TimeNs{0}, 3, taken),
            (std::vector<std::uint64_t>{4'000, 8'000, 16'000}));
  backoff.busy();
  EXPECT_EQ(backoff.sleep_ns(TimeNs{140'000}, never), 0U);
  EXPECT_EQ(backoff.sleep_ns(TimeNs{160'000}, never), 4'000U);
}

TEST(IdleBackoff, never_sleeps_beyond_what_is_due_or_the_longest_one) {
  IdleBackoff backoff(adaptive(0, 200));
  EXPECT_EQ(backoff.sleep_ns(TimeNs{1'000}, TimeNs{2'500}), 1'500U);
  EXPECT_EQ(backoff.sleep_ns(TimeNs{2'500}, TimeNs{2'500}), 0U);
  EXPECT_EQ(backoff.sleep_ns(TimeNs{3'000}, TimeNs{2'500}), 0U);
  IdleBackoff shorter(adaptive(0, 1));
  EXPECT_EQ(sleeps(shorter, TimeNs{0}, 3, taken), (std::vector<std::uint64_t>(3, 1'000)));
}

TEST(IdleBackoff, busy_polling_never_sleeps) {
  config::Process p = adaptive(0, 200);
  p.poll = config::Poll::busy;
  IdleBackoff backoff(p);
  EXPECT_EQ(backoff.sleep_ns(TimeNs{0}, never), 0U);
  EXPECT_EQ(backoff.sleep_ns(TimeNs{1'000'000'000}, never), 0U);
}

/// One event in a burst of its own.
void add(TraceRing& ring, TimeNs now, const core::Decision& decision, core::FrameView frame) {
  ring.add(now, 2, PortNumber{3}, std::span(&decision, 1), std::span(&frame, 1));
}

TEST(TraceRing, keeps_the_last_events_in_order_and_drops_the_oldest) {
  TraceRing ring;
  std::vector<std::byte> frame(94);
  const std::uint64_t total = 3 * TraceRing::capacity + 17;
  for (std::uint64_t i = 0; i < total; ++i) {
    add(ring, TimeNs{i}, {.reason = core::DropReason::no_route}, {frame.data(), 94});
    ring.commit();
  }
  std::vector<TraceEvent> events;
  ring.read(1, events);
  // Each has the slot of its burst beside its own.
  ASSERT_EQ(events.size(), (TraceRing::capacity - TraceRing::max_uncommitted) / 2);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].time.value, total - events.size() + i);
  }
  EXPECT_EQ(events[0].worker, 1);
  EXPECT_EQ(events[0].switch_index, 2);
  EXPECT_EQ(events[0].port, PortNumber{3});
  EXPECT_EQ(events[0].reason, core::DropReason::no_route);
  EXPECT_EQ(events[0].out, no_port);
  EXPECT_FALSE(events[0].multicast);
}

TEST(TraceRing, gives_each_frame_what_its_burst_has_in_common_and_leaves_out_half_a_burst) {
  TraceRing ring;
  std::vector<std::byte> bytes(94);
  constexpr std::size_t burst = 32;
  const std::vector<core::FrameView> frames(burst, {bytes.data(), 94});
  std::vector<core::Decision> decisions;
  for (std::size_t i = 0; i < burst; ++i) {
    decisions.push_back({.action = core::Action::forward, .port = PortNumber{std::uint8_t(i)}});
  }
  constexpr std::size_t bursts = TraceRing::capacity;
  for (std::size_t i = 0; i < bursts; ++i) {
    ring.add(TimeNs{i}, 2, PortNumber{3}, decisions, frames);
    ring.commit();
  }
  std::vector<TraceEvent> events;
  ring.read(1, events);
  const std::size_t whole = (TraceRing::capacity - TraceRing::max_uncommitted) / (burst + 1);
  ASSERT_EQ(events.size(), whole * burst);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].time.value, bursts - whole + i / burst);
    EXPECT_EQ(events[i].out.value, i % burst);
  }
}

TEST(TraceRing, shows_the_form_and_the_payload_of_a_wide_frame) {
  for (const wire::Form form : wire::wide_forms) {
    for (const std::size_t payload :
         {wire::least_wide_payload, std::size_t{1408}, wire::most_wide_payload}) {
      TraceRing ring;
      wire::WideFrame frame;
      frame.tree = TreeNumber{77};
      frame.slot = ReductionId{100};
      frame.word = {.seqno = SequenceNumber{999},
                    .arm = true,
                    .op = 0x28,
                    .count = max_contributions,
                    .resno = SequenceNumber{998},
                    .rc = 9,
                    .pad = 7};
      frame.form = form;
      frame.payload_bytes = payload;
      std::vector<std::byte> bytes(wire::wide_header_bytes + payload);
      wire::encode_header(frame, std::span(bytes).first<wire::wide_header_bytes>());
      add(ring, TimeNs{7}, {.action = core::Action::absorb, .event = core::Event::contributed},
          {bytes.data(), static_cast<std::uint32_t>(bytes.size())});
      ring.commit();
      std::vector<TraceEvent> events;
      ring.read(0, events);
      ASSERT_EQ(events.size(), 1U);
      const TraceEvent& event = events.front();
      EXPECT_EQ(event.action, core::Action::absorb);
      EXPECT_EQ(event.event, core::Event::contributed);
      EXPECT_EQ(event.key, ReductionKey(TreeNumber{77}, ReductionId{100}));
      EXPECT_EQ(event.form, form);
      EXPECT_EQ(event.payload_bytes, payload);
      wire::ReductionWord expected = frame.word;
      expected.rc = 0;
      expected.pad = 0;
      EXPECT_EQ(event.word, expected);
    }
  }
}

TEST(TraceRing, takes_a_frame_and_a_decision_apart) {
  TraceRing ring;
  const wire::FabricAddress address =
      wire::FabricAddress::multicast(TreeNumber{77}, ReductionId{5});
  wire::ReductionWord word;
  word.op = 20;
  word.count = 12;
  word.seqno = SequenceNumber{999};
  std::vector<std::byte> bytes(94);
  std::byte* portals = bytes.data() + wire::ethernet_header_bytes;
  wire::store_be<std::uint32_t>(portals + wire::portals_offset::dfa, address.value);
  wire::store_word(portals, word);
  PortSet ports;
  ports.insert(PortNumber{1});
  ports.insert(PortNumber{63});
  const core::Decision decision{
      .ports = ports, .action = core::Action::replicate, .event = core::Event::rearmed};
  for (const std::uint32_t length : {94U, 60U}) {
    add(ring, TimeNs{7}, decision, {bytes.data(), length});
  }
  ring.commit();
  std::vector<TraceEvent> events;
  ring.read(0, events);
  ASSERT_EQ(events.size(), 2U);
  for (const TraceEvent& event : events) {
    EXPECT_TRUE(event.multicast);
    EXPECT_EQ(event.key.tree(), TreeNumber{77});
    EXPECT_EQ(event.key.reduction(), ReductionId{5});
    EXPECT_EQ(event.action, core::Action::replicate);
    EXPECT_EQ(event.event, core::Event::rearmed);
    EXPECT_EQ(event.out_ports, ports);
  }
  EXPECT_EQ(wire::pack(events[0].word), wire::pack(word));
  EXPECT_EQ(wire::pack(events[1].word), 0U); // the frame ended before it
}

TEST(TraceRing, has_only_frames_at_the_places_that_are_asked_for) {
  std::vector<std::byte> bytes(94);
  const core::Decision decisions[] = {
      {.action = core::Action::forward, .event = core::Event::unicast, .port = PortNumber{1}},
      {.action = core::Action::forward, .event = core::Event::detoured, .port = PortNumber{2}},
      {.action = core::Action::drop, .reason = core::DropReason::no_route},
      {.action = core::Action::absorb, .event = core::Event::contributed},
  };
  const std::vector<core::FrameView> frames(std::size(decisions), {bytes.data(), 94});
  core::Places places;
  places.insert(1);
  places.insert(2);
  for (const bool all : {false, true}) {
    TraceRing ring;
    if (all) {
      ring.add(TimeNs{1}, 0, PortNumber{0}, decisions, frames);
    } else {
      ring.add(TimeNs{1}, 0, PortNumber{0}, decisions, frames, places);
    }
    ring.commit();
    std::vector<TraceEvent> events;
    ring.read(0, events);
    const std::size_t before = all ? 1 : 0;
    ASSERT_EQ(events.size(), 2 + 2 * before);
    EXPECT_EQ(events[before].event, core::Event::detoured);
    EXPECT_EQ(events[before + 1].action, core::Action::drop);
    EXPECT_EQ(events[before + 1].time, TimeNs{1});
  }
}

TEST(Ownership, is_that_of_all_frames) {
  alignas(64) std::array<std::byte, 128> places{};
  const auto pool_at = [&](std::size_t i) { return reinterpret_cast<rte_mempool*>(&places[i]); };
  struct Case {
    const char* what;
    void (*change)(rte_mbuf&);
    bool is_private;
    bool is_of_pool;
  };
  const Case cases[] = {
      {"nothing", [](rte_mbuf& /*frame*/) {}, true, true},
      {"shared", [](rte_mbuf& frame) { rte_mbuf_refcnt_set(&frame, 2); }, false, false},
      {"of no reference", [](rte_mbuf& frame) { rte_mbuf_refcnt_set(&frame, 0); }, false, false},
      {"in two pieces", [](rte_mbuf& frame) { frame.nb_segs = 2; }, false, false},
      {"of no pool", [](rte_mbuf& frame) { frame.pool = nullptr; }, true, false},
      {"indirect", [](rte_mbuf& frame) { frame.ol_flags |= RTE_MBUF_F_INDIRECT; }, true, false},
      {"external", [](rte_mbuf& frame) { frame.ol_flags |= RTE_MBUF_F_EXTERNAL; }, true, false},
      {"long", [](rte_mbuf& frame) { frame.data_off = 0xFFFF; }, true, true},
      {"tagged", [](rte_mbuf& frame) { frame.ol_flags |= RTE_MBUF_F_RX_VLAN; }, true, true},
  };
  for (const Case& one : cases) {
    for (std::size_t changed = 0; changed < 3; ++changed) {
      Ownership all(pool_at(0));
      Ownership elsewhere(pool_at(64));
      for (std::size_t i = 0; i < 3; ++i) {
        rte_mbuf frame{};
        rte_mbuf_refcnt_set(&frame, 1);
        frame.nb_segs = 1;
        frame.pool = pool_at(0);
        if (i == changed) {
          one.change(frame);
        }
        all.add(&frame, Rearm(&frame));
        elsewhere.add(&frame, Rearm(&frame));
      }
      EXPECT_EQ(all.is_private(), one.is_private) << one.what << changed;
      EXPECT_EQ(all.is_of_pool(), one.is_of_pool) << one.what << changed;
      EXPECT_FALSE(elsewhere.is_of_pool()) << one.what << changed;
    }
  }
}

TEST(TraceRing, shows_nothing_before_it_is_committed) {
  TraceRing ring;
  std::vector<std::byte> frame(94);
  add(ring, TimeNs{1}, {}, {frame.data(), 94});
  std::vector<TraceEvent> events;
  ring.read(0, events);
  EXPECT_TRUE(events.empty());
  ring.commit();
  ring.read(0, events);
  EXPECT_EQ(events.size(), 1U);
}

TEST(TraceRing, reads_no_more_of_a_frame_than_there_is) {
  TraceRing ring;
  std::vector<std::byte> runt(5); // the address sanitizer watches
  add(ring, TimeNs{1}, {}, {runt.data(), 5});
  ring.commit();
  std::vector<TraceEvent> events;
  ring.read(0, events);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_FALSE(events[0].multicast);
}

} // namespace
} // namespace tributary::worker::test
