// The shell around an engine: owns its link, asks the clock, and waits. Progress is made on the
// caller's thread, or on a thread of the loop's own as well.
//
//   Loop loop(std::make_unique<link::RawSocket>(...), ethertype, {});
//   {
//     auto lock = loop.lock();                     for all that touches engine, link and protocols
//     loop.engine().add(protocol);
//     loop.progress();                             all that can be done without sleeping
//     loop.wait_until(lock, [&] { return done; }); the same, and sleeps meanwhile
//   }
//
// Who makes progress:
//
//                        on the caller's thread             with a thread of its own
//   frames are taken     in progress and wait_until         there, and by the thread in between
//   lock                 costs nothing, locks nothing       a mutex, never held by a sleeper
//   fd                   the link's                         readable once the thread did something
//
// The caller drives the loop in either case: a wait sleeps on the link and takes the frame it waits
// for itself. The thread steps aside meanwhile, and resumes some milliseconds after the last call
// that drove; from then on it sleeps on the link, until a frame arrives or something is due.
//
// Errors of the link are thrown as LinkError. When it is down, all state is kept and the loop
// continues later. When it is gone the loop is broken: protocols are not called any more, and every
// further round throws the same error again.
//
// One thread at a time besides the loop's own; `wake` may be called by any. After fork() the child
// has no such thread; all that it may do is destroy the loop, which then touches nothing that a
// lock may guard.
#pragma once

#include "endpoint/engine/engine.hpp"
#include "endpoint/engine/spin_guard.hpp"
#include "lib/link/link_error.hpp"
#include "lib/link/port.hpp"
#include "lib/net/file_descriptor.hpp"
#include "lib/net/of_this_process.hpp"
#include "lib/net/steady_clock.hpp"
#include "tributary/types.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace tributary::engine {

class Loop {
public:
  /// A lock of the loop's mutex, or of none.
  using Lock = std::unique_lock<std::mutex>;

  struct Options {
    std::uint64_t spin_ns = 0; ///< how long it looks for frames before it sleeps
    bool only_short = false;   ///< it does so only in waits that are announced as short
    bool own_thread = false;
  };

  /// The purpose of a wait, as far as its caller knows.
  enum class Wait : std::uint8_t {
    any,
    short_one, ///< a few frames, which peers send as soon as they can
    burst,     ///< more of them, and no more than a round takes
    vector,    ///< many frames in sequence, which peers send as soon as they can
  };

  /// Throws LinkError when it cannot create the thread or its descriptors.
  Loop(std::unique_ptr<link::Port> port, std::uint16_t ethertype, const Options& options);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Ends the loop's own thread, if it has one; takes no longer than a round. For owners whose
  /// protocols are destroyed before the loop. The lock must not be held. False in a child process,
  /// whose loop must not be used any more.
  bool end_thread();

  /// Gives the loop its own thread now, unless it has one. No lock may be held that was taken
  /// before: it locks nothing. Throws LinkError.
  void begin_thread();
  [[nodiscard]] bool has_thread() const { return static_cast<bool>(thread_); }

  /// All functions below require it.
  [[nodiscard]] Lock lock() const;

  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] const Engine& engine() const { return engine_; }
  [[nodiscard]] link::Port& port() { return *port_; }
  [[nodiscard]] const link::Port& port() const { return *port_; }

  /// Throws if the link is gone.
  void throw_if_broken() const;
  /// Rounds until nothing more can be done immediately, or until callers and threads should have
  /// their turn: then it returns true, and `next_call` is now.
  bool progress();
  /// Sends what a protocol has now. The next round reports errors of the link.
  void send(Protocol& protocol);
  /// Rounds until `done()` or until `deadline`; returns whether it is done. Releases the lock while
  /// it sleeps.
  template <typename Done>
  bool wait_until(Lock& lock, const Done& done, TimeNs deadline = never, Wait wait = Wait::any) {
    for (;;) {
      const bool more = progress();
      if (done()) {
        return true;
      }
      if (deadline != never && net::steady_now() >= deadline) {
        return false;
      }
      if (more) {
        give_way(lock);
      } else {
        pause(lock, deadline, wait);
      }
    }
  }
  enum class Answer : std::uint8_t { done, timed_out, woken };
  /// The same for a request that is answered later: asking for the answer immediately would be in
  /// vain, and cost a system call. Ends also when `wake` is called, or was since such a wait was
  /// last woken.
  template <typename Done>
  Answer wait_for_answer(Lock& lock, const Done& done, TimeNs deadline = never,
                         Wait wait = Wait::any) {
    const Wakeable now(may_wake_);
    const auto over = [&] { return done() || is_woken(); };
    if (!over() && !broken_) {
      pause(lock, deadline, wait);
    }
    wait_until(lock, over, deadline, wait);
    return done() ? Answer::done : take_wake() ? Answer::woken : Answer::timed_out;
  }
  /// The same without a deadline, waiting also while the link is down.
  template <typename Done> void wait_through(Lock& lock, const Done& done, Wait wait = Wait::any) {
    if (!done() && !broken_) {
      pause(lock, never, wait);
    }
    for (;;) {
      try {
        wait_until(lock, done, never, wait);
        return;
      } catch (const link::LinkError& error) {
        ride_out(lock, error);
      }
    }
  }

  /// Ends a wait for an answer, or the next one at once, unless its answer is there. For any
  /// thread, without the lock.
  void wake();

  /// For poll(2) only: becomes readable when `progress` has something to do or to find.
  [[nodiscard]] int fd() const;
  /// When `progress` should be called though nothing became readable; `never` when nothing is due.
  [[nodiscard]] TimeNs next_call() const;

private:
  struct OwnThread;
  /// Waits can be woken during its life.
  struct Wakeable {
    explicit Wakeable(bool& flag) : may_wake(flag) { may_wake = true; }
    ~Wakeable() { may_wake = false; }
    Wakeable(const Wakeable&) = delete;
    Wakeable& operator=(const Wakeable&) = delete;
    bool& may_wake;
  };
  [[nodiscard]] bool is_woken() const { return woken_.load(std::memory_order_acquire); }
  /// Whether there was one; then there is none any more.
  bool take_wake();
  /// Whether a wait need not sleep: frames, or a wake.
  [[nodiscard]] bool has_news();
  /// Time that peers work on what they send and take of a vector, several of them on one processor.
  static constexpr std::uint64_t peers_work_ns = 6'000'000;
  /// How long it looks for the frames of a burst, which peers send as soon as they get the
  /// processor; those of a longer vector gather while it sleeps.
  static constexpr std::uint64_t look_ns(Wait wait) { return wait == Wait::burst ? 100'000 : 0; }
  /// Whether more can be done immediately.
  bool rounds();
  /// Releases the lock for a moment, for the loop's own thread and others.
  static void give_way(Lock& lock);
  /// Sleeps for a moment, whatever arrives.
  void gather(Lock& lock);
  /// Looks for frames for the spinning time, then sleeps until something may be due.
  void pause(Lock& lock, TimeNs deadline, Wait wait);
  /// Sleeps a little if the link is only down; throws the error again otherwise.
  static void ride_out(Lock& lock, const link::LinkError& error);
  /// When to look next if no frame arrives.
  [[nodiscard]] TimeNs due_from(TimeNs now) const;
  /// Looks for frames until the time is over; returns whether it found any.
  [[nodiscard]] bool spin(Lock& lock, TimeNs begin, TimeNs end);
  /// The same for many frames: yields the processor first, looks at least once, and goes straight
  /// to sleep for a while only when others had the processor for longer than peers work.
  [[nodiscard]] bool look_for_peers(Lock& lock, TimeNs begin, TimeNs end);
  /// Yields the processor and the lock; returns the time afterwards.
  static TimeNs yield(Lock& lock);

  void run_thread();
  /// Rounds of the thread; returns when it should look next, 0: immediately.
  [[nodiscard]] TimeNs drive_from_thread();
  /// Lets the thread look at deadlines and frames that are newer than its sleep.
  void wake_thread_if_needed();

  std::unique_ptr<link::Port> port_;
  Engine engine_;
  Options options_;
  SpinGuard guard_;
  /// for waits for vectors
  SpinGuard yield_guard_{peers_work_ns};
  /// For second and later looks, which are in vain where others compute.
  SpinGuard burst_guard_{2 * SpinGuard::slice_ns};
  std::optional<link::LinkError> broken_;
  bool more_ = false; ///< work was left when the last rounds ended
  /// Frames arrived in a flood in the last rounds: the next ones had better gather for a moment.
  bool gathers_ = false;
  std::mutex wake_mutex_; ///< held for changes of the next two, never while anything waits
  net::FileDescriptor wake_event_;
  std::atomic<bool> woken_{false};       ///< the event is raised
  bool may_wake_ = false;                ///< the wait that runs can be woken
  net::OfThisProcess<OwnThread> thread_; ///< empty without its own thread
};

} // namespace tributary::engine
