#include "controlplane/etcd/client.hpp"

#include "lib/net/as_result.hpp"
#include "lib/net/limit_silence.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace tributary::etcd {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using net::as_result;

namespace {

constexpr std::uint16_t default_port = 2379;
/// A page of records, and more than etcd's largest answer to anything else.
constexpr std::uint64_t largest_answer_bytes = 256 << 20;
constexpr std::size_t stream_piece_bytes = 64 << 10;
/// How often a call looks whether a name was looked up.
constexpr std::chrono::milliseconds look_up_pause{5};
/// A watch is silent for minutes; only the connection itself is watched.
constexpr std::chrono::seconds longest_stream_silence{10};

using Message = http::request<http::string_body>;

Message message_of(const std::string& method, const std::string& path, std::string body,
                   const std::string& host, const std::string& token) {
  Message message;
  message.version(11);
  message.method_string(method);
  message.target(path);
  message.set(http::field::host, host);
  message.set(http::field::user_agent, "tributary-fabricd");
  if (!token.empty()) {
    message.set(http::field::authorization, token);
  }
  if (!body.empty()) {
    message.set(http::field::content_type, "application/json");
    message.body() = std::move(body);
  }
  message.prepare_payload();
  return message;
}

/// Calls `with(stream)` for the stream that is open.
template <typename Streams, typename F> asio::awaitable<error_code> on(Streams& streams, F with) {
  if (auto* const plain = std::get_if<1>(&streams)) {
    co_return co_await with(*plain);
  }
  if (auto* const tls = std::get_if<2>(&streams)) {
    co_return co_await with(*tls);
  }
  co_return asio::error::not_connected;
}

Reply read_reply(unsigned status, const std::string& body) {
  if (status != 200) {
    return failure_of(status, body);
  }
  error_code wrong;
  boost::json::value document = boost::json::parse(body, wrong);
  if (wrong || !document.is_object()) {
    return Failure{Failure::Kind::unknown,
                   fmt::format("the answer is not a JSON object: {}", body.substr(0, 100))};
  }
  // A stream of one message may hold an error with status 200.
  if (document.get_object().contains("error")) {
    return failure_of(status, body);
  }
  return std::move(document.get_object());
}

net::TlsSettings tls_settings(const net::TlsFiles& files) {
  return {.role = net::TlsRole::client,
          .oldest = net::TlsVersion::tls_1_2,
          .verify = files.ca.empty() ? net::TlsVerify::system : net::TlsVerify::authority,
          .files = files};
}

} // namespace

std::string Endpoint::text() const {
  return fmt::format("{}://{}", tls ? "https" : "http", place.text());
}

Endpoint parse_endpoint(std::string_view text) {
  for (const bool tls : {false, true}) {
    const std::string_view scheme = tls ? "https://" : "http://";
    if (text.starts_with(scheme)) {
      std::string_view place = text.substr(scheme.size());
      if (place.ends_with('/')) {
        place.remove_suffix(1);
      }
      return {tls, net::parse_host_port(place, net::Purpose::dial, default_port)};
    }
  }
  throw net::AddressError(text, "begins with neither http:// nor https://");
}

Client::Client(asio::io_context& context, const ClientSettings& settings)
    : context_(context), tls_files_(tls_settings(settings.tls)), user_(settings.user),
      password_(settings.password) {
  for (const Endpoint& endpoint : settings.endpoints) {
    endpoints_.push_back(std::make_shared<Known>(Known{endpoint}));
  }
  if (std::ranges::any_of(settings.endpoints, &Endpoint::tls)) {
    static_cast<void>(tls_files_.context()); // throws for files that cannot be used
  }
}

Client::Tcp& Client::tcp() {
  auto* const tls = std::get_if<Tls>(&stream_);
  return tls != nullptr ? tls->next_layer() : std::get<Tcp>(stream_);
}

void Client::close() {
  if (is_open()) {
    error_code ignored;
    tcp().socket().close(ignored); // ends what is under way; the stream is replaced by `open`
  }
}

Failure Client::give_up(const std::string& why) {
  Failure failure{Failure::Kind::unknown, fmt::format("{}: {}", place(), why)};
  close();
  stream_.emplace<std::monostate>();
  at_ = (at_ + 1) % endpoints_.size();
  return failure;
}

// ---- connecting ----

asio::awaitable<void> Client::look_up(asio::io_context& context, std::shared_ptr<Known> known) {
  asio::ip::tcp::resolver resolver(context);
  const auto [error, found] = co_await resolver.async_resolve(
      known->endpoint.place.host, std::to_string(known->endpoint.place.port), as_result);
  known->is_looked_up = false;
  if (error) {
    known->look_up_error = error.message();
    co_return;
  }
  known->addresses.clear();
  for (const auto& entry : found) {
    known->addresses.push_back(entry.endpoint());
  }
}

asio::awaitable<std::string> Client::open(Clock::time_point end) {
  const std::shared_ptr<Known> shared = endpoints_[at_];
  Known& known = *shared;
  buffer_.clear();
  if (!std::exchange(known.is_looked_up, true)) {
    known.look_up_error.clear();
    asio::co_spawn(context_, look_up(context_, shared), asio::detached);
  }
  asio::steady_timer timer(context_);
  while (known.addresses.empty()) {
    if (!known.is_looked_up && !known.look_up_error.empty()) {
      co_return fmt::format("its name is not found: {}", known.look_up_error);
    }
    if (Clock::now() >= end) {
      co_return "the look-up of its name takes too long";
    }
    timer.expires_after(look_up_pause);
    co_await timer.async_wait(as_result);
  }
  const std::vector<asio::ip::tcp::endpoint> addresses = known.addresses;
  Tcp stream(context_);
  stream.expires_at(end);
  const auto [error, where] = co_await stream.async_connect(addresses, as_result);
  if (error) {
    co_return fmt::format("no connection: {}", error.message());
  }
  error_code ignored;
  stream.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  net::limit_silence(stream.socket().native_handle(), longest_stream_silence);
  if (!known.endpoint.tls) {
    stream_.emplace<Tcp>(std::move(stream));
    co_return std::string();
  }
  try {
    tls_ = tls_files_.context();
  } catch (const net::TlsError& unusable) {
    co_return unusable.what();
  }
  auto& tls = stream_.emplace<Tls>(std::move(stream), *tls_);
  net::expect_host(tls.native_handle(), known.endpoint.place.host);
  const auto [refused] = co_await tls.async_handshake(asio::ssl::stream_base::client, as_result);
  if (refused) {
    co_return fmt::format("no TLS: {}; check its certificate, the name it was made for, and the "
                          "certificate authority of store.etcd_ca",
                          refused.message());
  }
  co_return std::string();
}

// ---- calls ----

asio::awaitable<Reply> Client::exchange(std::string method, std::string path, std::string body,
                                        Clock::time_point end) {
  if (!is_open() || !tcp().socket().is_open()) {
    stream_.emplace<std::monostate>();
    if (const std::string why = co_await open(end); !why.empty()) {
      co_return give_up(why);
    }
  }
  const Message message =
      message_of(method, path, std::move(body), endpoints_[at_]->endpoint.place.text(), token_);
  tcp().expires_at(end);
  const error_code unsent = co_await on(stream_, [&](auto& stream) -> asio::awaitable<error_code> {
    const auto [error, bytes] = co_await http::async_write(stream, message, as_result);
    co_return error;
  });
  if (unsent) {
    co_return give_up(unsent.message());
  }
  http::response_parser<http::string_body> parser;
  parser.body_limit(largest_answer_bytes);
  const error_code error = co_await on(stream_, [&](auto& stream) -> asio::awaitable<error_code> {
    const auto [failed, bytes] = co_await http::async_read(stream, buffer_, parser, as_result);
    co_return failed;
  });
  if (error) {
    co_return give_up(error == beast::error::timeout ? "no answer in time" : error.message());
  }
  Reply reply = read_reply(parser.get().result_int(), parser.get().body());
  if (const auto* const failure = std::get_if<Failure>(&reply)) {
    if (failure->kind == Failure::Kind::unknown) {
      co_return give_up(failure->text); // another member may have a leader
    }
    if (failure->kind == Failure::Kind::token) {
      token_.clear();
    }
  }
  if (!parser.keep_alive()) {
    close();
  }
  co_return reply;
}

asio::awaitable<Reply> Client::login(Clock::time_point end) {
  const Request request = authenticate_request(user_, password_);
  Reply reply = co_await exchange("POST", request.path, boost::json::serialize(request.body), end);
  if (const auto* const body = std::get_if<boost::json::object>(&reply)) {
    try {
      token_ = token_of(*body);
    } catch (const std::exception&) {
      co_return Failure{Failure::Kind::rejected, "etcd gave no token"};
    }
  }
  co_return reply;
}

asio::awaitable<Reply> Client::call(Request request, Limit limit) {
  const Clock::time_point end = Clock::now() + limit;
  if (!user_.empty() && token_.empty()) {
    Reply entered = co_await login(end);
    if (std::holds_alternative<Failure>(entered)) {
      co_return entered;
    }
  }
  co_return co_await exchange("POST", std::move(request.path), boost::json::serialize(request.body),
                              end);
}

asio::awaitable<Reply> Client::get(std::string path, Limit limit) {
  co_return co_await exchange("GET", std::move(path), {}, Clock::now() + limit);
}

asio::awaitable<Failure> Client::stream(Request request, Limit limit,
                                        std::function<void(std::string_view)> take) {
  const Clock::time_point end = Clock::now() + limit;
  if (!user_.empty() && token_.empty()) {
    Reply entered = co_await login(end);
    if (auto* const failure = std::get_if<Failure>(&entered)) {
      co_return *failure;
    }
  }
  // Its own connection: the answer to another call may still be under way on this one.
  close();
  stream_.emplace<std::monostate>();
  if (const std::string why = co_await open(end); !why.empty()) {
    co_return give_up(why);
  }
  const Message message = message_of("POST", request.path, boost::json::serialize(request.body),
                                     endpoints_[at_]->endpoint.place.text(), token_);
  http::response_parser<http::buffer_body> parser;
  parser.body_limit(boost::none);
  tcp().expires_at(end);
  const error_code begun = co_await on(stream_, [&](auto& stream) -> asio::awaitable<error_code> {
    const auto [unsent, sent] = co_await http::async_write(stream, message, as_result);
    if (unsent) {
      co_return unsent;
    }
    const auto [error, got] = co_await http::async_read_header(stream, buffer_, parser, as_result);
    co_return error;
  });
  if (begun) {
    co_return give_up(begun == beast::error::timeout ? "no answer in time" : begun.message());
  }
  tcp().expires_never();
  const unsigned status = parser.get().result_int();
  std::string error_body;
  std::array<char, stream_piece_bytes> piece{};
  while (!parser.is_done()) {
    auto& body = parser.get().body();
    body.data = piece.data();
    body.size = piece.size();
    const error_code error = co_await on(stream_, [&](auto& stream) -> asio::awaitable<error_code> {
      const auto [failed, got] = co_await http::async_read_some(stream, buffer_, parser, as_result);
      co_return failed;
    });
    if (error && error != http::error::need_buffer) {
      co_return give_up(error.message());
    }
    const std::string_view bytes(piece.data(), piece.size() - parser.get().body().size);
    if (status != 200) {
      error_body += bytes;
      continue;
    }
    try {
      take(bytes);
    } catch (const std::exception& wrong) {
      co_return give_up(fmt::format("not a stream of etcd's: {}", wrong.what()));
    }
  }
  if (status == 200) {
    co_return give_up("etcd ended the stream");
  }
  Failure failure = failure_of(status, error_body);
  if (failure.kind == Failure::Kind::token) {
    token_.clear();
  }
  static_cast<void>(give_up(failure.text));
  co_return failure;
}

} // namespace tributary::etcd
