#include "pktgen/report/live.hpp"

#include "lib/net/file_descriptor.hpp"
#include "pktgen/report/progress.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/lib/terminal/pseudo_terminal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace tributary::pktgen::report {

using result::LiveFigures;

namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using tributary::test::content_of;
using tributary::test::PseudoTerminal;
using tributary::test::ScratchDirectory;

constexpr std::uint64_t millisecond = 1'000'000;

LiveFigures measuring() {
  LiveFigures figures;
  figures.phase = "measuring";
  figures.elapsed_seconds = 1.25;
  figures.total_seconds = 5;
  figures.sent_frames_per_second = 1'200'000;
  figures.received_frames_per_second = 300;
  return figures;
}

/// A file in the place of standard error.
class LogFile {
public:
  LogFile()
      : descriptor_(::open(scratch_.file("log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600)) {}
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  [[nodiscard]] std::string content() const { return content_of(scratch_.file("log")); }
  [[nodiscard]] std::ptrdiff_t lines() const {
    const std::string all = content();
    return std::count(all.begin(), all.end(), '\n');
  }

private:
  ScratchDirectory scratch_;
  net::FileDescriptor descriptor_;
};

TEST(progress_line, shows_only_what_is_known) {
  EXPECT_EQ(progress_line(measuring()),
            "measuring, 1.2/5.0 s  sent 1.2 Mframes/s  received 300 frames/s");
}

TEST(progress_line, shows_everything) {
  statistics::Histogram latency;
  latency.record(12'000, 99);
  latency.record(5'000'000);
  LiveFigures figures = measuring();
  figures.total_seconds = 0;
  figures.operations_per_second = 1500;
  figures.latency = &latency;
  figures.drops = 3;
  figures.switch_drops = 5;
  figures.waiting_for = "leaf 7";
  EXPECT_EQ(progress_line(figures),
            "measuring, 1.2 s  sent 1.2 Mframes/s  received 300 frames/s  1.5 kop/s  p50 12 us  "
            "p99 12 us  dropped 3  switch dropped 5  waiting for leaf 7");
}

TEST(progress, to_a_file_is_a_line_a_second_and_one_for_each_phase) {
  const LogFile log;
  const auto view = live_view({}, log.descriptor());
  LiveFigures figures = measuring();
  figures.phase = "warming up";
  view->show(figures, TimeNs{0});
  for (std::uint64_t ms = 1; ms < 3'500; ms += 10) {
    figures.phase = "measuring";
    view->show(figures, TimeNs{ms * millisecond});
  }
  EXPECT_EQ(log.lines(), 1 + 4) << log.content();
  EXPECT_THAT(log.content(), StartsWith("warming up, 1.2/5.0 s"));
  view->finish();
  EXPECT_THAT(log.content(), Not(HasSubstr("\r")));
}

TEST(progress, on_a_terminal_rewrites_one_line_and_wipes_it_at_the_end) {
  const PseudoTerminal terminal;
  terminal.resize(40, 24);
  const auto view = live_view({}, terminal.descriptor());
  view->show(measuring(), TimeNs{0});
  EXPECT_EQ(terminal.written(), "\rmeasuring, 1.2/5.0 s  sent 1.2 Mframes/\033[K");
  view->show(measuring(), TimeNs{50 * millisecond});
  EXPECT_EQ(terminal.written(), "") << "sooner than a person can follow";
  view->show(measuring(), TimeNs{100 * millisecond});
  EXPECT_THAT(terminal.written(), AllOf(StartsWith("\r"), Not(HasSubstr("\n"))));
  view->finish();
  EXPECT_EQ(terminal.written(), "\r\033[K");
  view->finish();
  EXPECT_EQ(terminal.written(), "");
}

TEST(quiet, says_nothing_even_when_asked_to_watch) {
  const PseudoTerminal terminal;
  const auto view = live_view({.watch = true, .quiet = true}, terminal.descriptor());
  view->show(measuring(), TimeNs{0});
  view->finish();
  EXPECT_EQ(terminal.written(), "");
}

TEST(watch, without_a_terminal_falls_back_to_lines) {
  const LogFile log;
  live_view({.watch = true}, log.descriptor())->show(measuring(), TimeNs{0});
  EXPECT_EQ(log.content(), progress_line(measuring()) + "\n");
}

TEST(watch, takes_the_second_screen_with_the_first_picture_and_gives_it_back) {
  const PseudoTerminal terminal;
  const auto view = live_view({.watch = true}, terminal.descriptor());
  EXPECT_EQ(terminal.written(), "");
  view->show(measuring(), TimeNs{0});
  EXPECT_THAT(terminal.written(), StartsWith("\033[?1049h\033[?25l\033[H"));
  view->show(measuring(), TimeNs{1'000 * millisecond});
  EXPECT_THAT(terminal.written(), AllOf(StartsWith("\033[H"), EndsWith("\033[K\033[J")));
  view->finish();
  EXPECT_EQ(terminal.written(), "\033[?25h\033[?1049l");
  view->finish();
  EXPECT_EQ(terminal.written(), "");
}

TEST(watch, restores_the_terminal_when_an_exception_passes) {
  const PseudoTerminal terminal;
  try {
    const auto view = live_view({.watch = true}, terminal.descriptor());
    view->show(measuring(), TimeNs{0});
    throw std::runtime_error("port veth0 is gone");
  } catch (const std::runtime_error&) {
  }
  EXPECT_THAT(terminal.written(), EndsWith("\033[?25h\033[?1049l"));
}

TEST(watch, that_showed_nothing_leaves_the_terminal_alone) {
  const PseudoTerminal terminal;
  live_view({.watch = true}, terminal.descriptor())->finish();
  EXPECT_EQ(terminal.written(), "");
}

TEST(watch, follows_the_size_of_the_terminal) {
  const PseudoTerminal terminal;
  terminal.resize(80, 24);
  const auto view = live_view({.watch = true}, terminal.descriptor());
  view->show(measuring(), TimeNs{0});
  const std::string large = terminal.written();
  EXPECT_THAT(large, HasSubstr("received"));
  terminal.resize(20, 4);
  view->show(measuring(), TimeNs{1'000 * millisecond});
  const std::string small = terminal.written();
  EXPECT_EQ(std::count(small.begin(), small.end(), '\n'), 3);
  EXPECT_THAT(small, Not(HasSubstr("received")));
}

} // namespace
} // namespace tributary::pktgen::report
