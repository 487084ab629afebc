#include "controlplane/rest/connection.hpp"

#include "controlplane/api/request_error.hpp"
#include "controlplane/api/requests.hpp"
#include "controlplane/api/status.hpp"
#include "controlplane/rest/authentication.hpp"
#include "controlplane/web_page/files.hpp"
#include "lib/net/as_result.hpp"
#include "lib/service/exposition.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace tributary::rest {

using api::Answer;
using api::error_answer;

namespace {

using net::as_result;

/// How long, and how much, a client may still send after the last answer.
constexpr std::chrono::milliseconds drain_time{2'000};
constexpr std::size_t drain_bytes = 4 * 1024 * 1024;
/// Time limit of the service; longer than any wait that a request can ask for.
constexpr std::chrono::milliseconds answer_time{120'000};
/// Time to send an answer: one more second for each of this many bytes.
constexpr std::size_t bytes_per_second = 64 * 1024;

constexpr std::string_view event_stream_type = "text/event-stream";

/// The page loads nothing from other sites, runs only its own files, and cannot be framed.
constexpr std::string_view page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string_view view_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

bool is_json(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  const std::size_t end = type.find_last_not_of(" \t") + 1; // npos + 1 is 0
  return boost::beast::iequals(type.substr(0, end), "application/json");
}

Answer ok() { return {200, boost::json::object{{"status", "ok"}}, 0}; }

/// An exception that the service should not have thrown.
Answer failure(std::string_view doing, const std::exception& what) {
  spdlog::error("{}: {}", doing, what.what());
  return error_answer(500, "the manager failed; see its log");
}

Response text_response(std::string content_type, std::string body) {
  Response response;
  response.content_type = std::move(content_type);
  response.body = std::move(body);
  return response;
}

/// Counts a running event stream for its caller. Administrators' streams have no caller.
class StreamCount {
public:
  StreamCount(Shared& shared, std::string caller, bool is_open)
      : shared_(shared), caller_(std::move(caller)), is_open_(is_open && !caller_.empty()) {
    shared_.open_event_streams += is_open_ ? 1 : 0;
    if (!caller_.empty()) {
      ++shared_.event_streams_of[caller_];
    }
  }
  ~StreamCount() {
    shared_.open_event_streams -= is_open_ ? 1 : 0;
    const auto own = shared_.event_streams_of.find(caller_);
    if (own != shared_.event_streams_of.end() && --own->second == 0) {
      shared_.event_streams_of.erase(own);
    }
  }
  StreamCount(const StreamCount&) = delete;
  StreamCount& operator=(const StreamCount&) = delete;

private:
  Shared& shared_;
  std::string caller_;
  bool is_open_;
};

} // namespace

/// An answer that the service owes, held by the Reply. Given at most once; if the service drops the
/// Reply without an answer, it is 500, so that no client waits forever.
class Connection::Pending {
public:
  explicit Pending(Connection& connection)
      : connection_(connection.weak_from_this()), number_(connection.asked_) {}
  ~Pending() { give(error_answer(500, "the manager gave this request up; see its log")); }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  void give(Answer answer) {
    const auto connection = connection_.lock();
    connection_.reset();
    if (connection && connection->asked_ == number_ && !connection->answer_) {
      connection->answer_ = std::move(answer);
      connection->wake_.cancel();
    }
  }

private:
  std::weak_ptr<Connection> connection_; ///< empty once given
  std::uint64_t number_;
};

Connection::Connection(std::shared_ptr<Shared> shared, std::unique_ptr<Transport> transport,
                       Peer peer)
    : shared_(std::move(shared)), transport_(std::move(transport)), peer_(std::move(peer)),
      caller_(peer_.administrator ? "" : peer_.name), deadline_(*transport_),
      reader_(*transport_, deadline_, *shared_), wake_(transport_->socket().get_executor()) {}

void Connection::stop() {
  if (stream_) {
    stream_->end();
  }
  if (reader_.idle()) {
    transport_->cancel();
  }
}

void Connection::close() {
  if (stream_) {
    stream_->end();
  }
  ++asked_; // pending answers are too late now
  transport_->close();
  wake_.cancel();
}

asio::awaitable<void> Connection::run(bool busy) {
  deadline_.arm(shared_->limits.header_time);
  const error_code error = co_await transport_->open();
  peer_.certified_names = transport_->certified_names();
  bool go_on = !error;
  if (go_on && busy) {
    go_on = co_await refuse_busy();
  }
  while (go_on) {
    go_on = co_await serve_one();
  }
  deadline_.disarm();
  transport_->close();
}

asio::awaitable<bool> Connection::refuse_busy() {
  Answer answer = error_answer(429, "too many connections; close some, or try again later");
  answer.retry_after = 1;
  return send(json_response(answer), Manner{});
}

asio::awaitable<bool> Connection::serve_one() {
  const RequestReader::Outcome header = co_await reader_.header();
  if (header.gone) {
    co_return false;
  }
  Manner manner{.keep_alive = false, .with_body = true};
  if (header.error) {
    co_return co_await send(json_response(*header.error), manner);
  }
  Match match;
  api::Call call;
  manner.with_body = reader_.request().method() != http::verb::head;
  shared_->shares.works(peer_.id);
  std::optional<Response> response = refuse_early(match, call);
  if (!response) {
    if (!reader_.complete() && reader_.request().count(http::field::expect) != 0) {
      deadline_.arm(shared_->limits.write_time);
      constexpr std::string_view go_ahead = "HTTP/1.1 100 Continue\r\n\r\n";
      static_cast<void>(co_await transport_->write(asio::buffer(go_ahead)));
    }
    const RequestReader::Outcome body = co_await reader_.body();
    if (body.gone) {
      co_return false;
    }
    if (body.error) {
      co_return co_await send(json_response(*body.error), manner);
    }
    call.body = std::move(reader_.request().body());
    response = co_await respond(*match.route, call, manner.with_body);
    if (!response) {
      co_return false;
    }
  }
  // Only the route of the target: a log is no place for a client's bytes.
  spdlog::debug("{}: {} {}: {}", peer_.name, view_of(http::to_string(reader_.request().method())),
                match.route == nullptr ? "(no such route)" : match.route->path, response->status);
  // The rest of a request that was refused early must not be parsed as the next one.
  manner.keep_alive = reader_.complete() && reader_.keep_alive() && !shared_->stopping;
  const bool keeps_open = co_await send(std::move(*response), manner);
  shared_->shares.rests(peer_.id);
  co_return keeps_open;
}

std::optional<Response> Connection::refuse_early(Match& match, api::Call& call) {
  const auto& request = reader_.request();
  const auto refused = [](unsigned status, std::string message) {
    return json_response(error_answer(status, std::move(message)));
  };
  if (request.version() >= 11 && request.count(http::field::host) != 1) {
    return refused(400, "a request of HTTP/1.1 must have one Host field");
  }
  try {
    call.target = api::parse_target(view_of(request.target()));
  } catch (const api::RequestError& e) {
    return refused(400, e.what());
  }
  match = find_route(shared_->routes, view_of(request.method_string()), call.target);
  if (match.route == nullptr && match.allowed.empty()) {
    return refused(404, "no such path; /openapi.json lists all paths");
  }
  if (match.route == nullptr) {
    Response response = refused(405, fmt::format("this path supports {}, not {}", match.allowed,
                                                 view_of(request.method_string())));
    response.fields.emplace_back("Allow", match.allowed);
    return response;
  }
  call.parameters = std::move(match.parameters);
  if (request.count(http::field::authorization) > 1) {
    return refused(400, "a request has at most one Authorization field");
  }
  call.caller.token = token_of(view_of(request[http::field::authorization]));
  // A token decides the identity, for root at the Unix socket, too: a program with a job's token
  // acts for that job, and one with a wrong token has no rights.
  call.caller.administrator =
      request.count(http::field::authorization) == 0
          ? peer_.administrator
          : !shared_->administrator_token.empty() &&
                same_secret(call.caller.token, shared_->administrator_token);
  if (request.count(http::field::authorization) == 0) {
    call.caller.nodes = peer_.certified_names;
  }
  const bool takes_body = match.route->has_body;
  if (!shared_->closed()) {
    note_caller(call.caller);
    if (const auto answer =
            takes_body ? shared_->service->refuse(*match.route, call.caller) : std::nullopt) {
      return json_response(*answer);
    }
  }
  if (takes_body && !is_json(view_of(request[http::field::content_type]))) {
    return refused(415, "the Content-Type must be application/json");
  }
  if (const auto coding = view_of(request[http::field::content_encoding]);
      takes_body && !coding.empty() && !boost::beast::iequals(coding, "identity")) {
    return refused(415, "the body must have no Content-Encoding");
  }
  if (const auto expected = view_of(request[http::field::expect]);
      !expected.empty() && !boost::beast::iequals(expected, "100-continue")) {
    return refused(417, "the only supported expectation is 100-continue");
  }
  return std::nullopt;
}

asio::awaitable<std::optional<Response>>
Connection::respond(const api::Route& route, const api::Call& call, bool with_body) {
  if (route.kind == api::Route::Kind::service && !shared_->closed()) {
    co_return json_response(co_await ask(route, call));
  }
  try {
    if (route.kind == api::Route::Kind::metrics) {
      co_return co_await metrics();
    }
    if (route.kind == api::Route::Kind::page) {
      co_return page(call);
    }
    if (route.kind != api::Route::Kind::events || shared_->closed()) {
      co_return respond_alone(route.kind);
    }
    const api::EventsRequest request =
        api::events_request(call.target, view_of(reader_.request()["Last-Event-ID"]));
    if (const auto refused =
            request.job ? shared_->service->refuse_job_events(call.caller, request.job->job)
                        : shared_->service->refuse_events(call.caller)) {
      co_return json_response(*refused);
    }
    if (!request.follow) {
      co_return kept_events(call.caller, request);
    }
    if (!with_body) {
      co_return text_response(std::string(event_stream_type), "");
    }
    if (const auto refused = refuse_stream(call.caller)) {
      co_return json_response(*refused);
    }
    stream_ = std::make_shared<EventStream>(*shared_, *transport_, deadline_);
    stream_->begin(call.caller, request);
  } catch (const api::RequestError& e) {
    co_return json_response(error_answer(400, e.what()));
  } catch (const std::exception& e) {
    co_return json_response(failure(route.path, e));
  }
  co_await stream(call.caller);
  co_return std::nullopt;
}

void Connection::note_caller(const api::Caller& caller) {
  if (caller.administrator) {
    caller_.clear();
    return shared_->shares.remove(peer_.id);
  }
  const std::string job = caller.token.empty() ? std::string() : shared_->service->job_of(caller);
  caller_ = job.empty() ? peer_.name : "job " + job;
  shared_->shares.belongs_to(peer_.id, caller_, !job.empty());
}

std::optional<Answer> Connection::refuse_stream(const api::Caller& caller) const {
  const auto own = shared_->event_streams_of.find(caller_);
  const bool is_open =
      caller.token.empty() && shared_->open_event_streams >= shared_->limits.open_event_streams;
  if (caller_.empty() || (!is_open && (own == shared_->event_streams_of.end() ||
                                       own->second < shared_->limits.event_streams_per_caller))) {
    return std::nullopt;
  }
  Answer busy =
      error_answer(429, fmt::format("{} event streams are open {}; close some, or read events with "
                                    "?follow=false, which needs none",
                                    is_open ? shared_->open_event_streams : own->second,
                                    is_open ? "without a token" : "of this caller"));
  busy.retry_after = 5;
  return busy;
}

asio::awaitable<void> Connection::stream(const api::Caller& caller) {
  const StreamCount counted(*shared_, caller_, caller.token.empty());
  const Response response = text_response(std::string(event_stream_type), "");
  ++shared_->answers[response.status];
  reader_.release();
  co_await stream_->run(text_of(response, {.keep_alive = false, .length_known = false}));
}

asio::awaitable<Response> Connection::metrics() {
  const service::Exposition form =
      service::exposition_for(view_of(reader_.request()[http::field::accept]));
  std::string text;
  for (std::optional<api::MetricsPlace> at = api::MetricsPlace{}; at;) {
    if (shared_->closed()) {
      co_return json_response(error_answer(503, "the manager is stopping"));
    }
    std::string part;
    at = shared_->service->metrics(*at, part);
    text += service::exposed(std::move(part), form);
    co_await asio::post(asio::use_awaitable);
  }
  text += service::exposed(server_metrics(*shared_) + service::process_metrics() + "# EOF\n", form);
  co_return text_response(std::string(service::content_type_of(form)), std::move(text));
}

Response Connection::respond_alone(api::Route::Kind kind) const {
  if (kind == api::Route::Kind::health) {
    return json_response(ok());
  }
  if (kind == api::Route::Kind::openapi) {
    return text_response("application/json", std::string(openapi_document()));
  }
  if (shared_->closed()) {
    return json_response(error_answer(503, "the manager is stopping"));
  }
  if (kind == api::Route::Kind::leadership) {
    const std::string why = shared_->service->not_leading_because();
    return json_response(
        why.empty() ? ok() : api::misdirected_answer(why, shared_->service->leader_url()));
  }
  const std::string missing = shared_->service->not_ready_because();
  return json_response(missing.empty() ? ok() : error_answer(503, missing));
}

Response Connection::page(const api::Call& call) {
  const std::string_view name =
      call.parameters.empty() ? std::string_view("index.html") : call.parameters[0];
  const web_page::File* const file = web_page::find(name);
  if (file == nullptr) {
    return json_response(error_answer(404, "the view has no such file; it begins at /"));
  }
  Response response = text_response(std::string(file->type), std::string(file->content));
  response.fields.emplace_back("Content-Security-Policy", std::string(page_policy));
  response.fields.emplace_back("X-Content-Type-Options", "nosniff");
  response.fields.emplace_back("Referrer-Policy", "no-referrer");
  return response;
}

Response Connection::kept_events(const api::Caller& caller,
                                 const api::EventsRequest& request) const {
  const auto reader = shared_->service->read_events(caller, request, [] {});
  std::string list;
  while (const auto event = reader->next()) {
    fmt::format_to(std::back_inserter(list), "{}{{\"number\":{},\"event\":\"{}\"{}{}",
                   list.empty() ? "" : ",", event->number, event->kind,
                   event->data == "{}" ? "" : ",", event->data.substr(1));
  }
  return text_response("application/json",
                       fmt::format("{{\"events\":[{}],\"last\":{}}}\n", list, reader->seen()));
}

asio::awaitable<Answer> Connection::ask(const api::Route& route, const api::Call& call) {
  answer_.reset();
  ++asked_;
  try {
    shared_->service->serve(route, call,
                            [pending = std::make_shared<Pending>(*this)](Answer answer) {
                              pending->give(std::move(answer));
                            });
  } catch (const api::RequestError& e) {
    answer_ = error_answer(400, e.what());
  } catch (const std::exception& e) {
    answer_ = failure(route.path, e);
  }
  if (!answer_) {
    deadline_.disarm();
    wake_.expires_after(answer_time);
    static_cast<void>(co_await wake_.async_wait(as_result));
  }
  ++asked_; // later answers are too late
  if (!answer_) {
    co_return error_answer(
        503, "the manager has not answered in time; whether it was done is not known");
  }
  co_return std::move(*answer_);
}

asio::awaitable<bool> Connection::send(Response response, Manner manner) {
  ++shared_->answers[response.status];
  const auto more = std::chrono::seconds(response.body.size() / bytes_per_second);
  const std::string text =
      text_of(response, {.keep_alive = manner.keep_alive, .with_body = manner.with_body});
  deadline_.arm(shared_->limits.write_time + more);
  const error_code error = co_await transport_->write(asio::buffer(text));
  if (!error && !manner.keep_alive) {
    co_await finish();
  }
  co_return !error && manner.keep_alive;
}

asio::awaitable<void> Connection::finish() {
  deadline_.arm(drain_time);
  co_await transport_->finish();
  std::array<char, 4096> ignored{};
  for (std::size_t total = 0; total < drain_bytes && !deadline_.expired();) {
    const auto [error, bytes] =
        co_await transport_->socket().async_read_some(asio::buffer(ignored), as_result);
    if (error) {
      break;
    }
    total += bytes;
  }
}

} // namespace tributary::rest
