// Reads the requests of one connection in turn: first the header, then the body if wanted. Bytes
// behind a request stay in the buffer for the next one. Each part has a size limit and a time limit
// that slow senders cannot extend. Event loop thread.
#pragma once

#include "controlplane/rest/deadline.hpp"
#include "controlplane/rest/shared.hpp"
#include "controlplane/rest/transport.hpp"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <memory>
#include <optional>

namespace tributary::rest {

namespace http = boost::beast::http;

class RequestReader {
public:
  /// The outcome: success, a refusal to be sent, or a client that is gone.
  struct Outcome {
    bool gone = false;
    std::optional<api::Answer> error;
  };

  RequestReader(Transport& transport, Deadline& deadline, Shared& shared);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  /// The header of the next request; after a refusal the connection cannot be used further. Also
  /// "gone" when no request arrives in time or the server stops.
  asio::awaitable<Outcome> header();
  /// The rest of the request.
  asio::awaitable<Outcome> body();

  [[nodiscard]] http::request<http::string_body>& request() { return parser_->get(); }
  /// No further request will be read: frees the memory.
  void release();

  /// Whether the whole request was received.
  [[nodiscard]] bool complete() const { return parser_->is_done(); }
  /// Whether the connection may be used for another request.
  [[nodiscard]] bool keep_alive() const { return parser_->keep_alive(); }
  /// Whether no byte of the next request has arrived.
  [[nodiscard]] bool idle() const { return idle_; }

private:
  using Parser = http::request_parser<http::string_body>;

  asio::awaitable<Outcome> read_body();
  /// Parses the buffer; true when more bytes are needed.
  bool parse(error_code& error);
  /// False when the client is gone, or the time is over.
  asio::awaitable<bool> receive();
  [[nodiscard]] api::Answer error_for(error_code error) const;
  /// Refuses a header that is ambiguous about the end of the request.
  [[nodiscard]] std::optional<api::Answer> refusal_of_framing() const;
  void count_body();
  void release_body();

  Transport& transport_;
  Deadline& deadline_;
  Shared& shared_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::size_t counted_bytes_ = 0; ///< counted in `Shared::buffered_bytes`
  bool first_ = true;             ///< no request has been read
  bool idle_ = true;
};

} // namespace tributary::rest
