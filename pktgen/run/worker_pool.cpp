#include "pktgen/run/worker_pool.hpp"

#include "pktgen/run/core_guard.hpp"

#include <rte_lcore.h>

#include <fmt/format.h>

#include <pthread.h>

#include <algorithm>
#include <future>
#include <optional>
#include <stdexcept>

namespace tributary::pktgen::run {

WorkerPool::WorkerPool(const MakeTraffic& make, const std::vector<link::Port*>& ports,
                       const Clock& clock, bool busy, const std::vector<unsigned>& cores,
                       std::vector<scenario::PortIndex> port_of_queue_pair,
                       std::size_t longest_handed)
    : clock_(clock), cores_(cores),
      workers_(std::clamp<std::size_t>(cores.size(), 1, std::max<std::size_t>(ports.size(), 1))) {
  std::vector<std::size_t> worker_of_queue_pair(ports.size());
  for (scenario::QueuePairIndex queue_pair = 0; queue_pair < ports.size(); ++queue_pair) {
    worker_of_queue_pair[queue_pair] = worker_of(queue_pair);
  }
  if (!port_of_queue_pair.empty()) {
    auto hand_off =
        std::make_unique<HandOff>(worker_of_queue_pair, port_of_queue_pair, longest_handed);
    hand_off_ = hand_off->is_needed() ? std::move(hand_off) : nullptr;
  }
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    std::vector<link::Port*> mine(ports.size());
    std::vector<bool> elsewhere(ports.size());
    for (scenario::QueuePairIndex queue_pair = 0; queue_pair < ports.size(); ++queue_pair) {
      elsewhere[queue_pair] = worker_of_queue_pair[queue_pair] != w;
      mine[queue_pair] = elsewhere[queue_pair] ? nullptr : ports[queue_pair];
    }
    Worker& worker = workers_[w];
    worker.traffic = make(elsewhere);
    worker.driver =
        std::make_unique<Driver>(*worker.traffic, std::move(mine), clock, busy, hand_off_.get(), w);
  }
}

WorkerPool::~WorkerPool() {
  command(Command::end);
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) {
      worker.thread.join();
    }
  }
}

// Pausing is Dekker's handshake: the caller writes the command and then reads which workers have
// stopped, a worker announces that it runs and then reads the command. So all of that is
// sequentially consistent.

void WorkerPool::command(Command command) {
  command_.store(command);
  command_.notify_all();
}

void WorkerPool::work(Worker& worker) {
  while (true) {
    standing_.fetch_add(1);
    Command now = command_.load();
    while (now == Command::pause) {
      command_.wait(Command::pause);
      now = command_.load();
    }
    if (now == Command::end) {
      return; // it counts as stopped for good
    }
    standing_.fetch_sub(1);
    worker.driver->run_until([this](TimeNs) { return command_.load() != Command::run; });
  }
}

void WorkerPool::start() {
  const TimeNs now = clock_.now();
  for (std::size_t w = 0; w < workers_.size(); ++w) {
    Worker& worker = workers_[w];
    worker.traffic->start(now);
    std::promise<void> ready;
    auto began = ready.get_future();
    worker.thread = std::thread([this, w, &worker, promise = std::move(ready)]() mutable {
      std::optional<CoreGuard> on_its_core;
      try {
        on_its_core.emplace(std::span(cores_).subspan(std::min(w, cores_.size())));
        promise.set_value();
      } catch (...) {
        promise.set_exception(std::current_exception());
        standing_.fetch_add(1);
        return;
      }
      ::pthread_setname_np(::pthread_self(), fmt::format("generator-{}", w).c_str());
      // For a buffer cache of its own; not needed without DPDK.
      const bool known_to_dpdk = rte_thread_register() == 0;
      try {
        work(worker);
      } catch (...) {
        if (!failing_.exchange(true)) {
          failure_ = std::current_exception();
          failed_.store(true);
        }
        standing_.fetch_add(1);
      }
      if (known_to_dpdk) {
        rte_thread_unregister();
      }
    });
    began.get();
  }
  pause();
}

void WorkerPool::go() {
  running_ = true;
  command(Command::run);
}

void WorkerPool::halt() noexcept {
  running_ = false;
  command(Command::pause);
  while (standing_.load() < workers_.size()) {
    std::this_thread::yield();
  }
}

void WorkerPool::give_up() noexcept {
  halt();
  const TimeNs end = clock_.now() + giving_up_ns;
  for (Worker& worker : workers_) {
    try {
      while (!worker.driver->give_up() && clock_.now() < end) {
        std::this_thread::yield();
      }
    } catch (const std::exception&) {
      // Its port is down or gone: nothing can be sent through it.
    }
  }
}

void WorkerPool::check() {
  if (running_ && failed_.load()) {
    pause();
  }
}

void WorkerPool::pause() {
  halt();
  if (failed_.load()) {
    std::rethrow_exception(failure_);
  }
}

void WorkerPool::agree() {
  traffic::Progress farthest;
  for (const Worker& worker : workers_) {
    const traffic::Progress one = worker.traffic->progress();
    farthest.resize(std::max(farthest.size(), one.size()));
    for (std::size_t i = 0; i < one.size(); ++i) {
      farthest[i] = std::max(farthest[i], one[i]);
    }
  }
  for (Worker& worker : workers_) {
    worker.traffic->agree(farthest);
  }
}

TimeNs WorkerPool::begin_measuring(std::uint64_t operations) {
  return standing_still([&] {
    const TimeNs now = clock_.now();
    agree();
    for (Worker& worker : workers_) {
      worker.traffic->limit(operations);
      worker.traffic->begin_measuring(now);
      worker.driver->reset();
    }
    return now;
  });
}

TimeNs WorkerPool::stop() {
  return standing_still([&] {
    const TimeNs now = clock_.now();
    agree();
    for (Worker& worker : workers_) {
      worker.traffic->stop(now);
    }
    return now;
  });
}

bool WorkerPool::drained() {
  return standing_still([&] {
    const TimeNs now = clock_.now();
    return std::ranges::all_of(workers_, [&](const Worker& w) { return w.traffic->drained(now); });
  });
}

bool WorkerPool::exhausted() {
  return standing_still([&] {
    return std::ranges::all_of(workers_, [](const Worker& w) { return w.traffic->exhausted(); });
  });
}

measure::Tally WorkerPool::tally() {
  return standing_still([&] {
    const TimeNs now = clock_.now();
    measure::Tally sum;
    for (const Worker& worker : workers_) {
      sum.merge(worker.traffic->tally(now));
    }
    return sum;
  });
}

std::vector<DriverCounts> WorkerPool::counts_by_worker() {
  return standing_still([&] {
    std::vector<DriverCounts> counts;
    for (const Worker& worker : workers_) {
      counts.push_back(worker.driver->counts());
    }
    return counts;
  });
}

DriverCounts WorkerPool::counts() {
  DriverCounts sum;
  for (const DriverCounts& worker : counts_by_worker()) {
    sum += worker;
  }
  return sum;
}

std::string WorkerPool::waiting_for() {
  return standing_still([&] {
    const TimeNs now = clock_.now();
    for (const Worker& worker : workers_) {
      if (std::string waiting = worker.traffic->waiting_for(now); !waiting.empty()) {
        return waiting;
      }
    }
    return std::string();
  });
}

} // namespace tributary::pktgen::run
