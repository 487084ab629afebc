#include "endpoint/launcher/job/output_lines.hpp"

#include <fmt/format.h>

#include <utility>

namespace tributary::launch::job {

OutputLines::OutputLines(std::uint32_t rank, bool errors)
    : mark_(fmt::format("[rank {}{}] ", rank, errors ? "!" : "")) {}

std::string OutputLines::add(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    begun_ += bytes.substr(0, end);
    if (end == std::string_view::npos) {
      break;
    }
    out += mark_ + std::exchange(begun_, {}) + '\n';
    bytes.remove_prefix(end + 1);
  }
  if (begun_.size() > longest_line) {
    out += end();
  }
  return out;
}

std::string OutputLines::end() {
  return begun_.empty() ? std::string() : mark_ + std::exchange(begun_, {}) + '\n';
}

} // namespace tributary::launch::job
