// Runs a manager's background work: immediately, or when a test says so.
#pragma once

#include "controlplane/turns/background_work.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace tributary::manager {

class Worker {
public:
  using Back = std::function<void(std::unique_ptr<turns::BackgroundWork>)>;
  explicit Worker(Back back) : back_(std::move(back)) {}

  void work(std::unique_ptr<turns::BackgroundWork> piece) {
    waiting.push_back(std::move(piece));
    if (!is_slow) {
      come_to_it();
    }
  }
  /// Runs everything submitted.
  void come_to_it() {
    while (!waiting.empty()) {
      std::unique_ptr<turns::BackgroundWork> piece = std::move(waiting.front());
      waiting.pop_front();
      runs = true;
      piece->run();
      runs = false;
      back_(std::move(piece));
    }
  }

  bool is_slow = false; ///< pieces wait for `come_to_it`
  bool runs = false;    ///< a piece
  std::deque<std::unique_ptr<turns::BackgroundWork>> waiting;

private:
  Back back_;
};

} // namespace tributary::manager
