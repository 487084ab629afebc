#include "lib/terminal/wrap.hpp"

#include "lib/terminal/width.hpp"

#include <algorithm>

namespace tributary::terminal {
namespace {

constexpr char escape = '\033';

/// "\033[1m" and the like: from the escape to its final letter.
std::size_t end_of_escape(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('m', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find(escape), text.size());
    width += width_of(text.substr(0, plain));
    text.remove_prefix(plain == text.size() ? plain : end_of_escape(text, plain));
  }
  return width;
}

/// Bytes of a word that fit, at least one character or escape sequence, which guarantees progress.
std::size_t bytes_that_fit(std::string_view word, std::size_t columns) {
  std::size_t bytes = 0;
  while (bytes < word.size()) {
    const std::size_t next =
        word[bytes] == escape ? end_of_escape(word, bytes) : bytes + character_bytes(word, bytes);
    if (bytes != 0 && shown_width(word.substr(0, next)) > columns) {
      break;
    }
    bytes = next;
  }
  return bytes;
}

} // namespace

std::vector<std::string> broken(std::string_view line, std::size_t first, std::size_t others) {
  std::vector<std::string> lines(1);
  const auto room = [&] { return lines.size() == 1 ? first : others; };
  while (!line.empty()) {
    const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t end = std::min(line.find(' ', blanks), line.size());
    const std::string_view gap = line.substr(0, blanks);
    std::string_view word = line.substr(blanks, end - blanks);
    line.remove_prefix(end);
    if (word.empty()) {
      break; // trailing blanks
    }
    if (shown_width(lines.back()) + gap.size() + shown_width(word) <= room()) {
      lines.back() += gap;
      lines.back() += word;
      continue;
    }
    if (!lines.back().empty()) {
      lines.emplace_back();
    }
    while (shown_width(word) > room()) {
      const std::size_t bytes = bytes_that_fit(word, room());
      lines.back() = word.substr(0, bytes);
      word.remove_prefix(bytes);
      lines.emplace_back();
    }
    lines.back() = word;
    if (word.empty() && lines.size() > 1) {
      lines.pop_back();
    }
  }
  return lines;
}

std::string wrapped(std::string_view text, std::size_t columns) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool ends = end != text.size();
    text.remove_prefix(ends ? end + 1 : end);
    if (shown_width(line) <= columns) {
      out += line;
    } else {
      const std::size_t indent = std::min({line.find_first_not_of(' '), line.size(), columns / 2});
      const std::size_t hanging = std::min(indent + 2, columns / 2);
      const std::size_t first = std::max<std::size_t>(columns - indent, 1);
      const std::size_t others = std::max<std::size_t>(columns - hanging, 1);
      bool is_first = true;
      for (const std::string& part : broken(line.substr(indent), first, others)) {
        out += is_first ? "" : "\n";
        out.append(is_first ? indent : hanging, ' ');
        out += part;
        is_first = false;
      }
    }
    out += ends ? "\n" : "";
  }
  return out;
}

} // namespace tributary::terminal
