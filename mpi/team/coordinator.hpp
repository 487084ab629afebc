// The thread at rank 0's node that runs the agreement (core/agreement.hpp) over the connections of
// all leaders, its own among them. It sleeps in poll() until a leader says something.
#pragma once

#include "mpi/core/agreement.hpp"
#include "mpi/team/message_stream.hpp"

#include <chrono>
#include <deque>
#include <thread>

namespace tributary::mpi::team {

class Coordinator {
public:
  /// `streams`: by node.
  Coordinator(std::deque<MessageStream> streams, std::chrono::milliseconds grace);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;
  /// Ends the thread and all connections.
  ~Coordinator();

private:
  void run();
  void deliver(const std::vector<Agreement::Sending>& all);

  std::deque<MessageStream> streams_;
  Agreement agreement_;
  StreamPair wake_ = connected_pair();
  std::thread thread_; ///< last: it uses all the others
};

} // namespace tributary::mpi::team
