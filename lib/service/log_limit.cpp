#include "lib/service/log_limit.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tributary::service {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

} // namespace

/// The text with each number replaced by one sign.
std::string LogLimit::kind_of(std::string_view text) {
  std::string kind;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i])) {
      kind += text[i];
    } else if (i == 0 || !is_digit(text[i - 1])) {
      kind += '#';
    }
  }
  return kind;
}

bool LogLimit::admits(std::string_view text, Time now) {
  // A line suppressed as equal does not count among the similar ones, too.
  return admits(std::string(text), most_equal, text, now) &&
         admits("#" + kind_of(text), most_alike, text, now);
}

bool LogLimit::admits(std::string name, std::size_t most, std::string_view text, Time now) {
  if (kinds_.size() >= most_kinds && !kinds_.contains(name)) {
    for (const auto& [_, kind] : kinds_) {
      forgotten_ += kind.left_out;
    }
    kinds_.clear();
    next_end_ = Time::max();
  }
  Kind& kind = kinds_[std::move(name)];
  if (kind.lines == 0) {
    kind.begin = now;
    next_end_ = std::min(next_end_, now + window);
  }
  if (++kind.lines <= most) {
    return true;
  }
  ++kind.left_out;
  kind.last = text;
  return false;
}

std::vector<std::string> LogLimit::left_out(Time now) {
  std::vector<std::string> lines;
  if (const std::size_t more = std::exchange(forgotten_, 0); more != 0) {
    lines.push_back(fmt::format("{} more lines of several kinds were left out", more));
  }
  if (now < next_end_) {
    return lines;
  }
  next_end_ = Time::max();
  std::erase_if(kinds_, [&](const auto& entry) {
    const Kind& kind = entry.second;
    if (now < kind.begin + window) {
      next_end_ = std::min(next_end_, kind.begin + window);
      return false;
    }
    if (kind.left_out != 0) {
      lines.push_back(fmt::format("{} more lines like this one in {} s: {}", kind.left_out,
                                  std::chrono::seconds(window).count(), kind.last));
    }
    return true;
  });
  return lines;
}

} // namespace tributary::service
