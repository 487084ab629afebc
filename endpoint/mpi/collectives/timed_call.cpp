#include "endpoint/mpi/collectives/timed_call.hpp"

#include <chrono>
#include <utility>

namespace tributary::mpi::collectives {

namespace {

using Clock = std::chrono::steady_clock;

struct Running {
  Experiment* experiment = nullptr;
  Clock::time_point began;
};
thread_local Running running;

} // namespace

void TimedCall::begin(Experiment& experiment) {
  running = {.experiment = &experiment, .began = Clock::now()};
}

bool TimedCall::is_running() { return running.experiment != nullptr; }

TimedCall::~TimedCall() {
  if (Experiment* const experiment = std::exchange(running.experiment, nullptr);
      experiment != nullptr) {
    experiment->took(
        std::chrono::duration<double, std::micro>(Clock::now() - running.began).count());
  }
}

} // namespace tributary::mpi::collectives
