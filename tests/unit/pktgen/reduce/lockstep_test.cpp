// Leaves in lockstep against leaves that each run the protocol: the same frames at the same times,
// and the same accounts.
#include "pktgen/traffic/lockstep.hpp"
#include "reduce_rig.hpp"

#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tributary::pktgen::traffic::test {

using measure::Tally;
using scenario::Reduce;

namespace {

struct Sent {
  std::uint64_t at_ns = 0;
  std::size_t hash = 0; ///< of its bytes
  friend bool operator==(const Sent&, const Sent&) = default;
};
void PrintTo(const Sent& sent, std::ostream* out) { *out << "a frame at " << sent.at_ns << " ns"; }

/// All that left by one port.
class Log final : public link::FrameTap {
public:
  explicit Log(const ReduceRig& rig) : rig_(rig) {}
  void sent(const link::Port&, std::span<const std::byte> frame) override {
    const std::string_view bytes(reinterpret_cast<const char*>(frame.data()), frame.size());
    frames.push_back({rig_.now.value, std::hash<std::string_view>()(bytes)});
  }
  void received(const link::Port&, std::span<const std::byte>) override {}
  std::vector<Sent> frames;

private:
  const ReduceRig& rig_;
};

struct Outcome {
  std::vector<std::vector<Sent>> sent; ///< by port
  std::vector<std::pair<std::string, std::uint64_t>> figures;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, double>> latencies;
  std::vector<std::string> remarks;
  std::uint64_t wrong = 0;
  std::uint64_t asked_again = 0;
};

struct LockstepCase {
  std::string_view name;
  Reduce reduce;
  std::uint32_t ports = 3;
  std::uint32_t lost = 0;      ///< frames to the generator, of 1,000
  std::uint32_t repeated = 0;  ///< likewise
  std::uint32_t damaged = 0;   ///< likewise: a bit of the payload
  std::uint32_t overtaken = 0; ///< likewise: is replaced by an earlier frame
};
void PrintTo(const LockstepCase& c, std::ostream* out) { *out << c.name; }

Outcome outcome_of(const LockstepCase& c, std::uint64_t seed, bool together) {
  ReduceRig rig(c.reduce, c.ports, seed, together);
  std::vector<Log> logs(c.ports, Log(rig));
  for (std::size_t port = 0; port < logs.size(); ++port) {
    rig.loop().ports()[port]->set_tap(&logs[port]);
  }
  Random random(seed);
  const auto occurs = [&](std::uint32_t of_thousand) { return random.next() % 1000 < of_thousand; };
  std::array<std::byte, wire::reduction_frame_bytes> earlier{};
  rig.on_arrival = [&](scenario::PortIndex, std::byte* frame) {
    if (occurs(c.damaged)) {
      frame[wire::reduction_frame_bytes - 1] ^= std::byte{1};
    }
    if (occurs(c.overtaken) && earlier[0] != std::byte{}) {
      std::memcpy(frame, earlier.data(), earlier.size());
    } else if (occurs(100)) {
      std::memcpy(earlier.data(), frame, earlier.size());
    }
    return occurs(c.lost) ? 0 : occurs(c.repeated) ? 2 : 1;
  };
  rig.run(500'000);
  rig.traffic().begin_measuring(rig.now);
  rig.run(1'500'000);
  EXPECT_TRUE(rig.finish()) << rig.traffic().waiting_for(rig.now);
  const Tally tally = rig.tally();
  Outcome result;
  for (std::size_t port = 0; port < logs.size(); ++port) {
    rig.loop().ports()[port]->set_tap(nullptr);
    result.sent.push_back(std::move(logs[port].frames));
  }
  for (const measure::Figure& figure : tally.figures) {
    result.figures.emplace_back(figure.name, figure.value);
  }
  result.figures.emplace_back("sent bytes", tally.sent.bytes);
  for (const measure::LatencySeries& series : tally.latencies) {
    result.latencies.emplace_back(series.histogram.count(), series.histogram.max(),
                                  series.histogram.mean());
  }
  result.remarks = tally.remarks;
  result.wrong = tally.figure("wrong_results");
  result.asked_again = tally.figure("asked_again");
  return result;
}

Reduce of_words(std::uint32_t leaves, std::uint32_t trees = 1) {
  Reduce reduce;
  reduce.leaves = leaves;
  reduce.trees = trees;
  reduce.retry = std::chrono::microseconds(200);
  return reduce;
}
Reduce of_vectors(std::uint32_t leaves, std::string_view type, std::uint64_t elements) {
  Reduce reduce = of_words(leaves);
  reduce.type = type;
  reduce.elements = elements;
  return reduce;
}
Reduce with(Reduce reduce, auto&& change) {
  change(reduce);
  return reduce;
}
Reduce tampered(Reduce reduce) {
  return with(std::move(reduce), [](Reduce& r) {
    r.tampering.absent = r.tampering.late = r.tampering.stale = 0.01;
    r.tampering.wrong_cookie = r.tampering.wrong_vni = 0.01;
    r.tampering.late_by = std::chrono::microseconds(300);
  });
}

std::vector<LockstepCase> lockstep_cases() {
  return {
      {.name = "quiet", .reduce = of_words(7)},
      {.name = "one leaf", .reduce = of_words(1), .ports = 2, .lost = 50},
      {.name = "loss", .reduce = of_words(23, 3), .lost = 50},
      {.name = "loss, repetitions, stale frames",
       .reduce = of_words(12, 2),
       .lost = 30,
       .repeated = 50,
       .overtaken = 20},
      {.name = "damage", .reduce = of_words(9), .damaged = 20},
      {.name = "more leaves than a turn serves",
       .reduce = with(of_words(600), [](Reduce& r) { r.retry = std::chrono::seconds(1); }),
       .ports = 2},
      {.name = "all operators",
       .reduce = with(of_words(6),
                      [](Reduce& r) {
                        r.operators = {"mix"};
                        r.elements = 7;
                      }),
       .lost = 20},
      {.name = "open loop",
       .reduce = with(of_words(10, 2), [](Reduce& r) { r.rate = 2e5; }),
       .lost = 20},
      {.name = "tampering", .reduce = tampered(of_words(11, 2)), .lost = 10},
      {.name = "wrong opcodes",
       .reduce = with(of_words(11), [](Reduce& r) { r.tampering.wrong_opcode = 0.002; })},
      {.name = "without arms",
       .reduce = with(of_words(8), [](Reduce& r) { r.armed = false; }),
       .lost = 20},
      {.name = "vectors", .reduce = of_vectors(5, "float32", 3'000), .lost = 20},
      {.name = "vectors, tampered", .reduce = tampered(of_vectors(6, "int16", 2'500)), .lost = 10},
      {.name = "vectors of both forms",
       .reduce = with(of_words(4),
                      [](Reduce& r) {
                        r.payload = 256;
                        r.operators = {"mix", "wide-mix"};
                        r.elements = 90;
                      }),
       .lost = 20},
  };
}

class Lockstep : public testing::TestWithParam<LockstepCase> {};

TEST_P(Lockstep, SendsEveryFrameThatLeavesByThemselvesWouldAndCountsTheSame) {
  for (const std::uint64_t seed : {1U, 2U}) {
    const Outcome together = outcome_of(GetParam(), seed, true);
    const Outcome by_themselves = outcome_of(GetParam(), seed, false);
    for (std::size_t port = 0; port < together.sent.size(); ++port) {
      EXPECT_GT(together.sent[port].size(), 20U) << "port " << port;
      ASSERT_EQ(together.sent[port].size(), by_themselves.sent[port].size()) << "port " << port;
      for (std::size_t i = 0; i < together.sent[port].size(); ++i) {
        ASSERT_EQ(together.sent[port][i], by_themselves.sent[port][i])
            << "port " << port << ", frame " << i << ", seed " << seed;
      }
    }
    EXPECT_EQ(together.figures, by_themselves.figures);
    EXPECT_EQ(together.latencies, by_themselves.latencies);
    EXPECT_EQ(together.remarks, by_themselves.remarks);
    EXPECT_EQ(together.wrong != 0, GetParam().damaged != 0);
    EXPECT_TRUE(together.asked_again != 0 || GetParam().lost == 0);
  }
}

TEST(LockstepStall, FramesKeepTheirOrderWhereThePortTakesFewAtATime) {
  const auto sent_by_leaves = [](bool together) {
    Reduce reduce = of_words(700);
    reduce.retry = std::chrono::seconds(10);
    ReduceRig rig(reduce, 2, 1, together);
    rig.traffic().limit(20);
    rig.traffic().begin_measuring(rig.now);
    std::uint64_t steps = 0;
    rig.switch_rests = [&steps] { return ++steps % 5 != 0; };
    Log log(rig);
    rig.loop().ports()[1]->set_tap(&log);
    rig.run(5'000'000);
    EXPECT_TRUE(rig.finish()) << rig.traffic().waiting_for(rig.now);
    EXPECT_EQ(rig.tally().figure("operations_at_leaves"), 20U * 700);
    EXPECT_EQ(rig.tally().sum(measure::Figure::Meaning::fault), 0U);
    rig.loop().ports()[1]->set_tap(nullptr);
    std::vector<std::size_t> frames;
    std::ranges::transform(log.frames, std::back_inserter(frames), &Sent::hash);
    return frames;
  };
  const std::vector<std::size_t> together = sent_by_leaves(true);
  EXPECT_GE(together.size(), 20U * 700);
  EXPECT_EQ(together, sent_by_leaves(false));
}

INSTANTIATE_TEST_SUITE_P(Reduce, Lockstep, testing::ValuesIn(lockstep_cases()));

} // namespace
} // namespace tributary::pktgen::traffic::test
