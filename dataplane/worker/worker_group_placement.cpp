// Which worker has which trees, changed while frames flow.
#include "dataplane/placement/frame_owner.hpp"
#include "dataplane/worker/worker_group.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

namespace tributary::worker {
namespace {

constexpr std::uint64_t balance_interval_ns = ns_per_second;

/// What was added since the last call, for each of a row of counters.
std::uint64_t added(std::uint64_t& before, std::uint64_t now) {
  return now - std::exchange(before, now);
}

} // namespace

std::size_t WorkerGroup::worker_for(std::size_t switch_index, PortNumber in,
                                    const core::FrameView& frame) {
  const std::size_t of_port = worker_of(switch_index, in);
  if (const placement::Placement* const placed = placement(switch_index)) {
    return placement::worker_of(frame.data, frame.length, *placed, of_port, of_port);
  }
  std::size_t worker = of_port;
  with_core(switch_index, of_port, [&](const core::SwitchCore& core) {
    worker = worker_of(switch_index, core.engine_port(in, frame));
  });
  return worker;
}

/// Makes each worker poll its own receive queue of a port, if it has one; or the port's worker all
/// of them. Those that stop do so first: a queue is never polled by two workers.
void WorkerGroup::poll_directly(std::size_t switch_index, PortNumber port, bool directly) {
  if (placement(switch_index) == nullptr || !switches_[switch_index].ports[port.value]->steered()) {
    return;
  }
  const std::size_t owner = worker_of(switch_index, port);
  const auto change = [&](std::size_t index) {
    Worker& worker = *workers_[index];
    worker.call([&] { worker.poll_directly(switch_index, port, directly); });
  };
  if (directly) {
    change(owner);
  }
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    if (index != owner) {
      change(index);
    }
  }
  if (!directly) {
    change(owner);
  }
}

/// Loses nothing, and needs no pause between reductions: the state of the engines goes first.
/// Frames that the old worker hands over meanwhile wait in the ring, which the new one reads once
/// it has the state; those of third workers go by the old one until these know.
void WorkerGroup::move(std::size_t switch_index, const placement::Move& move) {
  Worker& from = *workers_[move.from];
  Worker& to = *workers_[move.to];
  to.call([&] { to.leave_unread(move.from, true); });
  core::EngineState state;
  try {
    from.call([&] { state = from.give_out(switch_index, move.bucket, move.to); });
  } catch (...) {
    to.call([&] { to.leave_unread(move.from, false); });
    throw;
  }
  to.call([&] {
    to.take_in(switch_index, move.bucket, state);
    to.leave_unread(move.from, false);
  });
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    if (index != move.from && index != move.to) {
      Worker& other = *workers_[index];
      other.call([&] { other.place(switch_index, move.bucket, move.to); });
    }
  }
  balancers_[switch_index]->moved(move, clock_.now());
  for (port::PortDevice* const device : switches_[switch_index].ports) {
    device->place(balancers_[switch_index]->placement());
  }
}

/// What the workers did for a switch since the last call. Work for other switches, which the same
/// workers run, counts among that of no bucket.
placement::Load WorkerGroup::load_of(std::size_t switch_index, const std::vector<double>& busy) {
  Measured& before = measured_[switch_index];
  placement::Load load{
      .buckets = {}, .others = std::vector<std::uint64_t>(workers_.size()), .busy = busy};
  placement::for_each_bucket([&](placement::Bucket b) {
    std::uint64_t sum = 0;
    for (const auto& worker : workers_) {
      sum += worker->work_of(switch_index, b);
    }
    load.buckets[b.value] = added(before.buckets[b.value], sum);
  });
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    std::uint64_t sum = 0;
    for (std::size_t s = 0; s < switches_.size(); ++s) {
      if (balancers_[s] == nullptr) {
        continue;
      }
      sum += workers_[index]->other_work(s);
      placement::for_each_bucket([&](placement::Bucket b) {
        sum += s != switch_index ? workers_[index]->work_of(s, b) : 0;
      });
    }
    load.others[index] = added(before.others[index], sum);
  }
  return load;
}

void WorkerGroup::balance() {
  const TimeNs now = clock_.now();
  const std::uint64_t cycles = TscClock::cycles();
  if (elapsed_ns(now, balanced_) < balance_interval_ns) {
    return;
  }
  balanced_ = now;
  const std::uint64_t passed = added(balanced_cycles_, cycles);
  std::vector<double> busy;
  for (std::size_t index = 0; index < workers_.size(); ++index) {
    busy.push_back(std::min(
        1.0, static_cast<double>(added(busy_cycles_[index], statistics(index).busy_cycles.read())) /
                 static_cast<double>(passed)));
  }
  for (std::size_t s = 0; s < switches_.size(); ++s) {
    if (balancers_[s] == nullptr) {
      continue;
    }
    for (const placement::Move& one : balancers_[s]->plan(load_of(s, busy), now)) {
      spdlog::info(
          "switch {}: trees whose number modulo {} is {} move from worker {} ({:.0f} % busy) "
          "to worker {} ({:.0f} % busy)",
          switches_[s].name, placement::bucket_count, one.bucket.value, one.from,
          100 * busy[one.from], one.to, 100 * busy[one.to]);
      try {
        move(s, one);
      } catch (const std::bad_alloc&) {
        balancers_[s]->refused(one, now);
        spdlog::warn("switch {}: no memory to move them; they stay at worker {}", switches_[s].name,
                     one.from);
      }
    }
  }
}

} // namespace tributary::worker
