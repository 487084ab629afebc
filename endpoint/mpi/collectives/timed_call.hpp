// Measures a blocking call of the program that belongs to an experiment (model/experiment.hpp):
// whichever way it goes, from the choice of the way to its return.
#pragma once

#include "endpoint/mpi/model/experiment.hpp"

namespace tributary::mpi::collectives {

/// A front end puts one around each of its blocking calls.
class TimedCall {
public:
  TimedCall() = default;
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;
  ~TimedCall();

  /// This thread's current call belongs to the experiment; its time begins.
  static void begin(Experiment& experiment);
  /// Whether this thread's current call belongs to an experiment.
  [[nodiscard]] static bool is_running();
};

} // namespace tributary::mpi::collectives
