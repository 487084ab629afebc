// How long a blocking call of the program takes, where it belongs to a trial (core/trial.hpp):
// whichever way it goes, from where that is chosen to its return.
#pragma once

#include "endpoint/mpi/model/trial.hpp"

namespace tributary::mpi::collectives {

/// A front end has one around each of its blocking calls.
class TimedCall {
public:
  TimedCall() = default;
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;
  ~TimedCall();

  /// The call that this thread is in belongs to the trial; its time begins.
  static void begin(Trial& trial);
  /// Whether the call that this thread is in belongs to one.
  [[nodiscard]] static bool is_running();
};

} // namespace tributary::mpi::collectives
