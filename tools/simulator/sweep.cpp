#include "tools/simulator/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <exception>
#include <mutex>
#include <thread>

namespace tributary::simulator {
namespace {

/// Time of this thread: other load on the machine does not count.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

} // namespace

std::vector<report::Point> sweep(const Prepared& prepared, std::span<const double> loads,
                                 unsigned jobs, const std::atomic<bool>& interrupted,
                                 const ShowProgress& show) {
  std::vector<report::Point> points(loads.size());
  std::vector<std::atomic<double>> shares(loads.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::condition_variable ended;
  std::exception_ptr failure;
  std::size_t left = 0;

  const auto work = [&] {
    for (std::size_t i = next++; i < loads.size() && !interrupted; i = next++) {
      try {
        const double begin = processor_seconds();
        points[i].result =
            experiment::run(prepared, loads[i], prepared.experiment().seed, [&](double share) {
              shares[i] = share;
              return !interrupted;
            });
        points[i].speed.seconds = processor_seconds() - begin;
        shares[i] = 1;
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = failure ? failure : std::current_exception();
        next = loads.size();
      }
    }
    const std::lock_guard lock(mutex);
    --left;
    ended.notify_one();
  };
  left = std::clamp<std::size_t>(jobs, 1, loads.size());
  std::vector<std::thread> threads;
  for (std::size_t i = left; i > 0; --i) {
    threads.emplace_back(work);
  }
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, std::chrono::milliseconds(100), [&] { return left == 0; })) {
    double sum = 0;
    for (const std::atomic<double>& share : shares) {
      sum += share;
    }
    show(sum / static_cast<double>(loads.size()));
  }
  lock.unlock();
  for (std::thread& thread : threads) {
    thread.join();
  }
  show(1);
  if (failure) {
    std::rethrow_exception(failure);
  }
  return points;
}

} // namespace tributary::simulator
