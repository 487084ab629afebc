// Altered contributions: the alterations are counted, and results are right nevertheless.
#include "reduce_rig.hpp"

#include "pktgen/traffic/tampering.hpp"

#include <gtest/gtest.h>

namespace tributary::pktgen::traffic::test {

using measure::Tally;
using scenario::Reduce;
using scenario::Tampering;

namespace {

Reduce altered(double Tampering::*how, double share) {
  Reduce reduce;
  reduce.leaves = 12;
  reduce.tampering.*how = share;
  return reduce;
}

/// Runs for a while; all results must be right. Returns the tally.
Tally run_to_the_end(const Reduce& reduce, std::uint64_t ns = 200'000'000) {
  ReduceRig rig(reduce);
  rig.run(ns);
  EXPECT_TRUE(rig.finish()) << rig.traffic().waiting_for(rig.now);
  EXPECT_EQ(rig.tally().sum(measure::Figure::Meaning::fault), 0U);
  EXPECT_GT(rig.tally().figure("operations"), 10U);
  return rig.tally();
}

TEST(ReduceTampering, AbsentContributionsAreAskedForAgain) {
  const Tally tally = run_to_the_end(altered(&Tampering::absent, 0.01), 2'000'000'000);
  EXPECT_GT(tally.figure("tampered_absent"), 10U);
  EXPECT_GT(tally.figure("asked_again"), 0U);
}

TEST(ReduceTampering, LateContributionsComeLate) {
  Reduce reduce = altered(&Tampering::late, 0.01);
  reduce.tampering.late_by = std::chrono::microseconds(300);
  const Tally tally = run_to_the_end(reduce);
  EXPECT_GT(tally.figure("tampered_late"), 10U);
  EXPECT_EQ(tally.figure("asked_again"), 0U) << "300 us are not worth asking";
  EXPECT_GE(tally.latency("operation_at_root")->max(), 300'000U);
}

TEST(ReduceTampering, WhereAllAreLateNoOperationIsInTime) {
  Reduce reduce = altered(&Tampering::late, 1);
  reduce.tampering.late_by = std::chrono::milliseconds(100);
  reduce.retry = std::chrono::milliseconds(32); // so that it requests the held-back frames again
  const Tally tally = run_to_the_end(reduce, 2'000'000'000);
  EXPECT_GT(tally.figure("asked_again"), 0U);
  EXPECT_GE(tally.latency("operation_at_root")->min(), 100'000'000U);
}

TEST(ReduceTampering, ForeignCookiesAndVnisReachTheRootAndAreIgnored) {
  Tally tally = run_to_the_end(altered(&Tampering::wrong_cookie, 0.1), 4'000'000);
  EXPECT_GT(tally.figure("tampered_wrong_cookie"), 10U);
  EXPECT_EQ(tally.figure("frames_of_others"), tally.figure("tampered_wrong_cookie"));
  tally = run_to_the_end(altered(&Tampering::wrong_vni, 0.1), 4'000'000);
  EXPECT_GT(tally.figure("tampered_wrong_vni"), 10U);
  EXPECT_EQ(tally.figure("frames_of_others"), tally.figure("tampered_wrong_vni"));
}

TEST(ReduceTampering, StaleSequencesChangeNothing) {
  const Tally tally = run_to_the_end(altered(&Tampering::stale, 0.1), 5'000'000);
  EXPECT_GT(tally.figure("tampered_stale"), 10U);
}

TEST(ReduceTampering, WrongOpcodesAreReportedToEverybody) {
  const Tally tally = run_to_the_end(altered(&Tampering::wrong_opcode, 0.005), 15'000'000);
  EXPECT_GT(tally.figure("tampered_wrong_opcode"), 10U);
  EXPECT_GT(tally.figure("mismatches_reported"), 0U);
  EXPECT_LE(tally.figure("mismatches_reported"), tally.figure("tampered_wrong_opcode"));
}

TEST(ReduceTampering, MismatchThatNobodyCausedIsAFault) {
  Reduce reduce;
  reduce.leaves = 4;
  ReduceRig rig(reduce);
  bool done = false;
  rig.on_arrival = [&](scenario::PortIndex port, std::byte* frame) {
    std::byte* p = frame + wire::ethernet_header_bytes;
    wire::ReductionWord word = wire::load_word(p);
    if (port == 2 && word.count != 0 && !done) {
      word.rc = static_cast<std::uint8_t>(wire::ResultCode::op_mismatch);
      wire::store_word(p, word);
      done = true;
    }
    return true;
  };
  rig.run(300'000);
  ASSERT_TRUE(rig.finish());
  ASSERT_TRUE(done);
  EXPECT_EQ(rig.tally().figure("wrong_results"), 2U);
}

TEST(Tamperer, DrawsSharesAndNothingForArms) {
  Tampering tampering;
  tampering.absent = 0.25;
  tampering.stale = 0.25;
  Tamperer tamperer(tampering, 3, 1);
  wire::ReductionFrame frame;
  frame.word.count = 1;
  Tamperer::Frame bytes;
  wire::encode(frame, bytes);
  std::array<int, tamper_count> drawn{};
  for (int i = 0; i < 10'000; ++i) {
    ++drawn[static_cast<std::size_t>(tamperer.draw(bytes))];
  }
  EXPECT_NEAR(drawn[static_cast<std::size_t>(Tamper::absent)], 2500, 200);
  EXPECT_NEAR(drawn[static_cast<std::size_t>(Tamper::stale)], 2500, 200);
  EXPECT_NEAR(drawn[static_cast<std::size_t>(Tamper::none)], 5000, 300);
  frame.word.arm = true;
  wire::encode(frame, bytes);
  EXPECT_EQ(tamperer.draw(bytes), Tamper::none);
}

} // namespace
} // namespace tributary::pktgen::traffic::test
