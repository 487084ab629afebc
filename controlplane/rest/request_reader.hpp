// Reads the requests of one connection, one after the other: first a header, then, when it is
// wanted, the body. Bytes behind a request stay in the buffer for the next one. Each part has a
// size limit and a time limit that no drop-by-drop sending moves. Event loop thread.
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
  /// How it ended: well, with a refusal to be sent, or with the client gone.
  struct Outcome {
    bool gone = false;
    std::optional<api::Answer> error;
  };

  RequestReader(Transport& transport, Deadline& deadline, Shared& shared);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  /// The header of the next request; after a refusal the connection is of no more use. "Gone", too,
  /// when none comes in time or the server stops.
  asio::awaitable<Outcome> header();
  /// The rest of the request.
  asio::awaitable<Outcome> body();

  [[nodiscard]] http::request<http::string_body>& request() { return parser_->get(); }
  /// No request is read any more: gives its memory back.
  void release();

  /// Whether the client has sent all of the request.
  [[nodiscard]] bool complete() const { return parser_->is_done(); }
  /// Whether the connection may be used for another request.
  [[nodiscard]] bool keep_alive() const { return parser_->keep_alive(); }
  /// Whether not a byte of the next request has come.
  [[nodiscard]] bool idle() const { return idle_; }

private:
  using Parser = http::request_parser<http::string_body>;

  asio::awaitable<Outcome> read_body();
  /// Parses what is in the buffer; true when more bytes are needed to go on.
  bool parse(error_code& error);
  /// False when there are none: the client is gone, or the time is over.
  asio::awaitable<bool> receive();
  [[nodiscard]] api::Answer error_for(error_code error) const;
  /// Of a header that leaves in doubt where the request ends.
  [[nodiscard]] std::optional<api::Answer> refusal_of_framing() const;
  void count_body();
  void release_body();

  Transport& transport_;
  Deadline& deadline_;
  Shared& shared_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::size_t counted_bytes_ = 0; ///< of `Shared::buffered_bytes`
  bool first_ = true;             ///< no request has been read
  bool idle_ = true;
};

} // namespace tributary::rest
