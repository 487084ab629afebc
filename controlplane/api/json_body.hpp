// A request's body: JSON text to an object, and the fields of an object to checked values. Pure.
//
//   const json::object body = parse_body(text);
//   Fields fields(body);
//   request.size = fields.required_number("size", 1, max_contributions);
//
// Every function throws RequestError, whose message names the place: a line and column, or a field.
#pragma once

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tributary::api {

inline constexpr std::size_t max_json_depth = 16;
/// Longest name of a job, step, group or host, in bytes.
inline constexpr std::size_t max_name_bytes = 128;

/// Throws RequestError unless the text is one JSON object, not nested deeper than `max_json_depth`,
/// in which no object has a name twice.
[[nodiscard]] boost::json::object parse_body(std::string_view text);

/// The fields of an object. Names are case-insensitive, as in existing tools. Unknown fields are
/// ignored; a field that is null counts as missing.
class Fields {
public:
  explicit Fields(const boost::json::object& object) : object_(object) {}

  /// 1 to `max_name_bytes` bytes without control characters.
  [[nodiscard]] std::optional<std::string> name(std::string_view field) const;
  [[nodiscard]] std::string required_name(std::string_view field) const;
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view field, std::uint64_t least,
                                                    std::uint64_t most) const;
  [[nodiscard]] std::uint64_t required_number(std::string_view field, std::uint64_t least,
                                              std::uint64_t most) const;
  /// False when it is missing.
  [[nodiscard]] bool flag(std::string_view field) const;
  [[nodiscard]] std::optional<bool> flag_if_there(std::string_view field) const;
  [[nodiscard]] bool has(std::string_view field) const { return find(field) != nullptr; }
  /// nullptr when it is missing.
  [[nodiscard]] const boost::json::array* list(std::string_view field) const;
  [[nodiscard]] const boost::json::array& required_list(std::string_view field) const;
  [[nodiscard]] const boost::json::object& required_object(std::string_view field) const;
  [[nodiscard]] const boost::json::value& required(std::string_view field) const;

private:
  [[nodiscard]] const boost::json::value* find(std::string_view field) const;

  const boost::json::object& object_;
};

/// Throws RequestError, which calls it `what`, unless it is a name that `Fields::name` accepts.
void check_name(std::string_view what, std::string_view name);

/// A value for messages, truncated.
[[nodiscard]] std::string shown(const boost::json::value& value);

} // namespace tributary::api
