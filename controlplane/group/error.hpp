// Why a request is refused, or a group has ended: a kind, which programs tell apart, and for a
// person what is refused, why, and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace tributary::group {

enum class ErrorKind : std::uint8_t {
  invalid,       ///< what was asked for can never be had: sizes, ranks, what contradicts itself
  unknown_token, ///< it is no job's, or that of one that has ended
  forbidden,     ///< it is another job's, or kept from this one
  not_found,
  conflict,    ///< with what is there now
  unreachable, ///< hosts that no switch has heard of, or that no path connects
  unavailable, ///< switches could not be told, or the manager failed at it itself
  exhausted,   ///< numbers, addresses, limits, descriptors: no more are left
};

struct Error {
  ErrorKind kind{};
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
