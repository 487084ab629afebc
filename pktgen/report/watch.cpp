#include "pktgen/report/watch.hpp"

#include "lib/terminal/descriptor.hpp"
#include "lib/terminal/write_all.hpp"

#include <string>
#include <string_view>

namespace tributary::pktgen::report {
namespace {

constexpr std::uint64_t between_pictures_ns = 200'000'000;

constexpr std::string_view take_second_screen = "\033[?1049h\033[?25l"; // and hide the cursor
constexpr std::string_view back_to_first_screen = "\033[?25h\033[?1049l";

/// Overwrites the previous picture: no flicker, and no remains of it.
std::string in_place(std::string_view picture) {
  std::string out = "\033[H";
  for (const char c : picture) {
    out += c == '\n' ? "\033[K\n" : std::string_view(&c, 1);
  }
  return out + "\033[K\033[J";
}

} // namespace

void Watch::show(const result::LiveFigures& figures, TimeNs now) {
  frame_.sent.add(figures.sent_frames_per_second, now);
  frame_.received.add(figures.received_frames_per_second, now);
  frame_.operations.add(figures.operations_per_second, now);
  if (now < due_ && figures.phase == frame_.figures.phase) {
    return;
  }
  due_ = now + between_pictures_ns;
  frame_.figures = figures;
  std::string out(on_second_screen_ ? "" : take_second_screen);
  on_second_screen_ = true;
  out += in_place(
      render(frame_, terminal::size_of(descriptor_), terminal::wants_colours(descriptor_)));
  frame_.figures.latency = nullptr; // not ours beyond this call
  // A closed terminal does not end the measurement.
  static_cast<void>(terminal::write_all(descriptor_, out));
}

void Watch::finish() {
  if (on_second_screen_) {
    static_cast<void>(terminal::write_all(descriptor_, back_to_first_screen));
    on_second_screen_ = false;
  }
}

} // namespace tributary::pktgen::report
