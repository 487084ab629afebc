// A time limit on a connection's transport operations: when it expires, pending operations are
// cancelled, and `expired` distinguishes that from a client that left. Event loop thread.
#pragma once

#include "controlplane/rest/transport.hpp"

#include <chrono>
#include <memory>

namespace tributary::rest {

class Deadline {
public:
  /// The transport must outlive the deadline.
  explicit Deadline(Transport& transport);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  /// Replaces the previous limit.
  void arm(std::chrono::milliseconds limit);
  void disarm();
  /// Since the last `arm`.
  [[nodiscard]] bool expired() const;

private:
  struct State;
  std::shared_ptr<State> state_; ///< shared with the timer's handler
};

} // namespace tributary::rest
