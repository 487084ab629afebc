// Measures a blocking call of the program that belongs to a trial (model/trial.hpp): whichever way
// it goes, from the choice of the way to its return.
#pragma once

#include "endpoint/mpi/model/trial.hpp"

namespace tributary::mpi::collectives {

/// A front end puts one around each of its blocking calls.
class TimedCall {
public:
  TimedCall() = default;
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;
  ~TimedCall();

  /// This thread's current call belongs to the trial; its time begins.
  static void begin(Trial& trial);
  /// Whether this thread's current call belongs to a trial.
  [[nodiscard]] static bool is_running();
};

} // namespace tributary::mpi::collectives
