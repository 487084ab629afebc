// Threads inside the user's program: they take no signal that is meant for it.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace tributary::mpi::intra_node {

template <typename Work> std::thread quiet_thread(Work&& work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::forward<Work>(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

} // namespace tributary::mpi::intra_node
