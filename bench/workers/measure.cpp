#include "bench/workers/measure.hpp"

#include "dataplane/worker/tsc_clock.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <numeric>
#include <optional>
#include <thread>

#include <pthread.h>
#include <rte_lcore.h>
#include <rte_pause.h>
#include <sched.h>

namespace tributary::bench {
namespace {

/// Puts frames where a worker receives them.
using Send = void (Star::*)(std::size_t worker);

/// Iterations in a row in which no worker did anything before a round counts as done.
constexpr unsigned idle_rounds = 4;

/// One iteration, timed; true if it did something.
bool step(Star& star, std::size_t worker, std::uint64_t& cycles) {
  const core::Counter& busy = star.group().statistics(worker).busy_iterations;
  const std::uint64_t before = busy.read();
  const std::uint64_t begun = worker::TscClock::cycles();
  star.group().step(worker);
  const std::uint64_t took = worker::TscClock::cycles() - begun;
  if (busy.read() == before) {
    return false;
  }
  cycles += took;
  return true;
}

/// What is handed over and dropped from here on.
class Counted {
public:
  explicit Counted(const Star& star)
      : star_(star), handed_(star.crossings()), subtotals_(star.subtotals()),
        dropped_(star.drops()) {}
  void finish(Cost& cost) const {
    cost.handed_over = star_.crossings() - handed_;
    cost.subtotals = star_.subtotals() - subtotals_;
    cost.dropped = star_.drops() - dropped_;
  }

private:
  const Star& star_;
  std::uint64_t handed_;
  std::uint64_t subtotals_;
  std::uint64_t dropped_;
};

void step_all(Star& star, Send send, Cost& cost) {
  const Counted counted(star);
  cost.cycles.assign(star.shape().workers, 0);
  const auto step_until_idle = [&](std::size_t first, std::size_t last) {
    for (unsigned idle = 0; idle < idle_rounds;) {
      bool any = false;
      for (std::size_t w = first; w < last; ++w) {
        any |= step(star, w, cost.cycles[w]);
      }
      idle = any ? 0 : idle + 1;
    }
  };
  for (std::size_t w = 0; w < cost.cycles.size(); ++w) {
    (star.*send)(w);
    step_until_idle(w, w + 1);
  }
  step_until_idle(0, cost.cycles.size());
  counted.finish(cost);
}

void pin(std::size_t worker) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(worker % std::max(1U, std::thread::hardware_concurrency()), &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

/// What the threads of some rounds share.
class Together {
public:
  explicit Together(std::size_t workers) : failures(workers), progress_(workers) {}

  /// Returns when all have come. Quick, as the slowest one's begin is part of what is measured.
  void meet() {
    const std::size_t all = progress_.size();
    const std::size_t enough = (arrived_.fetch_add(1) / all + 1) * all;
    for (unsigned spins = 0; arrived_.load(std::memory_order_acquire) < enough; ++spins) {
      if (spins < patience) {
        rte_pause();
      } else {
        std::this_thread::yield(); // there are more threads than processors
      }
    }
  }

  /// Steps a worker until all have nothing more to do. All have met before.
  void run(Star& star, std::size_t worker, Cost& cost) {
    const std::uint64_t drained_cycles = rte_get_tsc_hz() / 1000; // staged frames have left by then
    Progress& own = progress_[worker];
    own.begun = worker::TscClock::cycles();
    own.last_busy.store(own.begun);
    std::uint64_t cycles = 0;
    std::uint64_t last_busy = own.begun;
    while (!done_.load(std::memory_order_relaxed)) {
      if (step(star, worker, cycles)) {
        last_busy = worker::TscClock::cycles();
        own.last_busy.store(last_busy, std::memory_order_relaxed);
      } else if (worker == 0) {
        // Whoever reads the counters of the others takes their cache lines away: only when all
        // seems done.
        const std::uint64_t now = worker::TscClock::cycles();
        done_ = now > last_busy + drained_cycles && star.idle() &&
                std::ranges::all_of(progress_, [&](const Progress& one) {
                  const std::uint64_t last = one.last_busy.load(std::memory_order_relaxed);
                  return now > last && now - last > drained_cycles;
                });
      }
    }
    cost.cycles[worker] = cycles;
    meet();
    if (worker == 0) {
      done_ = false;
      std::uint64_t begun = own.begun;
      std::uint64_t last = 0;
      for (const Progress& one : progress_) {
        begun = std::min(begun, one.begun);
        last = std::max(last, one.last_busy.load());
      }
      cost.wall_cycles = last - begun;
    }
    meet();
  }

  std::vector<std::exception_ptr> failures; ///< by worker

private:
  static constexpr unsigned patience = 10'000;
  struct alignas(64) Progress {
    std::atomic<std::uint64_t> last_busy{0};
    std::uint64_t begun = 0;
  };
  std::vector<Progress> progress_;
  alignas(64) std::atomic<std::size_t> arrived_{0};
  alignas(64) std::atomic<bool> done_{false};
};

/// One worker's part of the rounds.
void take_part(Star& star, std::size_t worker, Together& together, std::vector<Round>& rounds) {
  pin(worker);
  rte_thread_register();
  std::optional<Counted> counted; // by the first worker, for all
  const auto half = [&](Send send, Cost& cost) {
    if (worker == 0) {
      counted.emplace(star);
      cost.cycles.assign(star.shape().workers, 0);
    }
    try {
      (star.*send)(worker);
    } catch (...) {
      together.failures[worker] = std::current_exception();
    }
    together.meet();
    together.run(star, worker, cost);
    if (worker == 0) {
      counted->finish(cost);
    }
  };
  for (Round& round : rounds) {
    if (worker == 0) {
      star.begin();
    }
    together.meet();
    half(&Star::send_arms, round.arms);
    star.take_copies(worker);
    half(&Star::send_contributions, round.contributions);
    star.take_copies(worker);
    const Star::Results own = star.take_results(worker);
    std::atomic_ref(round.results) += own.frames;
    std::atomic_ref(round.whole) += own.whole;
    together.meet();
  }
  rte_thread_unregister();
}

} // namespace

std::uint64_t Cost::total() const {
  return std::accumulate(cycles.begin(), cycles.end(), std::uint64_t{0});
}
std::uint64_t Cost::busiest() const { return *std::ranges::max_element(cycles); }

Round simulate(Star& star) {
  Round round;
  star.begin();
  const std::size_t workers = star.shape().workers;
  step_all(star, &Star::send_arms, round.arms);
  for (std::size_t w = 0; w < workers; ++w) {
    star.take_copies(w);
  }
  step_all(star, &Star::send_contributions, round.contributions);
  for (std::size_t w = 0; w < workers; ++w) {
    star.take_copies(w);
    const Star::Results results = star.take_results(w);
    round.results += results.frames;
    round.whole += results.whole;
  }
  return round;
}

std::vector<Round> run_threads(Star& star, std::size_t count) {
  std::vector<Round> rounds(count);
  Together together(star.shape().workers);
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < star.shape().workers; ++w) {
    threads.emplace_back([&, w] { take_part(star, w, together, rounds); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::exception_ptr& failure : together.failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
  return rounds;
}

} // namespace tributary::bench
