// A small blocking HTTP/1.1 client of the fabric manager (docs/protocol/manager-api.md).
//
//   ManagerClient manager({.addresses = parse_addresses("unix:/run/tributary/fabricd.sock")});
//   const Answer answer = manager.get("/api/v1/groups");
//   throw_unless_done(answer, "listing the groups");
//   use(answer.body.at("groups"));
//
// Every call returns the manager's answer, whatever the status, or throws ManagerError without one.
// One connection is kept open between calls and reopened when it broke in between. With
// `retry_limit` a manager that is away (connection refused, or 503) is asked again, first after 50
// ms, then twice as long up to 5 s, until that is over: restarts of the manager do not show. A
// request that reached it is not repeated unless that is harmless: GET, PUT and DELETE; and POST,
// for the API's POSTs answer a repetition with the existing object or with 409.
//
// With several addresses, those of a leader and its standbys, each is asked until one answers: the
// next after an error, 503 (not ready) or 421 (a standby, which may name the leader's address),
// each with its own limits. Without `retry_limit` each is asked once.
//
// Name look-up is the system's and has the system's time limits; everything else here has its own.
// No thread of its own. One thread at a time, except for `cancel`, which any thread may call.
#pragma once

#include "endpoint/manager_client/address.hpp"
#include "endpoint/manager_client/manager_error.hpp"

#include <boost/json/value.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::manager_client {

struct ClientSettings {
  std::vector<Address> addresses; ///< at least one
  /// Bearer token; "" sends none (the Unix socket needs none for root and the manager's user).
  std::string token;
  /// Authorities for checking certificates, with https: "" the system's, "off" no check at all,
  /// otherwise a PEM file or a directory of them.
  std::string certificate_authority;
  /// Limit for each address that the name of the host has; with several, at most a second.
  std::chrono::milliseconds connect_limit{3000};
  /// From the request's first byte to the answer's last; a call may have a longer one.
  std::chrono::milliseconds answer_limit{10'000};
  /// How long to keep asking a manager that is away. 0: asked once.
  std::chrono::milliseconds retry_limit{0};
};

struct Answer {
  unsigned status = 0;
  boost::json::value body; ///< null without a body
  /// When to ask again, if the answer had it.
  std::optional<std::chrono::seconds> retry_after;

  [[nodiscard]] bool done() const { return status >= 200 && status < 300; }
  /// The manager's own message about a failure, or the status as text if it sent none.
  [[nodiscard]] std::string message() const;
};

/// Throws ManagerError of kind `refused` unless the answer is a success. `doing` completes "while
/// ...".
void throw_unless_done(const Answer& answer, std::string_view doing);

class Connection;

class ManagerClient {
public:
  /// Connects with the first call. Throws ManagerError when the certificate authority cannot be
  /// read.
  explicit ManagerClient(ClientSettings settings);
  ~ManagerClient();
  ManagerClient(const ManagerClient&) = delete;
  ManagerClient& operator=(const ManagerClient&) = delete;

  // `path` begins with a slash, may have a query, and is encoded already (`encoded`).
  // `answer_limit` of zero means that of the settings.
  Answer get(std::string_view path);
  Answer post(std::string_view path, const boost::json::value& body,
              std::chrono::milliseconds answer_limit = {});
  Answer put(std::string_view path, const boost::json::value& body = nullptr);
  Answer patch(std::string_view path, const boost::json::value& body);
  Answer del(std::string_view path);

  /// Sleeps for `duration`, unless cancelled.
  void sleep(std::chrono::milliseconds duration);
  void set_retry_limit(std::chrono::milliseconds limit) { settings_.retry_limit = limit; }
  /// Ends a call that is in progress, and every later one, with ManagerError of kind `cancelled`.
  void cancel();
  [[nodiscard]] const ClientSettings& settings() const { return settings_; }

private:
  struct Raw;
  Raw ask(std::string_view method, std::string_view path, const boost::json::value* body,
          std::chrono::milliseconds answer_limit);
  Raw attempt(std::string_view method, std::string_view path, const std::string* body,
              std::chrono::milliseconds answer_limit);
  /// Asks every address until one answers with a status other than 503 and 421.
  Raw ask_all(std::string_view method, std::string_view path, const std::string* body,
              std::chrono::milliseconds answer_limit);
  Answer call(std::string_view method, std::string_view path, const boost::json::value* body,
              std::chrono::milliseconds answer_limit = {});
  ClientSettings settings_;
  std::unique_ptr<Connection> connection_;
};

/// A name as one segment of a path.
[[nodiscard]] std::string encoded(std::string_view name);

} // namespace tributary::manager_client
