#include "controlplane/api/view_figures.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace tributary::api {

namespace json = boost::json;

double seconds(std::uint64_t ns) { return std::round(static_cast<double>(ns) / 1e6) / 1e3; }

json::value seconds_until(TimeNs when, TimeNs now) {
  return when == never ? json::value(nullptr) : json::value(seconds(elapsed_ns(when, now)));
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool canonical = text.size() == 1 || !text.starts_with('0');
  return error == std::errc() && end == text.data() + text.size() && canonical
             ? std::optional(value)
             : std::nullopt;
}

std::optional<std::uint64_t> first_of(std::string_view after) {
  if (after.empty()) {
    return 0;
  }
  const auto last = number_in(after);
  return last ? std::optional(*last + 1) : std::nullopt;
}

Answer bad_cursor(const std::string& after) {
  return error_answer(
      400,
      fmt::format("\"{}\" is not a valid start; give the \"next\" of the previous answer", after));
}

} // namespace tributary::api
