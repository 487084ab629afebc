#include "pktgen/report/progress.hpp"

#include "lib/terminal/descriptor.hpp"
#include "lib/terminal/units.hpp"
#include "lib/terminal/width.hpp"
#include "lib/terminal/write_all.hpp"

#include <fmt/format.h>

namespace tributary::pktgen::report {
namespace {

constexpr std::uint64_t between_redrawings_ns = 100'000'000;
constexpr std::uint64_t between_lines_ns = 1'000'000'000;

} // namespace

std::string phase_text(const result::LiveFigures& figures) {
  return figures.total_seconds > 0
             ? fmt::format("{}, {:.1f}/{:.1f} s", figures.phase, figures.elapsed_seconds,
                           figures.total_seconds)
             : fmt::format("{}, {:.1f} s", figures.phase, figures.elapsed_seconds);
}

std::string progress_line(const result::LiveFigures& figures) {
  using terminal::duration_text;
  using terminal::quantity_text;
  std::string out = phase_text(figures);
  out += "  sent " + quantity_text(figures.sent_frames_per_second, "frames/s");
  out += "  received " + quantity_text(figures.received_frames_per_second, "frames/s");
  if (figures.operations_per_second > 0) {
    out += "  " + quantity_text(figures.operations_per_second, "op/s");
  }
  if (figures.latency != nullptr && figures.latency->count() > 0) {
    out += "  p50 " + duration_text(figures.latency->quantile(0.5));
    out += "  p99 " + duration_text(figures.latency->quantile(0.99));
  }
  if (figures.drops > 0) {
    out += fmt::format("  dropped {}", figures.drops);
  }
  if (figures.switch_drops.value_or(0) > 0) {
    out += fmt::format("  switch dropped {}", *figures.switch_drops);
  }
  if (!figures.waiting_for.empty()) {
    out += "  waiting for " + figures.waiting_for;
  }
  return out;
}

Progress::Progress(int descriptor)
    : descriptor_(descriptor), in_place_(terminal::is_terminal(descriptor)) {}

void Progress::show(const result::LiveFigures& figures, TimeNs now) {
  const bool new_phase = figures.phase != phase_;
  if (now < due_ && !new_phase) {
    return;
  }
  phase_ = figures.phase;
  due_ = now + (in_place_ ? between_redrawings_ns : between_lines_ns);
  const std::string line = progress_line(figures);
  if (in_place_) {
    const std::size_t room = terminal::size_of(descriptor_).columns - 1;
    // A closed terminal does not end the measurement.
    static_cast<void>(
        terminal::write_all(descriptor_, "\r" + terminal::cut_to(line, room) + "\033[K"));
    line_stands_ = true;
  } else {
    static_cast<void>(terminal::write_all(descriptor_, line + '\n'));
  }
}

void Progress::finish() {
  if (line_stands_) {
    static_cast<void>(terminal::write_all(descriptor_, "\r\033[K"));
    line_stands_ = false;
  }
}

} // namespace tributary::pktgen::report
