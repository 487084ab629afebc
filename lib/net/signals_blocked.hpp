// For threads started by libraries: signals are handled by the program.
#pragma once

#include <signal.h>

namespace tributary::net {

/// While it exists this thread receives no signals; threads started meanwhile inherit that.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
  sigset_t before_;
};

} // namespace tributary::net
