#include "bench/workers/measure.hpp"

#include "dataplane/worker/tsc_clock.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <numeric>
#include <thread>

#include <pthread.h>
#include <rte_lcore.h>
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

/// Runs `work`, and records what was handed over and dropped meanwhile.
void counted(const Star& star, Cost& cost, const std::function<void()>& work) {
  const std::uint64_t handed = star.crossings();
  const std::uint64_t subtotals = star.subtotals();
  const std::uint64_t dropped = star.drops();
  work();
  cost.handed_over = star.crossings() - handed;
  cost.subtotals = star.subtotals() - subtotals;
  cost.dropped = star.drops() - dropped;
}

void step_all(Star& star, Send send, Cost& cost) {
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
}

void pin(std::size_t worker) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(worker % std::max(1U, std::thread::hardware_concurrency()), &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

void step_threads(Star& star, Send send, Cost& cost) {
  const std::size_t workers = star.shape().workers;
  cost.cycles.assign(workers, 0);
  struct alignas(64) Progress {
    std::atomic<std::uint64_t> last_busy{0};
  };
  std::vector<Progress> progress(workers);
  std::vector<std::exception_ptr> failures(workers);
  std::atomic<std::size_t> ready{0};
  std::atomic<std::uint64_t> begun{0};
  std::atomic<bool> done{false};
  const auto body = [&](std::size_t w) {
    pin(w);
    rte_thread_register();
    try {
      (star.*send)(w);
    } catch (...) {
      failures[w] = std::current_exception();
    }
    ready.fetch_add(1);
    while (ready.load() != workers) {
    }
    std::uint64_t expected = 0;
    begun.compare_exchange_strong(expected, worker::TscClock::cycles());
    progress[w].last_busy.store(worker::TscClock::cycles());
    std::uint64_t own_last_busy = worker::TscClock::cycles();
    const std::uint64_t drained_cycles = rte_get_tsc_hz() / 1000; // staged frames have left by then
    while (!done.load(std::memory_order_relaxed)) {
      if (step(star, w, cost.cycles[w])) {
        own_last_busy = worker::TscClock::cycles();
        progress[w].last_busy.store(own_last_busy, std::memory_order_relaxed);
      } else if (w == 0) {
        // Whoever reads the counters of the others takes their cache lines away: only when all
        // seems done.
        const std::uint64_t now = worker::TscClock::cycles();
        done = now > own_last_busy + drained_cycles && star.idle() &&
               std::ranges::all_of(progress, [&](const Progress& one) {
                 const std::uint64_t last = one.last_busy.load(std::memory_order_relaxed);
                 return now > last && now - last > drained_cycles;
               });
      }
    }
    rte_thread_unregister();
  };
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < workers; ++w) {
    threads.emplace_back(body, w);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
  std::uint64_t last = begun;
  for (const Progress& one : progress) {
    last = std::max(last, one.last_busy.load());
  }
  cost.wall_cycles = last - begun;
}

Round round(Star& star, void (*run)(Star&, Send, Cost&)) {
  Round r;
  star.begin();
  counted(star, r.arms, [&] { run(star, &Star::send_arms, r.arms); });
  star.take_copies();
  counted(star, r.contributions, [&] { run(star, &Star::send_contributions, r.contributions); });
  star.take_copies();
  const Star::Results results = star.take_results();
  r.results = results.frames;
  r.whole = results.whole;
  return r;
}

} // namespace

std::uint64_t Cost::total() const {
  return std::accumulate(cycles.begin(), cycles.end(), std::uint64_t{0});
}
std::uint64_t Cost::busiest() const { return *std::ranges::max_element(cycles); }

Round simulate(Star& star) { return round(star, step_all); }
Round run_threads(Star& star) { return round(star, step_threads); }

} // namespace tributary::bench
