#include "controlplane/rest/event_stream.hpp"

#include "net/as_result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <spdlog/spdlog.h>

#include <array>
#include <exception>
#include <utility>

namespace tributary::rest {
namespace {

using net::as_result;

/// Events are sent together up to about this many bytes.
constexpr std::size_t burst_bytes = 128 * 1024;
/// After a lost connection a browser comes again in so many milliseconds.
constexpr std::string_view reconnection = "retry: 1000\n\n";
/// A comment: it shows both ends that the other one is there.
constexpr std::string_view sign_of_life = ":\n\n";

} // namespace

EventStream::EventStream(Shared& shared, Transport& transport, Deadline& deadline)
    : shared_(shared), transport_(transport), deadline_(deadline),
      queue_(shared.limits.events_behind), wake_(transport.socket().get_executor()) {}

std::function<void()> follow_events(api::Service& service, const api::Caller& caller,
                                    const api::EventsRequest& request,
                                    std::function<void(const api::Event&)> sink) {
  return request.job ? service.follow_job(caller, *request.job, std::move(sink))
                     : service.subscribe(caller, request.after, std::move(sink));
}

void EventStream::begin(const api::Caller& caller, const api::EventsRequest& request) {
  unsubscribe_ = follow_events(*shared_.service, caller, request,
                               [stream = weak_from_this()](const api::Event& event) {
                                 if (const auto self = stream.lock()) {
                                   self->event_came(event);
                                 }
                               });
  queue_.live();
}

void EventStream::event_came(const api::Event& event) {
  if (ended_) {
    return;
  }
  queue_.add(event);
  if (queue_.overrun()) {
    ++shared_.events_cut_off;
    end();
    transport_.cancel(); // it is stuck in a write
  }
  wake_.cancel();
}

void EventStream::end() {
  ended_ = true;
  if (unsubscribe_ && shared_.service != nullptr) {
    unsubscribe_();
  }
  unsubscribe_ = nullptr;
  wake_.cancel();
}

asio::awaitable<void> EventStream::run(std::string header) {
  ++shared_.event_streams;
  bool watching = true;
  asio::co_spawn(
      wake_.get_executor(), [self = shared_from_this()] { return self->watch_for_end(); },
      [self = shared_from_this(), &watching](const std::exception_ptr&) {
        watching = false;
        self->end();
      });
  std::string text = std::move(header);
  text += reconnection;
  while (!ended_) {
    if (text.empty()) {
      text = queue_.take(burst_bytes);
    }
    if (text.empty()) {
      wake_.expires_after(shared_.limits.event_pause);
      const auto [woken] = co_await wake_.async_wait(as_result);
      if (!woken) {
        text = sign_of_life;
      }
      continue;
    }
    deadline_.arm(shared_.limits.write_time);
    const error_code error = co_await transport_.write(asio::buffer(text));
    deadline_.disarm();
    text.clear();
    if (error) {
      end();
    }
  }
  if (queue_.overrun()) {
    spdlog::warn("a reader of the event stream was {} events behind and is cut off",
                 shared_.limits.events_behind);
  }
  while (watching) {
    transport_.cancel();
    wake_.expires_at(asio::steady_timer::time_point::max());
    static_cast<void>(co_await wake_.async_wait(as_result));
  }
  --shared_.event_streams;
}

asio::awaitable<void> EventStream::watch_for_end() {
  // A reader has nothing more to say: whatever comes is thrown away, until nothing can come.
  std::array<char, 512> ignored{};
  while (!ended_) {
    const Received received = co_await transport_.read(asio::buffer(ignored));
    if (received.error) {
      break;
    }
  }
}

} // namespace tributary::rest
