#include "controlplane/rest/request_reader.hpp"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/format.h>

#include <utility>

namespace tributary::rest {

using api::Answer;
using api::error_answer;

namespace {

/// Received at a time.
constexpr std::size_t chunk_bytes = 8 * 1024;

Answer too_slow(std::string_view what, std::chrono::milliseconds limit) {
  return error_answer(408, fmt::format("the request's {} did not arrive within {} s", what,
                                       static_cast<double>(limit.count()) / 1000));
}

} // namespace

RequestReader::RequestReader(Transport& transport, Deadline& deadline, Shared& shared)
    : transport_(transport), deadline_(deadline), shared_(shared),
      buffer_(shared.limits.header_bytes + 2 * chunk_bytes) {}

RequestReader::~RequestReader() { release_body(); }

asio::awaitable<RequestReader::Outcome> RequestReader::header() {
  const Limits& limits = shared_.limits;
  release_body();
  parser_.emplace();
  parser_->eager(false);
  parser_->header_limit(static_cast<std::uint32_t>(limits.header_bytes));
  parser_->body_limit(limits.body_bytes);

  const bool waits = buffer_.size() == 0;
  idle_ = waits;
  deadline_.arm(waits && !first_ ? limits.idle_time : limits.header_time);
  while (!parser_->is_header_done()) {
    error_code error;
    const bool needs_more = parse(error);
    if (error) {
      co_return Outcome{.gone = false, .error = error_for(error)};
    }
    if (!needs_more) {
      continue;
    }
    if (idle_ && shared_.stopping) {
      co_return Outcome{.gone = true, .error = {}};
    }
    if (!co_await receive()) {
      // A used connection may be idle for the full time; a new one has to send a request.
      const bool late = deadline_.expired() && (first_ || !idle_);
      co_return Outcome{.gone = !late,
                        .error = late ? std::optional(too_slow("header", limits.header_time))
                                      : std::nullopt};
    }
    if (std::exchange(idle_, false) && !first_) {
      deadline_.arm(limits.header_time);
    }
  }
  first_ = false;
  idle_ = false;
  co_return Outcome{.gone = false, .error = refusal_of_framing()};
}

std::optional<Answer> RequestReader::refusal_of_framing() const {
  const auto& request = parser_->get();
  if (request.count(http::field::content_length) > 1 ||
      request[http::field::content_length].find(',') != boost::beast::string_view::npos) {
    return error_answer(400, "a request has one Content-Length");
  }
  const std::size_t codings = request.count(http::field::transfer_encoding);
  if (codings == 0) {
    return std::nullopt;
  }
  if (request.version() < 11 || request.count(http::field::content_length) != 0) {
    return error_answer(400, "Transfer-Encoding needs HTTP/1.1 and no Content-Length");
  }
  // With any other coding the parser would take the body for the next request.
  if (codings > 1 || !boost::beast::iequals(request[http::field::transfer_encoding], "chunked")) {
    return error_answer(501, "the only supported Transfer-Encoding is chunked");
  }
  return std::nullopt;
}

asio::awaitable<RequestReader::Outcome> RequestReader::body() {
  Outcome outcome = co_await read_body();
  if (outcome.error) {
    release_body();
  }
  co_return outcome;
}

asio::awaitable<RequestReader::Outcome> RequestReader::read_body() {
  const Limits& limits = shared_.limits;
  deadline_.arm(limits.body_time);
  while (!parser_->is_done()) {
    error_code error;
    const bool needs_more = parse(error);
    if (error) {
      co_return Outcome{.gone = false, .error = error_for(error)};
    }
    count_body();
    if (shared_.buffered_bytes > limits.buffered_bytes) {
      Answer busy =
          error_answer(503, "too many large requests are being received; try again later");
      busy.retry_after = 1;
      co_return Outcome{.gone = false, .error = std::move(busy)};
    }
    if (!needs_more || parser_->is_done()) {
      continue;
    }
    if (!co_await receive()) {
      const bool late = deadline_.expired();
      co_return Outcome{.gone = !late,
                        .error = late ? std::optional(too_slow("body", limits.body_time))
                                      : std::nullopt};
    }
  }
  co_return Outcome{};
}

bool RequestReader::parse(error_code& error) {
  if (buffer_.size() == 0) {
    return true;
  }
  const std::size_t taken = parser_->put(buffer_.data(), error);
  buffer_.consume(taken);
  if (error == http::error::need_more) {
    error = {};
    // Only a header, or the length and extensions of a chunk, may have to be complete.
    if (buffer_.size() + chunk_bytes > buffer_.max_size()) {
      error = http::make_error_code(http::error::header_limit);
    }
    return true;
  }
  return taken == 0;
}

asio::awaitable<bool> RequestReader::receive() {
  if (deadline_.expired() || buffer_.size() + chunk_bytes > buffer_.max_size()) {
    co_return false;
  }
  const Received received = co_await transport_.read(buffer_.prepare(chunk_bytes));
  buffer_.commit(received.bytes);
  co_return received.bytes > 0;
}

Answer RequestReader::error_for(error_code error) const {
  using Error = http::error;
  if (error == Error::header_limit || error == Error::buffer_overflow) {
    return error_answer(431, fmt::format("the request's header is longer than {} bytes",
                                         shared_.limits.header_bytes));
  }
  if (error == Error::body_limit) {
    return error_answer(
        413, fmt::format("the request's body is longer than {} bytes", shared_.limits.body_bytes));
  }
  return error_answer(400, fmt::format("this is not a request of HTTP/1.1: {}", error.message()));
}

void RequestReader::count_body() {
  const std::size_t size = parser_->get().body().size();
  shared_.buffered_bytes += size - counted_bytes_;
  counted_bytes_ = size;
}

void RequestReader::release() {
  release_body();
  parser_.reset();
  buffer_.consume(buffer_.size());
  buffer_.shrink_to_fit();
}

void RequestReader::release_body() {
  shared_.buffered_bytes -= std::exchange(counted_bytes_, 0);
  if (parser_) {
    parser_->get().body() = {};
  }
}

} // namespace tributary::rest
