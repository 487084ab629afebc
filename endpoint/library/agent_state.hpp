// What the background agents of a host have in common: a thread that talks to the fabric manager,
// and is ended together with a call in progress.
#pragma once

#include "endpoint/manager_client/manager_client.hpp"
#include "lib/net/signals_blocked.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tributary::library {

struct AgentState {
  /// `run` returns soon after `stop`.
  template <typename Run> void begin(Run run) {
    const net::SignalsBlocked blocked; // the new thread inherits it
    thread = std::thread(std::move(run));
  }
  /// Call it before the state is destroyed.
  void end() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
      if (calling != nullptr) {
        calling->cancel();
      }
    }
    changed.notify_all();
    thread.join();
  }

  mutable std::mutex mutex; ///< guards all members but the thread
  std::condition_variable changed;
  bool stop = false;
  manager_client::ManagerClient* calling = nullptr; ///< has a call in progress

private:
  std::thread thread;
};

} // namespace tributary::library
