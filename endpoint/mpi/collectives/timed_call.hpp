// Measures a blocking call of the program that belongs to an experiment (model/experiment.hpp):
// whichever way it goes, from the choice of the way to its return.
#pragma once

#include "endpoint/mpi/model/experiment.hpp"

#include <chrono>
#include <utility>

namespace tributary::mpi::collectives {

using Clock = std::chrono::steady_clock;
[[nodiscard]] inline double microseconds_since(Clock::time_point began) {
  return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
}

/// A front end puts one around each of its blocking calls.
class TimedCall {
public:
  TimedCall() = default;
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;
  ~TimedCall() {
    if (Experiment* const experiment = std::exchange(experiment_, nullptr)) {
      experiment->took(microseconds_since(began_));
    }
  }

  /// This thread's current call belongs to the experiment; its time begins.
  static void begin(Experiment& experiment) {
    experiment_ = &experiment;
    began_ = Clock::now();
  }
  /// Whether this thread's current call belongs to an experiment.
  [[nodiscard]] static bool is_running() { return experiment_ != nullptr; }

private:
  inline static thread_local Experiment* experiment_ = nullptr;
  inline static thread_local Clock::time_point began_;
};

} // namespace tributary::mpi::collectives
