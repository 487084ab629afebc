#include "endpoint/event_library/session.hpp"

#include "lib/net/signals_blocked.hpp"
#include "tributary/event_codes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <variant>

#include <sys/eventfd.h>
#include <unistd.h>

namespace tributary::event_library {

namespace {

/// Reordered events arrive within this time; what is missing then is asked for.
constexpr std::chrono::milliseconds mend_pause{20};

tributary_event shown(const events::Event& event, bool past) {
  return {.code = event.code,
          .scope = event.scope == events::Scope::job ? TRIBUTARY_EVENT_OF_JOB
                                                     : TRIBUTARY_EVENT_OF_ENVIRONMENT,
          .epoch = event.epoch,
          .sequence = event.sequence,
          .time_ns = event.time_ns,
          .text = event.text.c_str(),
          .details = event.details.c_str(),
          .past = past ? 1 : 0};
}

} // namespace

Session::Session(bool own_thread) : ready_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (ready_ < 0) {
    throw SourceError(false, fmt::format("eventfd: {}", std::strerror(errno)));
  }
  try {
    source_ =
        std::make_unique<PmixSource>([this](events::Event event) { arrived(std::move(event)); });
    Lock held(lock_);
    fetch(held, {}); // events from before this rank listened
    held.unlock();
    if (own_thread) {
      const net::SignalsBlocked blocked;
      thread_ = std::thread([this] { run(); });
    }
  } catch (...) {
    source_.reset();
    ::close(ready_);
    throw;
  }
}

Session::~Session() {
  {
    const std::scoped_lock held(lock_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
  source_.reset();
  ::close(ready_);
}

void Session::set_ready() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(ready_, &one, sizeof(one)));
}

void Session::clear_ready() {
  std::uint64_t count = 0;
  static_cast<void>(!::read(ready_, &count, sizeof(count)));
}

void Session::arrived(events::Event event) {
  {
    const std::scoped_lock held(lock_);
    dispatcher_.arrived(std::move(event));
    mend_at_ = std::chrono::steady_clock::now() + mend_pause;
    set_ready();
  }
  changed_.notify_one();
}

void Session::fetch(Lock& held, const std::string& environment) {
  while (true) {
    const std::uint64_t after = dispatcher_.newest();
    held.unlock();
    PmixSource::History history;
    try {
      history = source_->ask(after, environment);
    } catch (...) {
      held.lock();
      throw;
    }
    held.lock();
    dispatcher_.give_up_before(history.first);
    const bool more = !history.events.empty() && history.events.back().sequence < history.last;
    for (events::Event& event : history.events) {
      dispatcher_.arrived(std::move(event));
    }
    if (dispatcher_.newest() > after) {
      set_ready();
      changed_.notify_one();
    }
    if (!more || dispatcher_.newest() <= after) {
      return;
    }
  }
}

void Session::mend(Lock& held) {
  mend_at_ = std::chrono::steady_clock::now() + 5 * mend_pause;
  try {
    fetch(held, {});
  } catch (const SourceError&) {
    // tributary-run is gone, or about to be: held events stay held
  }
}

events::Handlers::Added Session::add(events::HandlerOptions options, Function function) {
  Lock held(lock_);
  std::string wanted;
  for (const int code : options.codes) {
    const EventCode* const known = find_event_code(code);
    if (options.environment && known != nullptr && known->of_environment &&
        !environment_.contains(std::string(known->name))) {
      wanted += fmt::format("{}{}", wanted.empty() ? "" : ",", known->name);
    }
  }
  events::Handlers::Added added = dispatcher_.add(options);
  const auto* const id = std::get_if<events::HandlerId>(&added);
  if (id == nullptr) {
    return added;
  }
  functions_[*id] = function;
  if (!wanted.empty()) {
    try {
      fetch(held, wanted);
    } catch (...) {
      forget(held, *id);
      throw;
    }
    for (const int code : options.codes) {
      environment_.insert(std::string(find_event_code(code)->name));
    }
  }
  set_ready();
  held.unlock();
  changed_.notify_one();
  return added;
}

bool Session::remove(events::HandlerId id) {
  Lock held(lock_);
  return forget(held, id);
}

bool Session::forget(Lock& held, events::HandlerId id) {
  if (!dispatcher_.remove(id)) {
    return false;
  }
  functions_.erase(id);
  if (runs_on_ != std::this_thread::get_id()) {
    idle_.wait(held, [&] { return running_ != id; });
  }
  return true;
}

void Session::on_chain_end(tributary_event_chain_end end, void* data) {
  const std::scoped_lock held(lock_);
  end_ = end;
  end_data_ = data;
}

bool Session::make_call(Lock& held) {
  report_ends(held);
  auto call = dispatcher_.next();
  if (!call) {
    report_ends(held);
    return false;
  }
  const Function function = functions_.at(call->handler);
  running_ = call->handler;
  runs_on_ = std::this_thread::get_id();
  held.unlock();
  const tributary_event event = shown(*call->event, call->past);
  tributary_event_chain chain{.results = &call->results, .added = {}};
  const int answer = function.call(&event, &chain, function.data);
  held.lock();
  running_ = 0;
  runs_on_ = {};
  dispatcher_.returned(answer == TRIBUTARY_EVENT_COMPLETE ? events::Outcome::complete
                                                          : events::Outcome::go_on,
                       std::move(chain.added));
  idle_.notify_all();
  return true;
}

void Session::report_ends(Lock& held) {
  for (const events::EventDispatcher::ChainEnd& one : dispatcher_.take_ends()) {
    const tributary_event_chain_end end = end_;
    void* const data = end_data_;
    if (end == nullptr) {
      continue;
    }
    runs_on_ = std::this_thread::get_id();
    held.unlock();
    const tributary_event event = shown(*one.event, false);
    const tributary_event_chain chain{.results = &one.results, .added = {}};
    end(&event, &chain, one.ended_by.empty() ? nullptr : one.ended_by.c_str(), data);
    held.lock();
    runs_on_ = {};
  }
}

void Session::run() {
  Lock held(lock_);
  while (!stopping_) {
    if (make_call(held)) {
      continue;
    }
    clear_ready();
    if (!dispatcher_.gap()) {
      changed_.wait(held);
    } else if (changed_.wait_until(held, mend_at_) == std::cv_status::timeout && !stopping_) {
      mend(held);
    }
  }
}

std::size_t Session::dispatch(std::chrono::microseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  const bool for_ever = limit < std::chrono::microseconds(0);
  std::size_t calls = 0;
  Lock held(lock_);
  while (!stopping_) {
    if (make_call(held)) {
      ++calls;
      continue;
    }
    clear_ready();
    const bool over = !for_ever && std::chrono::steady_clock::now() >= until;
    if (dispatcher_.gap() && std::chrono::steady_clock::now() >= mend_at_) {
      mend(held);
      if (!over) {
        continue;
      }
    }
    if (calls > 0 || over) {
      break;
    }
    if (dispatcher_.gap()) {
      changed_.wait_until(held, for_ever ? mend_at_ : std::min(mend_at_, until));
    } else if (for_ever) {
      changed_.wait(held);
    } else {
      changed_.wait_until(held, until);
    }
  }
  if (dispatcher_.gap()) {
    set_ready(); // so that what is missing is asked for
  }
  return calls;
}

} // namespace tributary::event_library
