// For threads that a library starts: all signals are the program's business.
#pragma once

#include <signal.h>

namespace tributary::net {

/// While it lives no signal comes to this thread; a thread that is started meanwhile inherits that.
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
