#include "controlplane/api/json_body.hpp"

#include "controlplane/api/request_error.hpp"
#include "controlplane/api/target.hpp"
#include "tributary/text.hpp"

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace tributary::api {
namespace {

namespace json = boost::json;
using json::error_code;

std::string_view view_of(json::string_view text) { return {text.data(), text.size()}; }

/// Truncated after a whole character.
std::string shortened(std::string_view text) {
  constexpr std::size_t longest = 48;
  if (text.size() <= longest) {
    return std::string(text);
  }
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return std::string(text.substr(0, end)) + "...";
}

/// Stops the parser at a name that its object already has: the library's own objects would silently
/// keep one of the two.
struct DuplicateFinder {
  constexpr static std::size_t max_object_size = static_cast<std::size_t>(-1);
  constexpr static std::size_t max_array_size = static_cast<std::size_t>(-1);
  constexpr static std::size_t max_key_size = static_cast<std::size_t>(-1);
  constexpr static std::size_t max_string_size = static_cast<std::size_t>(-1);

  std::vector<std::set<std::string>> open_objects;
  std::string key;
  bool found = false;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    open_objects.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    open_objects.pop_back();
    return true;
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    key += view_of(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code& error) {
    key += view_of(part);
    if (!open_objects.back().insert(key).second) {
      found = true;
      error = json::make_error_code(json::error::syntax);
      return false;
    }
    key.clear();
    return true;
  }
  bool on_string_part(json::string_view, std::size_t, error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, error_code&) { return true; }
  bool on_double(double, json::string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }
};

std::string place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t last_break = before.rfind('\n');
  const std::size_t column =
      last_break == std::string_view::npos ? offset + 1 : offset - last_break;
  return fmt::format("line {}, column {}", line, column);
}

void check_syntax(std::string_view text) {
  json::parse_options options;
  options.max_depth = max_json_depth;
  json::basic_parser<DuplicateFinder> parser(options);
  error_code error;
  const std::size_t taken = parser.write_some(false, text.data(), text.size(), error);
  if (parser.handler().found) {
    throw RequestError(fmt::format("the body has {} twice in one object, at {}",
                                   shown(json::value(parser.handler().key)),
                                   place_of(text, taken)));
  }
  if (error == json::error::too_deep) {
    throw RequestError(fmt::format("the body is nested deeper than {} levels, at {}",
                                   max_json_depth, place_of(text, taken)));
  }
  if (!error && taken < text.size()) {
    error = json::make_error_code(json::error::extra_data);
  }
  if (error) {
    throw RequestError(
        fmt::format("the body is not JSON: {} at {}", error.message(), place_of(text, taken)));
  }
}

bool same_in_any_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [&](char x, char y) { return lower(x) == lower(y); });
}

} // namespace

json::object parse_body(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw RequestError("the body is empty; a JSON object is needed");
  }
  check_syntax(text);
  error_code error;
  json::value value = json::parse(json::string_view(text.data(), text.size()), error);
  if (error) {
    throw RequestError(fmt::format("the body is not JSON: {}", error.message()));
  }
  if (!value.is_object()) {
    throw RequestError(fmt::format("the body is not a JSON object but {}", shown(value)));
  }
  return std::move(value.get_object());
}

const json::value* Fields::find(std::string_view field) const {
  const json::value* found = nullptr;
  for (const auto& member : object_) {
    if (same_in_any_case(view_of(member.key()), field)) {
      if (found != nullptr) {
        throw RequestError(fmt::format("\"{}\" is given twice, written differently", field));
      }
      found = &member.value();
    }
  }
  return found == nullptr || found->is_null() ? nullptr : found;
}

const json::value& Fields::required(std::string_view field) const {
  const json::value* value = find(field);
  if (value == nullptr) {
    throw RequestError(fmt::format("\"{}\" is missing", field));
  }
  return *value;
}

std::optional<std::string> Fields::name(std::string_view field) const {
  const json::value* value = find(field);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string()) {
    throw RequestError(fmt::format("\"{}\" must be a string, not {}", field, shown(*value)));
  }
  std::string text(view_of(value->get_string()));
  check_name(fmt::format("\"{}\"", field), text);
  return text;
}

std::string Fields::required_name(std::string_view field) const {
  static_cast<void>(required(field));
  return *name(field);
}

bool Fields::flag(std::string_view field) const { return flag_if_there(field).value_or(false); }

std::optional<bool> Fields::flag_if_there(std::string_view field) const {
  const json::value* value = find(field);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_bool()) {
    throw RequestError(fmt::format("\"{}\" must be true or false, not {}", field, shown(*value)));
  }
  return value->get_bool();
}

std::optional<std::uint64_t> Fields::number(std::string_view field, std::uint64_t least,
                                            std::uint64_t most) const {
  const json::value* value = find(field);
  if (value == nullptr) {
    return std::nullopt;
  }
  error_code error;
  const auto number = value->to_number<std::uint64_t>(error);
  if (error || number < least || number > most) {
    throw RequestError(fmt::format("\"{}\" must be an integer from {} to {}, not {}", field, least,
                                   most, shown(*value)));
  }
  return number;
}

std::uint64_t Fields::required_number(std::string_view field, std::uint64_t least,
                                      std::uint64_t most) const {
  static_cast<void>(required(field));
  return *number(field, least, most);
}

const json::array* Fields::list(std::string_view field) const {
  const json::value* const value = find(field);
  if (value != nullptr && !value->is_array()) {
    throw RequestError(fmt::format("\"{}\" must be a list, not {}", field, shown(*value)));
  }
  return value == nullptr ? nullptr : &value->get_array();
}

const json::array& Fields::required_list(std::string_view field) const {
  static_cast<void>(required(field));
  return *list(field);
}

const json::object& Fields::required_object(std::string_view field) const {
  const json::value& value = required(field);
  if (!value.is_object()) {
    throw RequestError(fmt::format("\"{}\" must be an object, not {}", field, shown(value)));
  }
  return value.get_object();
}

void check_name(std::string_view what, std::string_view name) {
  if (name.empty() || name.size() > max_name_bytes) {
    throw RequestError(
        fmt::format("{} must have 1 to {} bytes, not {}", what, max_name_bytes, name.size()));
  }
  if (!is_printable(name)) {
    throw RequestError(fmt::format("{} must not hold control characters", what));
  }
  if (is_dot_segment(name)) {
    throw RequestError(
        fmt::format("{} must not be \"{}\": it would vanish from paths", what, name));
  }
}

std::string shown(const json::value& value) {
  switch (value.kind()) {
  case json::kind::array: return "a list";
  case json::kind::object: return "an object";
  case json::kind::string: {
    const std::string_view text = view_of(value.get_string());
    return is_printable(text) ? '"' + shortened(text) + '"' : "a string with control characters";
  }
  default: return shortened(json::serialize(value));
  }
}

} // namespace tributary::api
