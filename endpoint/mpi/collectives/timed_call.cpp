#include "endpoint/mpi/collectives/timed_call.hpp"

#include <chrono>
#include <utility>

namespace tributary::mpi::collectives {

namespace {

using Clock = std::chrono::steady_clock;

struct Running {
  Trial* trial = nullptr;
  Clock::time_point began;
};
thread_local Running running;

} // namespace

void TimedCall::begin(Trial& trial) { running = {.trial = &trial, .began = Clock::now()}; }

bool TimedCall::is_running() { return running.trial != nullptr; }

TimedCall::~TimedCall() {
  if (Trial* const trial = std::exchange(running.trial, nullptr); trial != nullptr) {
    trial->took(std::chrono::duration<double, std::micro>(Clock::now() - running.began).count());
  }
}

} // namespace tributary::mpi::collectives
