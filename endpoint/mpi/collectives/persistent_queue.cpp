#include "endpoint/mpi/collectives/persistent_queue.hpp"

#include "endpoint/mpi/collectives/calls.hpp"
#include "endpoint/mpi/collectives/runtime.hpp"
#include "endpoint/mpi/intra_node/quiet_thread.hpp"
#include "endpoint/mpi/model/plan.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

namespace tributary::mpi::collectives {

namespace {

constexpr std::chrono::microseconds shortest_pause{20};
constexpr std::chrono::microseconds longest_pause{2000};

constexpr std::uint64_t bit_of(unsigned number) { return std::uint64_t{1} << number; }

/// An in-place allreduce of the numbers.
intra_node::Call round_of(std::uint64_t& numbers) {
  static const Plan plan = plan_reduction(Operator::band, Element::uint64, {}).plan;
  return reduction_call(plan, &numbers, &numbers, 1);
}

} // namespace

PersistentQueue::PersistentQueue(Runtime& runtime, MPI_Comm comm, const std::string& name) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_split(comm, 0, rank,
                  &comm_); // not a copy, which would have the program's attributes
  PMPI_Comm_set_name(
      comm_, ("persistent operations of " + name).substr(0, MPI_MAX_OBJECT_NAME - 1).c_str());
  communicator_ = runtime.of(comm_);
  communicator_->set_up_without_choices();
  if (reason() == Reason::none) {
    thread_ = intra_node::quiet_thread([this] { work(); });
  }
}

PersistentQueue::~PersistentQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::optional<unsigned> PersistentQueue::take_number() {
  std::uint64_t free = 0;
  PMPI_Allreduce(&free_, &free, 1, MPI_UINT64_T, MPI_BAND, comm_);
  if (free == 0) {
    return std::nullopt;
  }
  const auto number = static_cast<unsigned>(std::countr_zero(free));
  free_ &= ~bit_of(number);
  return number;
}

void PersistentQueue::give_back(unsigned number) { free_ |= bit_of(number); }

bool PersistentQueue::start(unsigned number, const intra_node::Call& call,
                            std::function<void(bool)> done) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) {
      return false;
    }
    what_[number] = {.call = call, .done = std::move(done)};
    started_ |= bit_of(number);
  }
  changed_.notify_all();
  return true;
}

bool PersistentQueue::run(const intra_node::Call& call) {
  if (!communicator_->enter()) {
    return false;
  }
  communicator_->run_without_mpi(call);
  return true;
}

void PersistentQueue::answer(std::uint64_t numbers, bool made) {
  for (; numbers != 0; numbers &= numbers - 1) {
    const auto number = static_cast<unsigned>(std::countr_zero(numbers));
    std::function<void(bool)> done;
    {
      const std::lock_guard lock(mutex_);
      done = std::move(what_[number].done);
      started_ &= ~bit_of(number); // from here on it may be started again
    }
    done(made);
  }
  changed_.notify_all();
}

void PersistentQueue::work() {
  auto pause = shortest_pause;
  for (;;) {
    std::uint64_t numbers = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || started_ != 0; });
      if (started_ == 0) {
        return;
      }
      numbers = started_;
    }
    bool held = run(round_of(numbers));
    if (held && numbers == 0) {
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, longest_pause);
      continue;
    }
    pause = shortest_pause;
    for (; held && numbers != 0; numbers &= numbers - 1) {
      const auto number = static_cast<unsigned>(std::countr_zero(numbers));
      held = run(what_[number].call); // started operations do not change
      if (held) {
        answer(bit_of(number), true);
      }
    }
    if (!held) {
      std::uint64_t left = 0;
      {
        const std::lock_guard lock(mutex_);
        failed_ = true;
        left = started_;
      }
      answer(left, false);
    }
  }
}

void PersistentQueue::drain() {
  constexpr std::chrono::milliseconds while_idle{1};
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, while_idle, [this] { return started_ == 0; })) {
    lock.unlock();
    progress();
    lock.lock();
  }
}

void PersistentQueue::close(Communicator::End end) {
  drain();
  {
    const std::lock_guard lock(mutex_);
    failed_ = stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join(); // the thread uses the group
  }
  communicator_->retire(end);
  if (end == Communicator::End::freed) {
    PMPI_Comm_free(&comm_);
    communicator_ = nullptr;
  }
}

} // namespace tributary::mpi::collectives
