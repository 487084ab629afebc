// The worker pool: workers run, pause while they are accessed, and end.
#include "pktgen/run/worker_pool.hpp"

#include "lib/link/memory_port.hpp"
#include "tests/support/eventually.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tributary::pktgen::run {

using traffic::Reception;

namespace {

using tributary::test::eventually;

/// Counts its iterations without any lock: a thread sanitizer detects any access while it runs.
class Running final : public traffic::Traffic {
public:
  std::uint64_t iterations = 0;
  std::uint64_t measured_from = 0;
  bool stopped = false;
  std::uint64_t steps_for_each; ///< of progress
  traffic::Progress farthest;
  explicit Running(std::uint64_t steps) : steps_for_each(steps) {}

  void start(TimeNs) override {}
  void begin_measuring(TimeNs) override { measured_from = iterations; }
  void stop(TimeNs) override { stopped = true; }
  Reception receive(scenario::QueuePairIndex, const FrameView&, TimeNs) override { return true; }
  void generate(traffic::Ports ports, TimeNs) override {
    ++iterations;
    for (std::size_t p = 0; p < ports.size(); ++p) {
      has[p] = ports[p] != nullptr;
    }
  }
  [[nodiscard]] traffic::Progress progress() const override { return {steps_for_each, 100}; }
  void agree(const traffic::Progress& all) override { farthest = all; }
  [[nodiscard]] TimeNs next_due() const override { return TimeNs{0}; }
  [[nodiscard]] bool drained(TimeNs) const override { return stopped; }
  [[nodiscard]] measure::Tally tally(TimeNs) const override {
    measure::Tally t;
    t.figures.push_back({"iterations", iterations});
    return t;
  }
  [[nodiscard]] std::string waiting_for(TimeNs) const override { return {}; }
  std::map<std::size_t, bool> has;
};

class WorkerPoolTest : public testing::Test {
protected:
  WorkerPoolTest() {
    for (int i = 0; i < 3; ++i) {
      links_.push_back(link::MemoryPort::joined(2048, {}));
      ports_.push_back(links_.back().first.get());
    }
  }
  WorkerPool::MakeTraffic maker() {
    return [this](const std::vector<bool>&) {
      auto traffic = std::make_unique<Running>(10 * (traffics_.size() + 1));
      traffics_.push_back(traffic.get());
      return traffic;
    };
  }
  /// Two workers, wherever the machine has a core.
  static std::vector<unsigned> two_cores() { return {0, 0}; }

  Clock clock_;
  std::vector<std::pair<std::unique_ptr<link::MemoryPort>, std::unique_ptr<link::MemoryPort>>>
      links_;
  std::vector<link::Port*> ports_;
  std::vector<Running*> traffics_;
};

TEST_F(WorkerPoolTest, PortsAreDealtToWorkersAndAllOfThemRun) {
  WorkerPool pool(maker(), ports_, clock_, true, two_cores());
  ASSERT_EQ(pool.size(), 2U);
  pool.start();
  pool.go();
  ASSERT_TRUE(eventually([&] {
    return pool.standing_still(
        [&] { return traffics_[0]->iterations > 10 && traffics_[1]->iterations > 10; });
  }));
  pool.standing_still([&] {
    EXPECT_EQ(traffics_[0]->has, (std::map<std::size_t, bool>{{0, true}, {1, false}, {2, true}}));
    EXPECT_EQ(traffics_[1]->has, (std::map<std::size_t, bool>{{0, false}, {1, true}, {2, false}}));
  });
}

TEST_F(WorkerPoolTest, NoWorkerRunsWhileAllArePaused) {
  WorkerPool pool(maker(), ports_, clock_, true, two_cores());
  pool.start();
  pool.go();
  for (int round = 0; round < 200; ++round) {
    pool.standing_still([&] {
      const std::uint64_t a = traffics_[0]->iterations;
      const std::uint64_t b = traffics_[1]->iterations;
      for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(pool.tally().figure("iterations"), a + b);
      }
    });
  }
}

TEST_F(WorkerPoolTest, AllAreToldHowFarTheFarthestWent) {
  WorkerPool pool(maker(), ports_, clock_, true, two_cores());
  pool.start();
  pool.go();
  pool.begin_measuring();
  pool.stop();
  pool.standing_still([&] {
    for (const Running* traffic : traffics_) {
      EXPECT_EQ(traffic->farthest, (traffic::Progress{20, 100}));
    }
  });
  EXPECT_TRUE(pool.drained());
}

/// Every received frame concerns the whole port.
class Listening final : public traffic::Traffic {
public:
  std::uint64_t received = 0;
  std::uint64_t overheard = 0;

  void start(TimeNs) override {}
  void begin_measuring(TimeNs) override {}
  void stop(TimeNs) override {}
  Reception receive(scenario::QueuePairIndex, const FrameView&, TimeNs) override {
    ++received;
    Reception reception = true;
    reception.concerns = Reception::Concerns::whole_port;
    return reception;
  }
  void overhear(scenario::QueuePairIndex, const FrameView&, TimeNs) override { ++overheard; }
  void generate(traffic::Ports, TimeNs) override {}
  [[nodiscard]] TimeNs next_due() const override { return TimeNs{0}; }
  [[nodiscard]] bool drained(TimeNs) const override { return true; }
  [[nodiscard]] measure::Tally tally(TimeNs) const override { return {}; }
  [[nodiscard]] std::string waiting_for(TimeNs) const override { return {}; }
};

TEST_F(WorkerPoolTest, WorkersOfOnePortHandEachOtherWhatConcernsIt) {
  std::vector<Listening*> listening;
  const auto make = [&](const std::vector<bool>&) {
    auto traffic = std::make_unique<Listening>();
    listening.push_back(traffic.get());
    return traffic;
  };
  // Queue pairs 0 and 1 are of one port, queue pair 2, the first worker's too, of another.
  for (const auto& link : links_) {
    for (int i = 0; i < 10; ++i) {
      ASSERT_NE(link.second->room(), nullptr);
      link.second->push(60);
    }
    link.second->flush();
  }
  WorkerPool pool(make, ports_, clock_, true, two_cores(), {0, 0, 1});
  EXPECT_TRUE(pool.shares_ports());
  pool.start();
  pool.go();
  ASSERT_TRUE(eventually([&] {
    return pool.standing_still(
        [&] { return listening[0]->overheard == 10 && listening[1]->overheard == 10; });
  }));
  pool.standing_still([&] {
    EXPECT_EQ(listening[0]->received, 20U);
    EXPECT_EQ(listening[1]->received, 10U);
    const auto counts = pool.counts_by_worker();
    EXPECT_EQ(counts[0].handed_on, 10U) << "what came in at the port of its own stays";
    EXPECT_EQ(counts[0].taken_over, 10U);
    EXPECT_EQ(counts[1].handed_on, 10U);
    EXPECT_EQ(pool.counts().hand_off_drops, 0U);
  });
}

TEST_F(WorkerPoolTest, NeverMoreWorkersThanPorts) {
  const WorkerPool pool(maker(), {ports_[0]}, clock_, false, two_cores());
  EXPECT_EQ(pool.size(), 1U);
}

TEST_F(WorkerPoolTest, CoreThatIsNotThereIsNamed) {
  WorkerPool pool(maker(), ports_, clock_, false, {1000});
  try {
    pool.start();
    FAIL() << "started";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("core 1000"), std::string::npos) << error.what();
  }
}

} // namespace
} // namespace tributary::pktgen::run
