#include "endpoint/engine/loop.hpp"

#include "lib/link/wait.hpp"
#include "lib/net/file_descriptor.hpp"
#include "lib/net/signals_blocked.hpp"

#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace tributary::engine {

using link::LinkError;

namespace {

/// How long frames gather during a flood: each frame that wakes a process costs its sender, where
/// that is a neighbour in the same kernel, and its receiver, more than all else.
constexpr std::chrono::microseconds gathering{20};
/// This many frames in one round are a flood, if a protocol says so, too.
constexpr std::size_t flood = 8;
/// Rounds in a row: some thousand frames.
constexpr unsigned most_rounds = 32;
/// Polling interval of a link that has nothing to wait on.
constexpr std::uint64_t look_again_ns = 50'000;
/// Retry interval of a link that did not take all frames.
constexpr std::uint64_t offer_again_ns = ns_per_ms;
/// Retry interval of a link that is down.
constexpr std::uint64_t between_looks_ns = 10 * ns_per_ms;
/// How long the thread steps aside for callers; the longer, the longer they drive without a break.
constexpr std::uint64_t shortest_aside_ns = ns_per_ms;
constexpr std::uint64_t longest_aside_ns = 16 * ns_per_ms;

net::FileDescriptor event(const link::Port& port) {
  net::FileDescriptor fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!fd) {
    throw LinkError(LinkError::Kind::system, "no event descriptor for " + port.description() +
                                                 ": " + std::generic_category().message(errno));
  }
  return fd;
}

void raise(const net::FileDescriptor& event) {
  constexpr std::uint64_t once = 1;
  // write(2) fails only when the event is raised already.
  [[maybe_unused]] const ssize_t written = ::write(event.get(), &once, sizeof once);
}

void lower(const net::FileDescriptor& event) {
  std::uint64_t times = 0;
  [[maybe_unused]] const ssize_t got = ::read(event.get(), &times, sizeof times);
}

} // namespace

/// One per loop with its own thread. Separate from the loop, so that a child process can leave it
/// alone.
struct Loop::OwnThread {
  explicit OwnThread(const link::Port& port) : waker(event(port)), news(event(port)) {}

  std::mutex mutex; ///< guards the loop, its link and its protocols, and all members below
  /// The end of its sleep unless it is woken; zero while it is awake, or has stepped aside.
  TimeNs asleep_until{};
  bool news_wanted = false; ///< a caller has asked for `news`
  // Written under the mutex. The thread reads them without it while it has stepped aside: if it
  // waited for the mutex then, each caller that gives it back for a moment would have to wake it.
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> driven{0};  ///< number of drives by callers
  std::atomic<bool> caller_waits{false}; ///< a caller waits on the link
  net::FileDescriptor waker;
  net::FileDescriptor news;
  std::thread thread;

  void note_driven() {
    driven.store(driven.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Whether callers have driven since the last question.
  bool another_drives(std::uint64_t& seen) const {
    const std::uint64_t now = driven.load(std::memory_order_relaxed);
    return (std::exchange(seen, now) != now) || caller_waits.load(std::memory_order_relaxed);
  }
};

Loop::Loop(std::unique_ptr<link::Port> port, std::uint16_t ethertype, const Options& options)
    : port_(std::move(port)), engine_(*port_, ethertype), options_(options),
      wake_event_(event(*port_)) {
  if (options_.own_thread) {
    begin_thread();
  }
}

Loop::~Loop() { end_thread(); }

bool Loop::end_thread() {
  return thread_.end([](OwnThread& own) {
    {
      const std::lock_guard held(own.mutex);
      own.stop = true;
      raise(own.waker);
    }
    own.thread.join();
  });
}

Loop::Lock Loop::lock() const { return thread_ ? Lock(thread_->mutex) : Lock(); }

void Loop::wake() {
  const std::lock_guard held(wake_mutex_);
  if (!is_woken()) {
    woken_.store(true, std::memory_order_release);
    raise(wake_event_);
  }
}

bool Loop::take_wake() {
  if (!is_woken()) {
    return false;
  }
  const std::lock_guard held(wake_mutex_); // flag and event change together, so none is lost
  woken_.store(false, std::memory_order_release);
  lower(wake_event_);
  return true;
}

bool Loop::has_news() { return port_->may_receive() || (may_wake_ && is_woken()); }

void Loop::throw_if_broken() const {
  if (broken_) {
    throw LinkError(*broken_);
  }
}

bool Loop::progress() {
  if (thread_ && thread_->news_wanted) {
    lower(thread_->news);
  }
  if (thread_) {
    thread_->note_driven();
  }
  const bool more = rounds();
  wake_thread_if_needed();
  return more;
}

bool Loop::rounds() {
  throw_if_broken();
  more_ = false;
  gathers_ = false;
  std::size_t received = 0;
  try {
    for (unsigned n = 0; n < most_rounds; ++n) {
      const Engine::Round round = engine_.round(net::steady_now());
      received += round.received;
      if (!round.again) {
        gathers_ = received >= flood && engine_.is_flooded();
        return false;
      }
    }
    return more_ = true;
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
    // The frames are kept, so the next round meets the same error.
  }
  wake_thread_if_needed();
}

TimeNs Loop::due_from(TimeNs now) const {
  const TimeNs due = engine_.next_deadline();
  if (port_->fd() < 0) {
    return std::min(due, now + look_again_ns); // no descriptor to wait on
  }
  // Not every descriptor signals that there is room again.
  return engine_.has_to_send() ? std::min(due, now + offer_again_ns) : due;
}

bool Loop::spin(Lock& lock, TimeNs begin, TimeNs end) {
  for (TimeNs looked = begin;;) {
    if (has_news()) {
      guard_.undisturbed();
      return true;
    }
    if (looked >= end) {
      guard_.undisturbed();
      return false;
    }
    const TimeNs back = yield(lock);
    if (guard_.was_away(elapsed_ns(back, looked))) {
      return has_news();
    }
    looked = back;
  }
}

bool Loop::look_for_peers(Lock& lock, TimeNs begin, TimeNs end) {
  const bool may_spin = end > begin && burst_guard_.may_spin();
  for (TimeNs looked = begin;;) {
    const TimeNs back = yield(lock);
    const std::uint64_t away_ns = elapsed_ns(back, looked);
    const bool slice = may_spin && burst_guard_.was_away(away_ns);
    if (yield_guard_.was_away(away_ns)) {
      return has_news();
    }
    const bool found = has_news();
    if (found || slice || !may_spin || back >= end) {
      yield_guard_.undisturbed();
      if (may_spin && !slice) {
        burst_guard_.undisturbed();
      }
      return found;
    }
    looked = back;
  }
}

TimeNs Loop::yield(Lock& lock) {
  // Others may want the lock, too: with more programs than processors, they may be the ones that
  // send the awaited frame.
  const bool locked = lock.owns_lock();
  if (locked) {
    lock.unlock();
  }
  std::this_thread::yield();
  if (locked) {
    lock.lock();
  }
  return net::steady_now();
}

void Loop::give_way(Lock& lock) {
  if (lock.owns_lock()) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
}

void Loop::gather(Lock& lock) {
  gathers_ = false;
  if (thread_) {
    thread_->caller_waits = true;
    lock.unlock();
  }
  std::this_thread::sleep_for(gathering);
  if (thread_) {
    lock.lock();
    thread_->caller_waits = false;
    thread_->note_driven();
  }
}

void Loop::pause(Lock& lock, TimeNs deadline, Wait wait) {
  const bool may_spin = options_.spin_ns != 0 && (wait == Wait::short_one || !options_.only_short);
  if (gathers_ && !may_spin) {
    gather(lock);
    return;
  }
  const TimeNs begin = net::steady_now();
  const TimeNs due = std::min(deadline, due_from(begin));
  if (thread_) {
    thread_->caller_waits = true;
  }
  const bool spins = may_spin && guard_.may_spin();
  // A process woken by the first frame of many takes the processor from their sender, and has to be
  // woken again for the next ones.
  const bool looks = !may_spin && options_.spin_ns != 0 &&
                     (wait == Wait::burst || wait == Wait::vector) && yield_guard_.may_spin();
  const bool found = (spins && spin(lock, begin, std::min(begin + options_.spin_ns, due))) ||
                     (looks && look_for_peers(lock, begin, std::min(begin + look_ns(wait), due)));
  if (!found) {
    const bool to_send = engine_.has_to_send();
    if (thread_) {
      lock.unlock();
    }
    link::wait(port_->fd(), elapsed_ns(due, spins || looks ? net::steady_now() : begin), to_send,
               may_wake_ ? wake_event_.get() : -1);
    if (thread_) {
      lock.lock();
    }
  }
  if (thread_) {
    thread_->caller_waits = false;
    thread_->note_driven();
  }
}

void Loop::ride_out(Lock& lock, const LinkError& error) {
  if (error.kind() != LinkError::Kind::interface_down) {
    throw LinkError(error);
  }
  const bool locked = lock.owns_lock();
  if (locked) {
    lock.unlock();
  }
  std::this_thread::sleep_for(std::chrono::nanoseconds(between_looks_ns));
  if (locked) {
    lock.lock();
  }
}

int Loop::fd() const {
  if (!thread_) {
    return port_->fd();
  }
  if (!std::exchange(thread_->news_wanted, true)) {
    raise(thread_->news); // for events before the call
  }
  return thread_->news.get();
}

TimeNs Loop::next_call() const {
  if (thread_) {
    return never;
  }
  if (more_) {
    return net::steady_now();
  }
  if (engine_.has_to_send()) {
    constexpr std::uint64_t soon_ns = 100'000; // the kernel's queue was full
    return net::steady_now() + soon_ns;
  }
  return engine_.next_deadline();
}

void Loop::begin_thread() {
  if (thread_) {
    return;
  }
  thread_.set(std::make_unique<OwnThread>(*port_));
  const net::SignalsBlocked blocked; // the new thread inherits it
  try {
    thread_->thread = std::thread([this] { run_thread(); });
  } catch (const std::system_error& error) {
    thread_.set(nullptr);
    throw LinkError(LinkError::Kind::system,
                    "no thread for " + port_->description() + ": " + error.what());
  }
}

void Loop::wake_thread_if_needed() {
  if (!thread_ || thread_->asleep_until == TimeNs{}) {
    return;
  }
  if (engine_.next_deadline() < thread_->asleep_until || engine_.has_to_send()) {
    thread_->asleep_until = {}; // to wake it once is enough
    raise(thread_->waker);
  }
}

void Loop::run_thread() {
  OwnThread& self = *thread_;
  static_cast<void>(::prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL)); // applies to this thread
                                                                        // only
  Lock held(self.mutex);
  std::uint64_t driven_seen = 0;
  std::uint64_t aside_ns = shortest_aside_ns;
  while (!self.stop) {
    if (self.another_drives(driven_seen)) {
      held.unlock();
      do {
        link::wait(-1, aside_ns, false, self.waker.get());
        aside_ns = std::min(2 * aside_ns, longest_aside_ns);
      } while (!self.stop && self.another_drives(driven_seen));
      held.lock();
      continue;
    }
    aside_ns = shortest_aside_ns;
    const TimeNs due = drive_from_thread();
    const bool more = due == TimeNs{};
    const bool gathers = std::exchange(gathers_, false);
    const bool looks = self.asleep_until != TimeNs{};
    const bool to_send = looks && engine_.has_to_send();
    held.unlock();
    if (more) {
      std::this_thread::yield();
    } else if (gathers) {
      std::this_thread::sleep_for(gathering);
    } else {
      link::wait(looks ? port_->fd() : -1, elapsed_ns(due, net::steady_now()), to_send,
                 self.waker.get());
    }
    held.lock();
    if (std::exchange(self.asleep_until, TimeNs{}) == TimeNs{} && !more) {
      lower(self.waker);
    }
  }
}

TimeNs Loop::drive_from_thread() {
  OwnThread& self = *thread_;
  TimeNs due = never; // once the link is gone the only thing left is to end
  try {
    due = rounds() ? TimeNs{} : due_from(net::steady_now());
    self.asleep_until = due;
  } catch (const LinkError&) {
    // The next caller gets it as well.
    if (!broken_) {
      due = net::steady_now() + between_looks_ns;
    }
  }
  if (self.news_wanted) {
    raise(self.news);
  }
  return due;
}

} // namespace tributary::engine
