// Why a request is refused, or a group has ended: a kind, for programs, and a text for people: what
// is refused, why, and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace tributary::group {

enum class ErrorKind : std::uint8_t {
  invalid,       ///< the request can never succeed: sizes, ranks, contradictions
  unknown_token, ///< the token of no job, or of a job that has ended
  forbidden,     ///< it belongs to another job, or is closed to this one
  not_found,
  conflict,    ///< with the current state
  unreachable, ///< hosts that no switch has learned, or that no path connects
  unavailable, ///< switches could not be notified, or the manager itself failed
  exhausted,   ///< numbers, addresses, limits, descriptors: none is left
};

struct Error {
  ErrorKind kind{};
  std::string message;
  /// A lasting conflict with the current state: repeating the request soon is of no use.
  bool contradicts = false;
  friend bool operator==(const Error&, const Error&) = default;
};

/// The requested value, or the error.
template <typename T> class Result {
public:
  Result(T value) : held_(std::move(value)) {}     // NOLINT: converts on purpose
  Result(Error error) : held_(std::move(error)) {} // NOLINT: converts on purpose

  [[nodiscard]] bool ok() const { return held_.index() == 0; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const T& operator*() const { return std::get<0>(held_); }
  [[nodiscard]] const T* operator->() const { return &std::get<0>(held_); }
  [[nodiscard]] const Error& error() const { return std::get<1>(held_); }

private:
  std::variant<T, Error> held_;
};

} // namespace tributary::group
