// Reductions by several workers whose queue pairs are of the same ports: at whichever queue pair a
// frame arrives, all members get all results.
#include "pktgen/traffic/reduce.hpp"
#include "pktgen/transport/loop.hpp"
#include "tests/unit/include/wire/seed.hpp"
#include "tests/unit/pktgen/traffic/memory_port.hpp"
#include "tributary/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace tributary::pktgen::traffic::test {

using scenario::PortIndex;
using scenario::QueuePairIndex;
using scenario::Reduce;

namespace {

using tributary::test::seed;

/// Two queue pairs at the root's port, three and two at the leaves'.
const std::vector<PortIndex> port_of_queue_pair = {0, 0, 1, 1, 1, 2, 2};

class Workers {
public:
  explicit Workers(const Reduce& reduce, std::size_t workers = 3) : random_(seed()) {
    scenario::Scenario scenario;
    scenario.traffic.reduce = reduce;
    scenario.hosted.emplace().ports = 3;
    loop_ = transport::LoopSwitch::through_memory(scenario);
    Placement placement;
    placement.queue_pairs = port_of_queue_pair;
    placement.first_nid = scenario.first_nid;
    for (const link::Port* port : loop_->ports()) {
      placement.ports.push_back(port->address());
    }
    queue_pairs_.resize(port_of_queue_pair.size());
    std::generate(queue_pairs_.begin(), queue_pairs_.end(),
                  [] { return std::make_unique<MemoryPort>(); });
    for (std::size_t w = 0; w < workers; ++w) {
      Worker& worker = workers_.emplace_back();
      placement.elsewhere.assign(queue_pairs_.size(), true);
      worker.ports.assign(queue_pairs_.size(), nullptr);
      for (QueuePairIndex queue_pair = w; queue_pair < queue_pairs_.size(); queue_pair += workers) {
        placement.elsewhere[queue_pair] = false;
        worker.ports[queue_pair] = queue_pairs_[queue_pair].get();
      }
      worker.traffic = std::make_unique<ReduceTraffic>(reduce, placement, 1);
      worker.traffic->start(now);
    }
    together([this](ReduceTraffic& traffic) { traffic.begin_measuring(now); });
  }

  /// Sees each frame that one worker has for another; false loses it.
  std::function<bool()> on_hand_over = [] { return true; };
  TimeNs now{1'000'000};
  std::uint64_t handed_over = 0;

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
    }
  }
  /// False if not everything has arrived after a virtual minute.
  bool finish() {
    together([this](ReduceTraffic& traffic) { traffic.stop(now); });
    const TimeNs limit = now + 60'000'000'000;
    while (!std::ranges::all_of(workers_, [&](auto& w) { return w.traffic->drained(now); })) {
      if (now >= limit) {
        return false;
      }
      step();
      now = now + 100'000;
    }
    return true;
  }
  [[nodiscard]] measure::Tally tally() const {
    measure::Tally sum;
    for (const Worker& worker : workers_) {
      sum.merge(worker.traffic->tally(now));
    }
    return sum;
  }
  [[nodiscard]] std::uint64_t sent_by(QueuePairIndex queue_pair) const {
    return queue_pairs_[queue_pair]->sent_frames();
  }

private:
  struct Worker {
    std::unique_ptr<ReduceTraffic> traffic;
    std::vector<link::Port*> ports;
    [[nodiscard]] bool has(PortIndex port) const {
      for (QueuePairIndex queue_pair = 0; queue_pair < ports.size(); ++queue_pair) {
        if (ports[queue_pair] != nullptr && port_of_queue_pair[queue_pair] == port) {
          return true;
        }
      }
      return false;
    }
  };

  template <typename F> void together(F&& f) {
    Progress farthest;
    for (const Worker& worker : workers_) {
      const Progress one = worker.traffic->progress();
      farthest.resize(one.size());
      std::ranges::transform(one, farthest, farthest.begin(),
                             [](auto a, auto b) { return std::max(a, b); });
    }
    for (Worker& worker : workers_) {
      worker.traffic->agree(farthest);
      f(*worker.traffic);
    }
  }
  void step() {
    for (PortIndex port = 0; port < 3; ++port) {
      for (const FrameView& frame : loop_->ports()[port]->receive()) {
        arrive(port, frame);
      }
    }
    for (Worker& worker : workers_) {
      worker.traffic->generate(worker.ports, now);
    }
    for (QueuePairIndex queue_pair = 0; queue_pair < queue_pairs_.size(); ++queue_pair) {
      queue_pairs_[queue_pair]->flush();
      for (const Bytes& frame : queue_pairs_[queue_pair]->take_sent()) {
        pass(*loop_->ports()[port_of_queue_pair[queue_pair]], frame);
      }
    }
    loop_->turn(now);
    now = now + 1000;
  }
  /// At a random queue pair of the port.
  void arrive(PortIndex port, const FrameView& frame) {
    const auto of_port = static_cast<std::size_t>(std::ranges::count(port_of_queue_pair, port));
    const auto first = static_cast<QueuePairIndex>(std::ranges::find(port_of_queue_pair, port) -
                                                   port_of_queue_pair.begin());
    const QueuePairIndex queue_pair = first + random_.below(of_port);
    const std::size_t here = queue_pair % workers_.size();
    const Reception reception = workers_[here].traffic->receive(queue_pair, frame, now);
    EXPECT_TRUE(reception);
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      const bool concerned = reception.concerns == Reception::Concerns::whole_port
                                 ? workers_[w].has(port)
                                 : reception.concerns == Reception::Concerns::one_queue_pair &&
                                       reception.queue_pair % workers_.size() == w;
      if (w != here && concerned && on_hand_over()) {
        ++handed_over;
        workers_[w].traffic->overhear(queue_pair, frame, now);
      }
    }
  }
  void pass(link::Port& port, const Bytes& frame) {
    std::byte* room = port.room();
    while (room == nullptr) {
      loop_->turn(now);
      room = port.room();
    }
    std::memcpy(room, frame.data(), frame.size());
    port.push(static_cast<std::uint32_t>(frame.size()));
    port.flush();
  }

  Random random_;
  std::unique_ptr<transport::LoopSwitch> loop_;
  std::vector<std::unique_ptr<MemoryPort>> queue_pairs_;
  std::vector<Worker> workers_;
};

Reduce of(std::uint32_t leaves, std::uint32_t trees) {
  Reduce reduce;
  reduce.leaves = leaves;
  reduce.trees = trees;
  reduce.in_flight = 4;
  return reduce;
}

void expect_all_exact(const measure::Tally& tally, std::uint32_t leaves) {
  EXPECT_GT(tally.figure("operations"), 50U);
  EXPECT_EQ(tally.figure("operations_at_leaves"), leaves * tally.figure("operations"));
  EXPECT_EQ(tally.figure("results_checked"), (leaves + 1) * tally.figure("reductions"));
  EXPECT_EQ(tally.sum(measure::Figure::Meaning::fault), 0U);
  EXPECT_EQ(tally.sum(measure::Figure::Meaning::loss), 0U);
}

TEST(ReduceQueuePairs, EveryMemberGetsEveryResultWhicheverQueuePairItComesInAt) {
  Workers workers(of(23, 5));
  workers.run(400);
  ASSERT_TRUE(workers.finish());
  expect_all_exact(workers.tally(), 23);
  EXPECT_EQ(workers.tally().figure("asked_again"), 0U) << "nothing was lost on the way";
  EXPECT_GT(workers.handed_over, 0U);
  for (QueuePairIndex queue_pair = 0; queue_pair < port_of_queue_pair.size(); ++queue_pair) {
    EXPECT_GT(workers.sent_by(queue_pair), 0U) << "queue pair " << queue_pair;
  }
}

TEST(ReduceQueuePairs, VectorsReachEveryMemberToo) {
  Reduce reduce = of(7, 3);
  reduce.type = "float32";
  reduce.elements = 1000;
  reduce.payload = 512;
  reduce.slots = 16;
  Workers workers(reduce);
  workers.run(400);
  ASSERT_TRUE(workers.finish());
  expect_all_exact(workers.tally(), 7);
  EXPECT_EQ(workers.tally().figure("payload_bytes"), 4000 * workers.tally().figure("operations"));
  EXPECT_GT(workers.handed_over, 0U);
}

TEST(ReduceQueuePairs, UnreducedContributionsReachTheQueuePairOfTheirRoot) {
  Reduce reduce = of(9, 3);
  reduce.armed = false;
  Workers workers(reduce);
  workers.run(400);
  ASSERT_TRUE(workers.finish());
  expect_all_exact(workers.tally(), 9);
  EXPECT_GT(workers.tally().figure("reductions_by_single_contributions"), 50U);
}

TEST(ReduceQueuePairs, FewerTreesAndLeavesThanQueuePairsLeaveSomeQueuePairsIdle) {
  Workers workers(of(3, 1));
  workers.run(400);
  ASSERT_TRUE(workers.finish());
  expect_all_exact(workers.tally(), 3);
  EXPECT_GT(workers.sent_by(0), 0U);
  EXPECT_EQ(workers.sent_by(1), 0U) << "the one tree's root is on the first queue pair";
}

TEST(ReduceQueuePairs, HandOversThatAreLostAreRepaired) {
  Workers workers(of(12, 2));
  int lost = 0;
  int seen = 0;
  workers.on_hand_over = [&] {
    const bool lose = ++seen % 20 == 0;
    lost += lose ? 1 : 0;
    return !lose;
  };
  // How many operations a round completes depends on which hand-overs are lost.
  constexpr int least_rounds = 40;
  constexpr int most_rounds = 400;
  const auto enough = [&] { return workers.tally().figure("operations") > 60; };
  for (int i = 0; i < least_rounds || (!enough() && i < most_rounds); ++i) {
    workers.run(100);
    workers.now = workers.now + 50'000'000; // so that timers are due
  }
  ASSERT_TRUE(workers.finish());
  EXPECT_GT(lost, 10);
  expect_all_exact(workers.tally(), 12);
}

} // namespace
} // namespace tributary::pktgen::traffic::test
