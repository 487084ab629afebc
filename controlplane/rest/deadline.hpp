// A time limit on whatever a connection does with its transport: when it is over, the operations
// under way are cancelled, and `expired` tells that from a client that went away. Event loop
// thread.
#pragma once

#include "controlplane/rest/transport.hpp"

#include <chrono>
#include <memory>

namespace tributary::rest {

class Deadline {
public:
  /// The transport outlives the deadline.
  explicit Deadline(Transport& transport);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  /// From now on, instead of the limit before.
  void arm(std::chrono::milliseconds limit);
  void disarm();
  /// Since the last `arm`.
  [[nodiscard]] bool expired() const;

private:
  struct State;
  std::shared_ptr<State> state_; ///< shared with the timer's handler
};

} // namespace tributary::rest
