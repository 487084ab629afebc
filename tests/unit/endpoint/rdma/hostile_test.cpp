// A peer that lies, and one that sends in another's name: it sends anything from an unguarded port,
// knows addresses, VNI and sometimes a key, and sees no frame that is not for it.
#include "lib/link/port.hpp"
#include "tests/unit/endpoint/rdma/pair.hpp"
#include "tributary/wire/rdma_request.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string_view>
#include <vector>

namespace tributary::rdma::test {
namespace {

constexpr std::uint32_t short_frame = 270; // 200 bytes of payload
constexpr Nid victim_nid{1};
constexpr Nid liar_nid{5};

std::uint64_t counter(const Node& node, std::string_view name) {
  std::uint64_t found = 0;
  for_each_counter(node.counters(), [&](std::string_view one, std::string_view, std::uint64_t n) {
    found = one == name ? n : found;
  });
  return found;
}

std::vector<std::byte> frame_of(const wire::RdmaHeader& h,
                                std::span<const std::byte> payload = {}) {
  std::vector<std::byte> frame(wire::rdma_frame_bytes(payload.size()));
  wire::encode(h, {}, payload, frame.data());
  return frame;
}

std::vector<std::byte> request_frame(const wire::RdmaHeader& h, const wire::RdmaRequest& request) {
  std::array<std::byte, wire::rdma_request_bytes> bytes{};
  wire::encode(request, bytes);
  return frame_of(h, bytes);
}

/// Keeps the headers of a node's frames.
class Tap final : public link::Port {
public:
  [[nodiscard]] std::uint32_t longest_frame() const override { return short_frame; }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "tap"; }
  std::vector<wire::RdmaHeader> heard;
  std::size_t bytes = 0;
  std::size_t most_of_a_turn = longest_burst; ///< that the link takes

private:
  std::size_t transmit(std::span<Slot> slots) override {
    for (const Slot& slot : slots) {
      wire::RdmaFrame frame;
      EXPECT_EQ(wire::decode({slot.data, slot.length}, wire::default_ethertype, frame),
                wire::RdmaError::none);
      heard.push_back(frame.header);
      bytes += slot.length;
    }
    given_ = 0;
    return slots.size();
  }
  std::size_t replenish(std::span<Slot> slots) override {
    std::size_t count = 0;
    for (; count < slots.size() && given_ < std::min(buffers_.size(), most_of_a_turn); ++count) {
      slots[count].data = buffers_[given_++].data();
    }
    return count;
  }
  std::size_t take(std::span<FrameView>) override { return 0; }

  std::vector<std::array<std::byte, short_frame>> buffers_{burst};
  std::size_t given_ = 0;
};

/// A node; the test writes the frames of all others.
class HostileTest : public testing::Test {
protected:
  HostileTest() : memory(400'000) { make(64); }
  void make(std::size_t contexts) {
    Options o;
    o.address = victim_nid;
    o.longest_frame = short_frame;
    o.sinks = o.sources = o.works = contexts;
    o.records = 4 * contexts;
    o.peers = 64;
    o.regions = 4;
    o.completions = contexts;
    node = std::make_unique<Node>(o);
    rdma_policy::Policy p = quick_policy();
    p.sink_timeouts = p.request_retries = p.query_retries = 250; // as the library has them
    node->set_policy(p);
    key = *node->register_region(memory, {.peers_write = true, .peers_read = true}, vni);
  }
  void give(std::vector<std::byte> frame) {
    const FrameView view{frame.data(), static_cast<std::uint32_t>(frame.size())};
    node->receive({&view, 1}, now);
    pump();
  }
  void pump() {
    node->poll(now);
    while (node->has_to_send()) {
      engine::Outlet outlet(tap);
      node->send(outlet);
      tap.flush();
    }
  }
  void pass(std::uint64_t ns) {
    const TimeNs end = now + ns;
    while (node->next_deadline() <= end) {
      now = std::max(now, node->next_deadline());
      pump();
    }
    now = end;
    pump();
  }
  wire::RdmaHeader header(wire::RdmaKind kind, Nid from = liar_nid) const {
    wire::RdmaHeader h;
    h.source = from;
    h.destination = victim_nid;
    h.vni = vni;
    h.kind = kind;
    return h;
  }
  /// To write, or to read, `length` bytes.
  std::vector<std::byte> request(wire::RdmaKind kind, std::uint16_t scid, std::uint32_t length,
                                 std::uint32_t credit = 0, Nid from = liar_nid) {
    wire::RdmaHeader h = header(kind, from);
    h.scid = scid;
    h.generation = 77;
    h.message = 1000;
    h.value = length;
    h.pidx = static_cast<std::uint32_t>(wire::rdma_frames_of(length, 200));
    return request_frame(h, {.key = key.value,
                             .incarnation = incarnation,
                             .proof = proof,
                             .credit = credit,
                             .payload = 200,
                             .slot = scid});
  }
  /// It has received a challenge, and answers it.
  void show_itself(Nid from = liar_nid) {
    tap.heard.clear();
    give(request(wire::RdmaKind::rd_rqt, 60, 0, 0, from));
    ASSERT_EQ(tap.heard.size(), 1U);
    ASSERT_EQ(tap.heard[0].word, static_cast<std::uint64_t>(wire::RdmaStatus::unproven));
    proof = wire::rdma_proof_in(tap.heard[0]);
  }
  bool was_accepted() const {
    return tap.heard.size() == 1 && tap.heard[0].kind == wire::RdmaKind::rsp &&
           (tap.heard[0].word & 0xFF) == 0;
  }
  std::size_t heard_of(wire::RdmaKind kind) const {
    return static_cast<std::size_t>(std::ranges::count(tap.heard, kind, &wire::RdmaHeader::kind));
  }

  std::vector<std::byte> memory;
  std::unique_ptr<Node> node;
  RegionKey key;
  Tap tap;
  TimeNs now{1'000'000};
  std::uint64_t incarnation = 9; ///< of the requests that are made
  std::uint64_t proof = 0;
};

TEST_F(HostileTest, ARequestToWriteAndSilenceElicitAHandfulOfFrames) {
  give(request(wire::RdmaKind::rqt, 3, 4000));
  pass(60 * ns_per_second);
  EXPECT_GE(tap.heard.size(), 1U) << "it is answered";
  EXPECT_LE(tap.heard.size(), 3U);
  EXPECT_EQ(node->sinks_in_use(), 0U);
}

TEST_F(HostileTest, ARequestToReadAndSilenceElicitAHandfulOfFrames) {
  give(request(wire::RdmaKind::rd_rqt, 3, 4000, 1025));
  pass(60 * ns_per_second);
  EXPECT_GE(tap.heard.size(), 1U) << "it is answered";
  EXPECT_LE(tap.heard.size(), 3U);
  EXPECT_LE(tap.bytes, 3U * 102);
  EXPECT_EQ(node->sources_in_use(), 0U);
}

TEST_F(HostileTest, CreditIsCutToAWindow) {
  show_itself();
  give(request(wire::RdmaKind::rd_rqt, 3, 400'000, 0xFFFFFFFF));
  pass(20'000);
  EXPECT_EQ(heard_of(wire::RdmaKind::wr), rdma_policy::most_window + 1U);
  EXPECT_EQ(counter(*node, "excess_credit"), 1U);
  wire::RdmaHeader progress = header(wire::RdmaKind::prog);
  progress.dcid = tap.heard.back().scid;
  progress.scid = 3;
  progress.generation = 77;
  progress.message = 1000;
  progress.pidx = 10;
  progress.value = 0xFFFFFFFF;
  give(frame_of(progress));
  pass(20'000);
  EXPECT_EQ(heard_of(wire::RdmaKind::wr), rdma_policy::most_window + 11U);
  EXPECT_EQ(counter(*node, "excess_credit"), 2U);
}

TEST_F(HostileTest, OnePeerLeavesContextsToOthers) {
  show_itself();
  for (std::uint16_t scid = 0; scid < 200; ++scid) {
    give(request(wire::RdmaKind::rqt, scid, 4000));
  }
  EXPECT_EQ(node->sinks_in_use(), 43U) << "two thirds of 64";
  EXPECT_EQ(counter(*node, "busy_shares"), 200U - 43U);
  proof = 0;
  tap.heard.clear();
  give(request(wire::RdmaKind::rqt, 1, 4000, 0, Nid{6}));
  EXPECT_TRUE(was_accepted());
}

TEST_F(HostileTest, OnePeersReadsLeaveContextsToOthersAndToThisHost) {
  show_itself();
  for (std::uint16_t slot = 0; slot < 200; ++slot) {
    give(request(wire::RdmaKind::rd_rqt, slot, 4000));
  }
  EXPECT_EQ(node->sources_in_use(), 43U);
  EXPECT_EQ(node->write({.peer = Nid{6}, .vni = vni, .memory = {}, .key = key}).error,
            BeginError::none);
}

TEST_F(HostileTest, ThePeersOfOneVniLeaveContextsToAnother) {
  for (std::uint32_t peer = 10; peer < 50; ++peer) {
    proof = 0;
    show_itself(Nid{peer});
    for (std::uint16_t scid = 0; scid < 50; ++scid) {
      give(request(wire::RdmaKind::rqt, scid, 4000, 0, Nid{peer}));
    }
  }
  EXPECT_EQ(node->sinks_in_use(), 52U) << "four fifths of 64";
  const Vni other{0x500};
  key = *node->register_region(memory, {.peers_write = true}, other);
  wire::RdmaHeader h = header(wire::RdmaKind::rqt, Nid{6});
  h.vni = other;
  h.pidx = 1;
  tap.heard.clear();
  give(request_frame(h, {.key = key.value, .incarnation = 4, .payload = 200}));
  EXPECT_TRUE(was_accepted());
}

TEST_F(HostileTest, OnePeersRecordsLeaveSomeToOthers) {
  show_itself();
  for (std::uint32_t i = 0; i < 300; ++i) { // each is cancelled immediately, and remembered
    const auto scid = static_cast<std::uint16_t>(i);
    tap.heard.clear();
    give(request(wire::RdmaKind::rqt, scid, 4000));
    if (was_accepted()) {
      wire::RdmaHeader h = header(wire::RdmaKind::abort);
      h.flags = wire::rdma_flag::to_sink;
      h.dcid = tap.heard[0].scid;
      h.scid = scid;
      h.generation = tap.heard[0].generation;
      h.message = 1000;
      give(frame_of(h));
    }
  }
  EXPECT_EQ(node->sinks_in_use(), 0U);
  EXPECT_EQ(counter(*node, "busy_records"), 0U);
  EXPECT_EQ(counter(*node, "busy_shares"), 300U - 171U) << "two thirds of 256";
  proof = 0;
  tap.heard.clear();
  give(request(wire::RdmaKind::rqt, 1, 4000, 0, Nid{6}));
  EXPECT_TRUE(was_accepted());
}

TEST_F(HostileTest, FalseNamesKeepAQuarterOfTheContextsAndNobodyOut) {
  for (std::uint16_t scid = 0; scid < 400; ++scid) {
    give(request(wire::RdmaKind::rqt, scid, 4000, 0, Nid{10U + scid % 40}));
  }
  EXPECT_EQ(node->sinks_in_use(), 16U);
  EXPECT_EQ(counter(*node, "challenged"), 400U - 16U);
  EXPECT_LE(node->peers_in_use(), 16U);
  tap.heard.clear();
  give(request(wire::RdmaKind::rqt, 1, 4000, 0, Nid{6}));
  ASSERT_EQ(tap.heard.size(), 1U);
  proof = wire::rdma_proof_in(tap.heard[0]);
  tap.heard.clear();
  give(request(wire::RdmaKind::rqt, 1, 4000, 0, Nid{6}));
  EXPECT_TRUE(was_accepted());
}

TEST_F(HostileTest, AFloodOfRequestsKeepsNoTransferFromGoingOn) {
  show_itself();
  tap.heard.clear();
  key = RegionKey{key.value ^ 1};
  const std::vector<std::byte> flood = request(wire::RdmaKind::rqt, 9, 4000, 0, Nid{7});
  key = RegionKey{key.value ^ 1};
  tap.most_of_a_turn = 8;
  const auto turn = [&](const std::vector<std::byte>& frame) {
    std::vector<std::byte> copy = frame;
    const FrameView view{copy.data(), static_cast<std::uint32_t>(copy.size())};
    node->receive({&view, 1}, now);
  };
  const auto accepted = request(wire::RdmaKind::rqt, 3, 4000);
  turn(accepted);
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 64; ++k) {
      turn(flood);
    }
    engine::Outlet outlet(tap);
    node->send(outlet);
    tap.flush();
  }
  EXPECT_EQ(std::ranges::count(tap.heard, liar_nid, &wire::RdmaHeader::destination), 1);
}

TEST_F(HostileTest, WrongKeysLeaveNothingBehind) {
  key = RegionKey{key.value ^ 1};
  for (std::uint16_t scid = 0; scid < 400; ++scid) {
    give(request(scid % 2 == 0 ? wire::RdmaKind::rqt : wire::RdmaKind::rd_rqt, scid, 4000, 0,
                 Nid{10U + scid}));
  }
  EXPECT_EQ(counter(*node, "refused_key"), 400U);
  EXPECT_EQ(tap.heard.size(), 400U) << "one for one";
  EXPECT_EQ(node->peers_in_use(), 0U);
  EXPECT_EQ(node->peer(Nid{10}, vni), nullptr);
}

TEST_F(HostileTest, AProofIsOfOneAddressAndOneIncarnation) {
  show_itself();
  const std::uint64_t own = proof;
  tap.heard.clear();
  give(request(wire::RdmaKind::rd_rqt, 1, 0, 0, Nid{6}));
  ASSERT_EQ(tap.heard.size(), 1U);
  EXPECT_EQ(tap.heard[0].word & 0xFF, static_cast<std::uint64_t>(wire::RdmaStatus::unproven));
  incarnation = 10;
  tap.heard.clear();
  give(request(wire::RdmaKind::rd_rqt, 1, 0));
  ASSERT_EQ(tap.heard.size(), 1U);
  EXPECT_NE(wire::rdma_proof_in(tap.heard[0]), own);
  EXPECT_EQ(counter(*node, "challenged"), 3U);
  EXPECT_EQ(counter(*node, "served"), 0U);
}

TEST_F(HostileTest, AProvenRestartEndsWhatWasBegunBefore) {
  show_itself();
  give(request(wire::RdmaKind::rqt, 3, 4000));
  give(request(wire::RdmaKind::rd_rqt, 4, 4000));
  EXPECT_EQ(node->sinks_in_use() + node->sources_in_use(), 2U);
  incarnation = 8; // less or more means nothing
  proof = 0;
  show_itself();
  EXPECT_EQ(node->sinks_in_use() + node->sources_in_use(), 2U);
  give(request(wire::RdmaKind::rqt, 3, 4000));
  EXPECT_EQ(counter(*node, "incarnations"), 1U);
  EXPECT_EQ(node->sinks_in_use(), 1U);
  EXPECT_EQ(node->sources_in_use(), 0U);
}

TEST_F(HostileTest, ALateRequestFromBeforeARestartIsNotARestart) {
  show_itself();
  const auto late = request(wire::RdmaKind::rqt, 5, 4000); // with its proof
  incarnation = 8;
  proof = 0;
  give(late);
  show_itself();
  give(request(wire::RdmaKind::rqt, 3, 4000));
  EXPECT_EQ(counter(*node, "incarnations"), 1U);
  give(late);
  EXPECT_EQ(counter(*node, "incarnations"), 1U);
  EXPECT_EQ(counter(*node, "challenged"), 3U);
  EXPECT_EQ(node->sinks_in_use(), 1U);
}

/// A peer with a valid context for its own transfer gains nothing by guessing those of another.
TEST_F(HostileTest, AFinThatNamesNoContextForgetsNothing) {
  give(request(wire::RdmaKind::rqt, 3, 0));
  wire::RdmaHeader h = header(wire::RdmaKind::wr);
  h.dcid = tap.heard.back().scid;
  h.scid = 3;
  h.generation = tap.heard.back().generation;
  h.message = 1000;
  h.flags = wire::rdma_flag::last;
  give(frame_of(h));
  ASSERT_EQ(tap.heard.back().kind, wire::RdmaKind::done);
  h.kind = wire::RdmaKind::fin;
  h.generation ^= 1;
  give(frame_of(h));
  tap.heard.clear();
  give(request(wire::RdmaKind::rqt, 3, 0));
  ASSERT_EQ(tap.heard.size(), 1U);
  EXPECT_EQ(tap.heard[0].kind, wire::RdmaKind::done) << "it is remembered";
  h.generation ^= 1;
  give(frame_of(h));
  tap.heard.clear();
  give(request(wire::RdmaKind::rqt, 3, 0));
  ASSERT_EQ(tap.heard.size(), 1U);
  EXPECT_EQ(tap.heard[0].kind, wire::RdmaKind::rsp) << "it is forgotten";
}

TEST_F(HostileTest, WhatNamesATransferIsDrawnForEach) {
  make(1024);
  std::set<std::uint16_t> contexts;
  std::set<std::uint16_t> generations;
  for (std::uint16_t scid = 0; scid < 256; ++scid) {
    tap.heard.clear();
    give(request(wire::RdmaKind::rqt, scid, 0));
    if (!tap.heard.empty() && tap.heard[0].generation != 0) {
      contexts.insert(tap.heard[0].scid);
      generations.insert(tap.heard[0].generation);
    }
  }
  EXPECT_GT(contexts.size(), 200U);
  EXPECT_GT(generations.size(), 200U);
  EXPECT_GT(*contexts.rbegin(), 32'000) << "of all 16 bits";
  EXPECT_LT(*contexts.begin(), 4'000);
}

TEST_F(HostileTest, NumbersOfOnePeerTellNothingOfThoseOfAnother) {
  std::vector<std::byte> data(10);
  for (std::uint32_t i = 0; i < 32; ++i) {
    for (const Nid peer : {Nid{5}, Nid{6}}) {
      ASSERT_EQ(node->write({.peer = peer, .vni = vni, .memory = data, .key = key}).error,
                BeginError::none);
    }
  }
  pump();
  ASSERT_EQ(tap.heard.size(), 64U);
  const auto apart = static_cast<std::int32_t>(tap.heard[1].message - tap.heard[0].message);
  EXPECT_GT(std::abs(apart), 1000);
}

class ForgedTest : public PairTest {
protected:
  wire::RdmaHeader header(wire::RdmaKind kind, Nid from, Nid to) const {
    wire::RdmaHeader h;
    h.source = from;
    h.destination = to;
    h.vni = vni;
    h.kind = kind;
    return h;
  }
  void forge_restart(std::uint64_t with_key) {
    wire::RdmaHeader h = header(wire::RdmaKind::rqt, source_nid, sink_nid);
    h.scid = 60;
    h.value = 1000;
    h.pidx = 1;
    network().inject(request_frame(h, {.key = with_key, .incarnation = 2, .payload = 1000}));
  }
  void expect_transfers_go_on() {
    EXPECT_TRUE(completion().done());
    EXPECT_TRUE(arrived(200'000));
    EXPECT_EQ(source->counters().restarts, 0U);
    write(5000);
    EXPECT_TRUE(completion().done()) << "no peer is locked out";
    read(5000);
    EXPECT_TRUE(completion().done());
    expect_all_free();
  }
};

TEST_F(ForgedTest, ARestartWithAWrongKeyEndsNothing) {
  write(200'000);
  network().run_for(4'000);
  ASSERT_EQ(sink->sinks_in_use(), 1U);
  forge_restart(key.value ^ 0x10000);
  expect_transfers_go_on();
}

TEST_F(ForgedTest, ARestartWithTheRightKeyEndsNothingWithoutProof) {
  write(200'000);
  network().run_for(4'000);
  ASSERT_EQ(sink->sinks_in_use(), 1U);
  forge_restart(key.value);
  expect_transfers_go_on();
}

TEST_F(ForgedTest, ADoneThatIsNotTheSinksIsNotBelieved) {
  wire::RdmaHeader data;
  network().set_filter([&](auto, const wire::RdmaHeader& h) {
    data = h.kind == wire::RdmaKind::wr ? h : data;
    return h.kind != wire::RdmaKind::wr;
  });
  write(3000);
  network().run_for(4'000);
  ASSERT_EQ(data.kind, wire::RdmaKind::wr);
  for (const wire::RdmaKind kind : {wire::RdmaKind::done, wire::RdmaKind::abort}) {
    wire::RdmaHeader forged = header(kind, sink_nid, source_nid);
    forged.dcid = data.scid;
    forged.message = data.message;
    forged.pidx = 3;
    forged.scid = data.dcid;
    forged.generation = static_cast<std::uint16_t>(data.generation + 1);
    network().inject(frame_of(forged));
    forged.scid = static_cast<std::uint16_t>(data.dcid + 1);
    forged.generation = data.generation;
    network().inject(frame_of(forged));
  }
  network().run_for(1'000);
  EXPECT_FALSE(source->take_completion());
  network().set_filter({});
  EXPECT_TRUE(completion().done());
  EXPECT_TRUE(arrived(3000));
}

TEST_F(ForgedTest, ADoneBeforeTheAnswerIsNotBelieved) {
  wire::RdmaHeader request;
  network().set_filter([&](auto, const wire::RdmaHeader& h) {
    request = h.kind == wire::RdmaKind::rqt ? h : request;
    return false;
  });
  write(3000);
  network().run_for(1'000);
  for (const wire::RdmaKind kind :
       {wire::RdmaKind::done, wire::RdmaKind::abort, wire::RdmaKind::rsp}) {
    wire::RdmaHeader forged = header(kind, sink_nid, source_nid);
    forged.dcid = request.scid;
    forged.message = request.message;
    forged.scid = 1;
    forged.generation = 1;
    forged.word = kind == wire::RdmaKind::rsp ? 2 : 0;
    network().inject(frame_of(forged));
  }
  network().run_for(1'000);
  EXPECT_FALSE(source->take_completion());
  network().set_filter({});
  EXPECT_TRUE(completion().done());
  EXPECT_TRUE(arrived(3000));
}

TEST_F(ForgedTest, ProgressThatWasNotMadeIsNotBelieved) {
  bool lied = false;
  network().set_filter([&](auto, const wire::RdmaHeader& h) {
    if (h.kind != wire::RdmaKind::wr || lied) {
      return true;
    }
    lied = true;
    wire::RdmaHeader forged = header(wire::RdmaKind::prog, sink_nid, source_nid);
    forged.dcid = h.scid;
    forged.scid = h.dcid;
    forged.generation = h.generation;
    forged.message = h.message;
    forged.pidx = 190; // of 200: far more than was sent
    forged.value = 200;
    network().inject(frame_of(forged));
    return true;
  });
  write(200'000);
  EXPECT_TRUE(completion().done());
  EXPECT_TRUE(arrived(200'000));
  EXPECT_EQ(sink->counters().sink_timeouts, 0U);
  EXPECT_EQ(counter(*source, "unsent_base"), 1U);
}

} // namespace
} // namespace tributary::rdma::test
