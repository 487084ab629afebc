#include "tools/simulator/progress_bar.hpp"

#include "lib/terminal/descriptor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <unistd.h>

namespace tributary::simulator {
namespace {

/// Ignores errors: a terminal that is gone is no reason to stop.
void write_all(int descriptor, const std::string& text) {
  static_cast<void>(!::write(descriptor, text.data(), text.size()));
}

} // namespace

std::string bar_text(double share, std::size_t columns) {
  const std::size_t width = std::max<std::size_t>(columns, 12) - 8;
  const auto full =
      static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width));
  return fmt::format("[{}{}] {:>3.0f} %", std::string(full, '#'), std::string(width - full, '.'),
                     100 * share);
}

ProgressBar::ProgressBar(int descriptor, bool wanted)
    : descriptor_(descriptor), shows_(wanted && terminal::is_terminal(descriptor)) {}

ProgressBar::~ProgressBar() {
  if (stands_) {
    write_all(descriptor_, "\r\033[K");
  }
}

void ProgressBar::show(double share) {
  if (shows_) {
    write_all(
        descriptor_,
        '\r' +
            bar_text(share, std::min<std::size_t>(terminal::size_of(descriptor_).columns - 1, 72)) +
            "\033[K");
    stands_ = true;
  }
}

} // namespace tributary::simulator
