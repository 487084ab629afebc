// An answer that is an error: the HTTP status of docs/protocol/manager-api.md, and for a person
// what is refused, why, and what to do.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace tributary::group {

struct Error {
  unsigned status = 0;
  std::string message;
  /// It contradicts what is there and will stay: asking the same again soon is of no use.
  bool contradicts = false;
  friend bool operator==(const Error&, const Error&) = default;
};

/// What was asked for, or why not.
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
