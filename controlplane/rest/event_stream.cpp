#include "controlplane/rest/event_stream.hpp"

#include "lib/net/as_result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <exception>
#include <iterator>
#include <utility>

namespace tributary::rest {
namespace {

using net::as_result;

/// Events are sent together up to about this many bytes.
constexpr std::size_t burst_bytes = 16 * 1024;
/// The kernel buffers no more than about twice this for a stalled reader.
constexpr int kernel_bytes = 64 * 1024;
/// A browser reconnects after this many milliseconds.
constexpr std::string_view reconnection = "retry: 1000\n\n";

/// The lines id, event and data, and an empty line.
void append(std::string& text, const api::ShownEvent& event) {
  fmt::format_to(std::back_inserter(text), "id: {}\nevent: {}\ndata: {}\n\n", event.number,
                 event.kind, event.data);
}

} // namespace

EventStream::EventStream(Shared& shared, Transport& transport, Deadline& deadline)
    : shared_(shared), transport_(transport), deadline_(deadline),
      wake_(transport.socket().get_executor()) {}

void EventStream::begin(const api::Caller& caller, const api::EventsRequest& request) {
  reader_ = shared_.service->read_events(caller, request,
                                         [this, wakes = shared_.wakes, stream = weak_from_this()] {
                                           wakes->add(wake_.get_executor(), [stream] {
                                             if (const auto self = stream.lock()) {
                                               self->wake_.cancel();
                                             }
                                           });
                                         });
  may_read_ = [this, caller, request] {
    return !(request.job ? shared_.service->refuse_job_events(caller, request.job->job)
                         : shared_.service->refuse_events(caller));
  };
}

void EventStream::end() {
  reader_.reset();
  wake_.cancel();
}

std::string EventStream::take() {
  std::string text;
  while (reader_ && text.size() < burst_bytes) {
    const auto event = reader_->next();
    if (!event) {
      break;
    }
    append(text, *event);
    shown_ = event->number;
  }
  return text;
}

std::string EventStream::sign_of_life() {
  if (std::exchange(shown_, reader_->seen()) == shown_) {
    return ":\n\n"; // a comment
  }
  return fmt::format("id: {}\n\n", shown_); // no event has this number, and no reader is shown
                                            // anything
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
  error_code ignored;
  transport_.socket().set_option(asio::socket_base::send_buffer_size(kernel_bytes), ignored);
  std::string text = std::move(header);
  text += reconnection;
  shown_ = reader_->seen();
  while (reader_) {
    if (text.empty()) {
      text = take();
    }
    if (text.empty() && reader_->has_missed()) {
      ++shared_.events_cut_off;
      spdlog::warn("a reader of the event stream is too slow for the events that are kept, and is "
                   "disconnected");
      break;
    }
    if (text.empty()) {
      wake_.expires_after(shared_.limits.event_pause);
      const auto [woken] = co_await wake_.async_wait(as_result);
      if (woken || !reader_) {
        continue;
      }
      if (!may_read_()) {
        break; // its job has ended
      }
      text = sign_of_life();
    }
    deadline_.arm(shared_.limits.write_time);
    const error_code error = co_await transport_.write(asio::buffer(text));
    shared_.events_cut_off += deadline_.expired() ? 1 : 0;
    deadline_.disarm();
    text = {};
    if (error) {
      break;
    }
  }
  end();
  while (watching) {
    transport_.cancel();
    wake_.expires_at(asio::steady_timer::time_point::max());
    static_cast<void>(co_await wake_.async_wait(as_result));
  }
  --shared_.event_streams;
}

asio::awaitable<void> EventStream::watch_for_end() {
  // The reader has nothing more to send: input is discarded until the connection ends.
  std::array<char, 64> ignored{};
  while (reader_) {
    const Received received = co_await transport_.read(asio::buffer(ignored));
    if (received.error) {
      break;
    }
  }
}

} // namespace tributary::rest
