// Errors between a client and the fabric manager, with a message for people: what happened, at
// which address, and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace tributary::manager_client {

class ManagerError : public std::runtime_error {
public:
  enum class Kind {
    unreachable, ///< no program listens there, the name is unknown, or the connection broke
    untrusted,   ///< TLS: the certificate was not accepted, or the handshake failed
    timed_out,   ///< it was reached, and did not answer in time
    garbled,     ///< the answer does not follow the API document
    refused,     ///< it answered with a failure; `status` has its code, the message is its own
    not_ready,   ///< a group was not ready in time; the message names the missing members
    cancelled,   ///< `cancel` was called
  };
  ManagerError(Kind kind, const std::string& message, unsigned status = 0)
      : std::runtime_error(message), kind_(kind), status_(status) {}
  [[nodiscard]] Kind kind() const { return kind_; }
  /// The HTTP status of a refusal, otherwise 0.
  [[nodiscard]] unsigned status() const { return status_; }
  /// Whether asking again is in vain. Not so while the manager is away, not ready (5xx), a standby
  /// (421), or busy (429).
  [[nodiscard]] bool is_final() const {
    return kind_ == Kind::refused ? status_ < 500 && status_ != 421 && status_ != 429
                                  : kind_ == Kind::garbled || kind_ == Kind::untrusted;
  }

private:
  Kind kind_;
  unsigned status_;
};

} // namespace tributary::manager_client
