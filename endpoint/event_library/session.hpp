// Receives a rank's events: a source, the center that orders them, and the thread that calls
// handlers, its own or the program's.
//
// The lock is held for the center and never while a handler runs or the source is asked.
#pragma once

#include "endpoint/event_library/pmix_source.hpp"
#include "endpoint/events/event_dispatcher.hpp"
#include "tributary/events.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

/// What handlers add their results to; valid only within the call that gets it.
struct tributary_event_chain {
  const std::vector<tributary::events::HandlerResult>* results = nullptr; ///< results of earlier
                                                                          ///< handlers
  std::vector<tributary::events::HandlerResult> added;
};

namespace tributary::event_library {

class Session {
public:
  /// Throws SourceError.
  explicit Session(bool own_thread);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  struct Function {
    tributary_event_handler call = nullptr;
    void* data = nullptr;
  };
  /// Throws SourceError when the events of the environment cannot be requested.
  [[nodiscard]] events::Handlers::Added add(events::HandlerOptions options, Function function);
  /// False for an unknown id. Waits until it is not running, unless it is the caller.
  bool remove(events::HandlerId id);
  void on_chain_end(tributary_event_chain_end end, void* data);

  /// Returns the number of calls made. `limit` negative: forever.
  std::size_t dispatch(std::chrono::microseconds limit);
  [[nodiscard]] bool has_own_thread() const { return thread_.joinable(); }
  [[nodiscard]] int fd() const { return ready_; }

private:
  using Lock = std::unique_lock<std::mutex>;
  void arrived(events::Event event);
  void run();
  /// Makes the next call; false when nothing is due.
  bool make_call(Lock& held);
  void report_ends(Lock& held);
  /// Fetches what follows the last event that has begun; gives up events that are no longer kept.
  void fetch(Lock& held, const std::string& environment);
  void mend(Lock& held);
  /// The same as `remove`.
  bool forget(Lock& held, events::HandlerId id);
  void clear_ready();
  void set_ready();

  std::mutex lock_;
  std::condition_variable changed_; ///< something is due, or the session ends
  std::condition_variable idle_;    ///< a handler has returned
  events::EventDispatcher dispatcher_;
  std::map<events::HandlerId, Function> functions_;
  events::HandlerId running_ = 0;
  std::thread::id runs_on_;
  tributary_event_chain_end end_ = nullptr;
  void* end_data_ = nullptr;
  std::set<std::string> environment_;               ///< codes asked for
  std::chrono::steady_clock::time_point mend_at_{}; ///< a hole is not asked about before this time
  bool stopping_ = false;
  int ready_ = -1; ///< an eventfd
  std::unique_ptr<PmixSource> source_;
  std::thread thread_; // last: it uses all of the others
};

} // namespace tributary::event_library
