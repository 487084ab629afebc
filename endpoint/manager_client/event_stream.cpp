// Server-sent events: lines "field: value", an empty line ends an event, a line that begins with a
// colon is a comment (the server's sign of life).
#include "endpoint/manager_client/event_stream.hpp"

#include "endpoint/manager_client/connection.hpp"

#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>

namespace tributary::manager_client {

namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;
using Kind = ManagerError::Kind;

/// The manager sends a sign of life every 15 s.
constexpr std::chrono::seconds longest_silence{45};

struct EventStream::State {
  explicit State(const ClientSettings& settings) : connection(settings) {}

  Connection connection;
  std::optional<http::response_parser<http::buffer_body>> parser; ///< of the present connection
  std::array<char, 16384> room{};
  std::optional<Connection::ErrorCode> outcome; ///< outcome of the pending read
  bool reading = false;
  Clock::time_point heard = Clock::now(); ///< when anything arrived last, an event or not
  std::string text;                       ///< received and not yet parsed
  Event event;                            ///< the event being received
  std::string data;
  std::deque<Event> events;
  std::uint64_t seen = 0; ///< number of the last complete event

  /// At the present address.
  void open(const ClientSettings& settings, const std::string& query) {
    connection.open(settings.connect_limit);
    Connection::Request request = connection.request("GET", "/api/v1/events" + query);
    request.set(http::field::accept, "text/event-stream");
    if (seen > 0) {
      request.set("Last-Event-ID", std::to_string(seen));
    }
    const auto deadline = Clock::now() + settings.answer_limit;
    connection.send(request, deadline);
    parser.emplace();
    parser->body_limit(boost::none);
    connection.receive_header(*parser, deadline);
    const unsigned status = parser->get().result_int();
    throw_unless_done({.status = status, .body = {}, .retry_after = {}}, "asking for its events");
  }
  void begin_read() {
    outcome.reset();
    reading = true;
    parser->get().body().data = room.data();
    parser->get().body().size = room.size();
    connection.begin_receive(
        *parser, [this](const Connection::ErrorCode& error, std::size_t) { outcome = error; });
  }
  void take_read() {
    reading = false;
    heard = Clock::now();
    if (*outcome && *outcome != http::error::need_buffer) {
      connection.demand(*outcome, "reading its events");
    }
    text.append(room.data(), room.size() - parser->get().body().size);
    take_lines();
    if (parser->is_done()) {
      throw ManagerError(Kind::unreachable, "the fabric manager ended the stream of events");
    }
  }
  void take_lines() {
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      std::string_view line(text.data() + begin, end - begin);
      if (line.ends_with('\r')) {
        line.remove_suffix(1);
      }
      take_line(line);
    }
    text.erase(0, begin);
  }
  void take_line(std::string_view line) {
    if (line.empty()) {
      seen = event.number;
      if (!data.empty()) {
        finish_event();
      }
      return;
    }
    const std::size_t colon = line.find(':');
    const std::string_view field = line.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
    if (value.starts_with(' ')) {
      value.remove_prefix(1);
    }
    if (field == "id") {
      std::from_chars(value.data(), value.data() + value.size(), event.number);
    } else if (field == "event") {
      event.kind = value;
    } else if (field == "data") {
      data += data.empty() ? "" : "\n";
      data += value;
    }
  }
  void finish_event() {
    boost::system::error_code error;
    event.body = boost::json::parse(data, error);
    if (error) {
      throw ManagerError(Kind::garbled,
                         fmt::format("event {} of the fabric manager is not JSON", event.number));
    }
    const std::uint64_t number = event.number;
    events.push_back(std::move(event));
    event = {};
    event.number = number;
    data.clear();
  }
};

EventStream::EventStream(const ClientSettings& settings, std::uint64_t after,
                         const std::string& query)
    : state_(std::make_unique<State>(settings)) {
  state_->seen = state_->event.number = after;
  for (;;) {
    try {
      state_->open(settings, query);
      return;
    } catch (const ManagerError& error) {
      const bool is_elsewhere = error.kind() == Kind::refused
                                    ? error.status() == 503 || error.status() == 421
                                    : error.kind() != Kind::cancelled;
      if (!is_elsewhere || !state_->connection.advance()) {
        throw;
      }
    }
  }
}

EventStream::~EventStream() = default;

std::optional<Event> EventStream::next(std::chrono::milliseconds limit) {
  State& state = *state_;
  const auto deadline = Clock::now() + limit;
  while (state.events.empty()) {
    if (!state.reading) {
      state.begin_read();
    }
    const auto silent = state.heard + longest_silence;
    if (!state.connection.wait([&] { return state.outcome.has_value(); },
                               std::min(deadline, silent))) {
      if (Clock::now() < silent) {
        return std::nullopt;
      }
      throw ManagerError(Kind::timed_out,
                         fmt::format("nothing was received from the fabric manager for {} s",
                                     longest_silence.count()));
    }
    state.take_read();
  }
  Event event = std::move(state.events.front());
  state.events.pop_front();
  return event;
}

std::uint64_t EventStream::seen() const {
  const State& state = *state_;
  return state.events.empty() ? state.seen
                              : std::max(state.events.front().number, std::uint64_t{1}) - 1;
}

void EventStream::cancel() { state_->connection.cancel(); }

} // namespace tributary::manager_client
