#include "endpoint/manager_client/manager_client.hpp"

#include "endpoint/manager_client/connection.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tributary::manager_client {

namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;
using Kind = ManagerError::Kind;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds first_back_off{50};
constexpr milliseconds longest_back_off{5000};
/// Enough for the topology of the largest fabric.
constexpr std::uint64_t longest_answer_bytes = std::uint64_t{256} << 20;

/// The status of a standby: only the leader answers the request.
constexpr unsigned misdirected = 421;

/// Whether another manager, or the same one later, may have a better answer.
bool is_elsewhere(unsigned status) { return status == 503 || status == misdirected; }

/// The leader's address in a standby's answer; "" without one.
std::string leader_in(const std::string& body) {
  boost::system::error_code error;
  const boost::json::value answer = boost::json::parse(body, error);
  const auto* const object = error ? nullptr : answer.if_object();
  const auto* const leader = object == nullptr ? nullptr : object->if_contains("leader");
  return leader != nullptr && leader->is_string() ? std::string(leader->get_string())
                                                  : std::string();
}

std::optional<std::chrono::seconds> parse_seconds(std::string_view text) {
  long seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size() || seconds < 0) {
    return std::nullopt;
  }
  return std::chrono::seconds(seconds);
}

} // namespace

struct ManagerClient::Raw {
  unsigned status = 0;
  std::string body;
  std::optional<std::chrono::seconds> retry_after;
};

std::string Answer::message() const {
  if (const auto* object = body.if_object()) {
    if (const auto* message = object->if_contains("message"); message && message->is_string()) {
      return std::string(message->get_string());
    }
  }
  const auto reason = http::obsolete_reason(static_cast<http::status>(status));
  return fmt::format("status {} {}", status, std::string_view(reason.data(), reason.size()));
}

void throw_unless_done(const Answer& answer, std::string_view doing) {
  if (!answer.done()) {
    throw ManagerError(
        Kind::refused,
        fmt::format("the fabric manager refused, while {}: {}", doing, answer.message()),
        answer.status);
  }
}

ManagerClient::ManagerClient(ClientSettings settings)
    : settings_(std::move(settings)), connection_(std::make_unique<Connection>(settings_)) {}

ManagerClient::~ManagerClient() = default;

Answer ManagerClient::get(std::string_view path) { return call("GET", path, nullptr); }

Answer ManagerClient::post(std::string_view path, const boost::json::value& body,
                           milliseconds answer_limit) {
  return call("POST", path, &body, answer_limit);
}

Answer ManagerClient::put(std::string_view path, const boost::json::value& body) {
  return call("PUT", path, body.is_null() ? nullptr : &body);
}

Answer ManagerClient::patch(std::string_view path, const boost::json::value& body) {
  return call("PATCH", path, &body);
}

Answer ManagerClient::del(std::string_view path) { return call("DELETE", path, nullptr); }

Answer ManagerClient::call(std::string_view method, std::string_view path,
                           const boost::json::value* body, milliseconds answer_limit) {
  const Raw raw = ask(method, path, body, answer_limit);
  Answer answer{.status = raw.status, .body = {}, .retry_after = raw.retry_after};
  if (raw.body.empty()) {
    return answer;
  }
  boost::system::error_code error;
  answer.body = boost::json::parse(raw.body, error);
  if (error && answer.done()) {
    throw ManagerError(Kind::garbled,
                       fmt::format("{} {}: the server at {} answered {} with something that is not "
                                   "JSON; is it a fabric manager?",
                                   method, path, connection_->address().text(), raw.status));
  }
  return answer;
}

ManagerClient::Raw ManagerClient::ask(std::string_view method, std::string_view path,
                                      const boost::json::value* body, milliseconds answer_limit) {
  std::optional<std::string> text;
  if (body != nullptr) {
    text = boost::json::serialize(*body);
  }
  if (answer_limit == milliseconds::zero()) {
    answer_limit = settings_.answer_limit;
  }
  const auto retries_end = Clock::now() + settings_.retry_limit;
  for (milliseconds back_off = first_back_off;;
       back_off = std::min(2 * back_off, longest_back_off)) {
    const bool last = Clock::now() >= retries_end;
    try {
      Raw raw = ask_all(method, path, text ? &*text : nullptr, answer_limit);
      if (!is_elsewhere(raw.status) || last) {
        return raw;
      }
    } catch (const ManagerError& error) {
      const bool away = error.kind() == Kind::unreachable || error.kind() == Kind::timed_out;
      if (!away || last) {
        throw;
      }
    }
    const auto left = std::chrono::ceil<milliseconds>(retries_end - Clock::now());
    sleep(std::clamp(left, milliseconds(0), back_off));
  }
}

ManagerClient::Raw ManagerClient::ask_all(std::string_view method, std::string_view path,
                                          const std::string* body, milliseconds answer_limit) {
  std::optional<Raw> unready; // that of the leader, if it answered
  std::optional<ManagerError> failure;
  connection_->begin_round();
  do {
    try {
      Raw raw = attempt(method, path, body, answer_limit);
      if (!is_elsewhere(raw.status)) {
        return raw;
      }
      if (raw.status == misdirected) {
        connection_->name_leader(leader_in(raw.body));
      }
      if (!unready || raw.status != misdirected) {
        unready = std::move(raw);
      }
    } catch (const ManagerError& error) {
      if (error.kind() == Kind::cancelled) {
        throw;
      }
      // Of several errors the one after which it is worth to ask again.
      if (!failure || failure->kind() == Kind::untrusted || failure->kind() == Kind::garbled) {
        failure = error;
      }
    }
  } while (connection_->advance());
  if (!unready) {
    throw ManagerError(*failure);
  }
  return *std::move(unready);
}

ManagerClient::Raw ManagerClient::attempt(std::string_view method, std::string_view path,
                                          const std::string* body, milliseconds answer_limit) {
  Connection::Request request = connection_->request(method, path);
  request.set(http::field::accept, "application/json, text/plain;q=0.5, */*;q=0.1");
  request.keep_alive(true);
  if (body != nullptr) {
    request.set(http::field::content_type, "application/json");
    request.body() = *body;
  }
  request.prepare_payload();

  const auto exchange = [&] {
    if (!connection_->is_open()) {
      connection_->open(settings_.connect_limit);
    }
    const auto deadline = Clock::now() + answer_limit;
    connection_->send(request, deadline);
    http::response_parser<http::string_body> parser;
    parser.body_limit(longest_answer_bytes);
    connection_->receive(parser, deadline);
    Raw raw{.status = parser.get().result_int(), .body = {}, .retry_after = {}};
    const auto retry_after = parser.get()[http::field::retry_after];
    raw.retry_after = parse_seconds({retry_after.data(), retry_after.size()});
    const bool keep = parser.keep_alive();
    raw.body = std::move(parser.get().body());
    if (!keep) {
      connection_->close();
    }
    return raw;
  };
  const bool reused = connection_->is_open();
  try {
    return exchange();
  } catch (const ManagerError& error) {
    connection_->close();
    // The server may close an idle connection at the moment of its reuse.
    if (!reused || error.kind() != Kind::unreachable) {
      throw;
    }
  }
  try {
    return exchange();
  } catch (const ManagerError&) {
    connection_->close();
    throw;
  }
}

void ManagerClient::sleep(milliseconds duration) {
  connection_->wait([] { return false; }, Clock::now() + duration);
}

void ManagerClient::cancel() { connection_->cancel(); }

std::string encoded(std::string_view name) {
  constexpr std::string_view unreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string result;
  for (const char c : name) {
    if (unreserved.find(c) != std::string_view::npos) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

} // namespace tributary::manager_client
