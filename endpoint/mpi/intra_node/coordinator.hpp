// The thread at rank 0's node that runs the agreement (model/agreement.hpp) over the connections of
// all leaders, its own among them. It sleeps in poll() until a leader sends a message.
#pragma once

#include "endpoint/mpi/intra_node/message_stream.hpp"
#include "endpoint/mpi/model/agreement.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tributary::mpi::intra_node {

class Coordinator {
public:
  /// `streams`, `leaders`: by node; "rank 4 on h2". `say` is called on its thread.
  Coordinator(std::deque<MessageStream> streams, std::vector<std::string> leaders,
              std::chrono::milliseconds grace, std::function<void(const std::string&)> say);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;
  /// Ends the thread and all connections.
  ~Coordinator();

private:
  void run();
  /// Says why, and ends all connections: the leaders notice that.
  void give_up(const std::string& why);
  void deliver(const std::vector<Agreement::Sending>& all);

  std::deque<MessageStream> streams_;
  Agreement agreement_;
  std::function<void(const std::string&)> say_; ///< prints a line for people
  StreamPair wake_ = connected_pair();
  std::thread thread_; ///< last: it uses all the others
};

} // namespace tributary::mpi::intra_node
