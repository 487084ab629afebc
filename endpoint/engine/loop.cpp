#include "endpoint/engine/loop.hpp"

#include "link/wait.hpp"
#include "net/file_descriptor.hpp"
#include "net/signals_blocked.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <system_error>
#include <thread>
#include <utility>

namespace tributary::engine {

using link::LinkError;

namespace {

/// At a link that has nothing to wait on.
constexpr std::uint64_t look_again_ns = 50'000;
/// At a link that is down.
constexpr std::chrono::milliseconds between_looks{10};
/// The thread sleeps no longer than that after a frame, so that operations which follow each other
/// need not wake it for their deadlines.
constexpr std::uint64_t busy_sleep_ns = 20 * ns_per_ms;

net::FileDescriptor event(const link::Port& port) {
  net::FileDescriptor fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!fd) {
    throw LinkError(LinkError::Kind::system, "no event descriptor for the thread of " +
                                                 port.description() + ": " +
                                                 std::generic_category().message(errno));
  }
  return fd;
}

void raise(const net::FileDescriptor& event) {
  constexpr std::uint64_t once = 1;
  // It fails when it is raised as high as it goes, and then it is raised.
  static_cast<void>(::write(event.get(), &once, sizeof once));
}

void lower(const net::FileDescriptor& event) {
  std::uint64_t times = 0;
  static_cast<void>(::read(event.get(), &times, sizeof times));
}

} // namespace

/// One per loop that has a thread of its own. Apart from the loop, so that a child process can
/// leave it alone.
struct Loop::OwnThread {
  explicit OwnThread(const link::Port& port) : waker(event(port)), news(event(port)) {}

  const pid_t process = ::getpid();
  std::mutex mutex; ///< of the loop, its link and its protocols, and of all that follows
  std::condition_variable changed; ///< the thread did something
  bool stop = false;
  /// Until when it sleeps unless it is woken; zero while it is awake.
  TimeNs asleep_until{};
  std::uint64_t errors = 0; ///< of the link, that it met
  std::optional<LinkError> last_error;
  bool news_wanted = false; ///< somebody asked for `news`
  net::FileDescriptor waker;
  net::FileDescriptor news;
  std::thread thread;
  OwnThread* next_abandoned = nullptr;
};

Loop::Loop(std::unique_ptr<link::Port> port, std::uint16_t ethertype, const Options& options)
    : port_(std::move(port)), engine_(*port_, ethertype), options_(options) {
  if (options_.own_thread) {
    start_thread();
  }
}

Loop::~Loop() { end_thread(); }

void Loop::end_thread() {
  if (!thread_) {
    return;
  }
  if (::getpid() != thread_->process) {
    // Kept reachable, so that leak checkers see that it is meant.
    static OwnThread* abandoned = nullptr;
    thread_->next_abandoned = abandoned;
    abandoned = thread_.release();
    return;
  }
  {
    const auto held = lock();
    thread_->stop = true;
    raise(thread_->waker);
  }
  thread_->thread.join();
  thread_.reset();
}

Loop::Lock Loop::lock() const { return thread_ ? Lock(thread_->mutex) : Lock(); }

void Loop::throw_if_broken() const {
  if (broken_) {
    throw LinkError(*broken_);
  }
}

void Loop::progress() {
  if (thread_ && thread_->news_wanted) {
    lower(thread_->news);
  }
  rounds();
  wake_thread_if_needed();
}

void Loop::rounds() {
  throw_if_broken();
  try {
    Engine::Round round;
    do {
      round = engine_.round(net::steady_now());
      frames_received_ += round.received;
    } while (round.again);
  } catch (const LinkError& error) {
    if (error.kind() != LinkError::Kind::interface_down) {
      broken_ = error;
    }
    throw;
  }
}

void Loop::send(Protocol& protocol) {
  try {
    engine_.send(protocol);
  } catch (const LinkError&) {
    // The frames stay, so the next round meets the same error.
  }
  wake_thread_if_needed();
}

std::uint64_t Loop::errors() const { return thread_ ? thread_->errors : 0; }

void Loop::Watch::progress() {
  if (!loop_->thread_) {
    loop_->rounds();
    return;
  }
  loop_->throw_if_broken();
  const OwnThread& thread = *loop_->thread_;
  if (std::exchange(errors_, thread.errors) != thread.errors) {
    throw LinkError(*thread.last_error);
  }
}

TimeNs Loop::due_from(TimeNs now) const {
  const TimeNs due = engine_.next_deadline();
  // Where there is nothing to wait on one has to look.
  return port_->fd() < 0 ? std::min(due, now + look_again_ns) : due;
}

bool Loop::spin(Lock& lock, TimeNs end) {
  while (net::steady_now() < end) {
    if (link::readable(port_->fd())) {
      return true;
    }
    // Others may want the processor, and the lock: where there are more programs than processors,
    // what is waited for is theirs to send.
    const bool locked = lock.owns_lock();
    if (locked) {
      lock.unlock();
    }
    std::this_thread::yield();
    if (locked) {
      lock.lock();
    }
  }
  return false;
}

void Loop::pause(Lock& lock, TimeNs deadline) {
  if (thread_) {
    wake_thread_if_needed();
    if (deadline == never) {
      thread_->changed.wait(lock);
    } else {
      thread_->changed.wait_until(lock, net::time_point_of(deadline));
    }
    return;
  }
  const TimeNs begin = net::steady_now();
  const TimeNs due = std::min(deadline, due_from(begin));
  if (options_.spin_ns > 0 && spin(lock, std::min(begin + options_.spin_ns, due))) {
    return;
  }
  link::wait(port_->fd(), elapsed_ns(due, net::steady_now()), engine_.has_to_send());
}

void Loop::ride_out(Lock& lock, const LinkError& error) {
  if (error.kind() != LinkError::Kind::interface_down) {
    throw LinkError(error);
  }
  const bool locked = lock.owns_lock();
  if (locked) {
    lock.unlock();
  }
  std::this_thread::sleep_for(between_looks);
  if (locked) {
    lock.lock();
  }
}

int Loop::fd() const {
  if (!thread_) {
    return port_->fd();
  }
  if (!std::exchange(thread_->news_wanted, true)) {
    raise(thread_->news); // of what was before
  }
  return thread_->news.get();
}

TimeNs Loop::next_call() const {
  if (thread_) {
    return never;
  }
  if (engine_.has_to_send()) {
    constexpr std::uint64_t soon_ns = 100'000; // the kernel's queue was full
    return net::steady_now() + soon_ns;
  }
  return engine_.next_deadline();
}

void Loop::start_thread() {
  thread_ = std::make_unique<OwnThread>(*port_);
  const net::SignalsBlocked blocked; // the new thread inherits it
  try {
    thread_->thread = std::thread([this] { run_thread(); });
  } catch (const std::system_error& error) {
    throw LinkError(LinkError::Kind::system,
                    "no thread for " + port_->description() + ": " + error.what());
  }
}

void Loop::wake_thread_if_needed() {
  if (!thread_ || thread_->asleep_until == TimeNs{}) {
    return;
  }
  if (engine_.next_deadline() < thread_->asleep_until || engine_.has_to_send()) {
    thread_->asleep_until = {}; // once is enough
    raise(thread_->waker);
  }
}

void Loop::run_thread() {
  OwnThread& self = *thread_;
  Lock held(self.mutex);
  std::uint64_t frames_seen = 0;
  while (!self.stop) {
    bool down = false;
    try {
      rounds();
    } catch (const LinkError& error) {
      ++self.errors;
      self.last_error = error;
      down = true;
    }
    self.changed.notify_all();
    if (self.news_wanted) {
      raise(self.news);
    }
    const TimeNs now = net::steady_now();
    TimeNs due = due_from(now);
    if (std::exchange(frames_seen, frames_received_) != frames_received_) {
      due = std::min(due, now + busy_sleep_ns);
    }
    if (broken_) {
      due = never; // nothing is left to do but to end
    } else if (down) {
      due = now + static_cast<std::uint64_t>(
                      std::chrono::duration_cast<std::chrono::nanoseconds>(between_looks).count());
    } else if (options_.spin_ns > 0 && spin(held, std::min(now + options_.spin_ns, due))) {
      continue;
    }
    const bool to_send = !down && !broken_ && engine_.has_to_send();
    const int link = down || broken_ ? -1 : port_->fd();
    self.asleep_until = down || broken_ ? TimeNs{} : due;
    held.unlock();
    link::wait(link, elapsed_ns(due, net::steady_now()), to_send, self.waker.get());
    held.lock();
    if (std::exchange(self.asleep_until, TimeNs{}) == TimeNs{}) {
      lower(self.waker);
    }
  }
}

} // namespace tributary::engine
