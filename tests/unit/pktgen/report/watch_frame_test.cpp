#include "pktgen/report/watch_frame.hpp"

#include "lib/terminal/width.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace tributary::pktgen::report {

using statistics::Histogram;

namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t second = 1'000'000'000;

WatchFrame sample_frame(const Histogram* latency) {
  WatchFrame frame;
  frame.figures.phase = "measuring";
  frame.figures.elapsed_seconds = 2;
  frame.figures.total_seconds = 4;
  frame.figures.sent_frames_per_second = 8000;
  frame.figures.received_frames_per_second = 4000;
  frame.figures.operations_per_second = 100;
  frame.figures.latency = latency;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    frame.sent.add(2000.0 * static_cast<double>(i), TimeNs{i * second});
    frame.received.add(1000.0 * static_cast<double>(i), TimeNs{i * second});
    frame.operations.add(100, TimeNs{i * second});
  }
  return frame;
}

Histogram sample_histogram() {
  Histogram histogram;
  histogram.record(10'000, 75);
  histogram.record(90'000, 24);
  histogram.record(1'000'000);
  return histogram;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST(rate_history, one_value_each_second_is_the_mean_of_what_came_in_it) {
  RateHistory history;
  history.add(10, TimeNs{0});
  history.add(20, TimeNs{second / 2});
  history.add(60, TimeNs{second - 1});
  history.add(7, TimeNs{second});
  EXPECT_THAT(history.values(), testing::ElementsAre(30, 7));
}

TEST(rate_history, keeps_the_last_minute) {
  RateHistory history;
  for (std::uint64_t i = 0; i < 100; ++i) {
    history.add(static_cast<double>(i), TimeNs{i * second});
  }
  ASSERT_EQ(history.values().size(), 60U);
  EXPECT_EQ(history.values().front(), 40);
  EXPECT_EQ(history.values().back(), 99);
}

TEST(sparkline, is_as_high_as_the_share_of_the_top) {
  const std::vector<double> values = {0, 1, 2, 3, 4, 5, 6, 7, 99};
  EXPECT_EQ(sparkline(values, 7), "▁▂▃▄▅▆▇██");
  EXPECT_EQ(sparkline(std::vector<double>{0, 0}, 0), "▁▁");
  EXPECT_EQ(sparkline({}, 7), "");
}

TEST(bar, is_exact_to_an_eighth_of_a_column) {
  EXPECT_EQ(bar(0, 4), "");
  EXPECT_EQ(bar(1, 4), "████");
  EXPECT_EQ(bar(0.5, 4), "██");
  EXPECT_EQ(bar(1.0 / 32, 4), "▏");
  EXPECT_EQ(bar(19.0 / 32, 4), "██▍");
  EXPECT_EQ(bar(2, 4), "████");
}

TEST(render, shows_rates_against_one_scale_and_drops) {
  WatchFrame frame = sample_frame(nullptr);
  frame.figures.drops = 3;
  frame.figures.waiting_for = "leaf 7";
  EXPECT_EQ(render(frame, {40, 24}, false), R"(measuring, 2.0/4.0 s
[===================                   ]

sent        8 kframes/s       ▃▅▆█
received    4 kframes/s       ▂▃▄▅
operations  100 op/s          ████
dropped     3
waiting for leaf 7)");
}

TEST(render, shows_latencies_as_bars_that_hold_all_events) {
  const Histogram histogram = sample_histogram();
  const std::string text = render(sample_frame(&histogram), {60, 12}, false);
  const std::vector<std::string> lines = lines_of(text);
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_EQ(lines[8], "latency of 100: p50 10 us, p99 90.1 us, max 1 ms");
  EXPECT_EQ(lines[9], "   10 us -  46.4 us  ████████████████████████████    75.00 %");
  EXPECT_EQ(lines[10], " 46.4 us -   215 us  █████████                       24.00 %");
  EXPECT_EQ(lines[11], "  215 us -     1 ms  ▍                                1.00 %");
}

TEST(render, of_equal_latencies_is_one_bar) {
  Histogram histogram;
  histogram.record(500, 7);
  const std::vector<std::string> lines =
      lines_of(render(sample_frame(&histogram), {50, 24}, false));
  ASSERT_EQ(lines.size(), 10U);
  EXPECT_EQ(lines[9], "  500 ns -   500 ns  ██████████████████   100.00 %");
}

TEST(render, of_latencies_of_zero_is_one_bar_too) {
  Histogram histogram;
  histogram.record(0, 7);
  EXPECT_THAT(render(sample_frame(&histogram), {50, 24}, false), HasSubstr("100.00 %"));
}

TEST(render, fits_every_size_of_terminal) {
  const Histogram histogram = sample_histogram();
  WatchFrame frame = sample_frame(&histogram);
  frame.figures.waiting_for = std::string(300, 'x');
  for (std::size_t columns = 1; columns < 140; ++columns) {
    for (std::size_t rows = 1; rows < 40; ++rows) {
      const std::vector<std::string> lines = lines_of(render(frame, {columns, rows}, false));
      ASSERT_LE(lines.size(), rows);
      for (const std::string& line : lines) {
        ASSERT_LE(terminal::width_of(line), columns) << line;
      }
    }
  }
}

TEST(render, small_terminals_show_rates_before_latencies) {
  const Histogram histogram = sample_histogram();
  const std::string text = render(sample_frame(&histogram), {40, 10}, false);
  EXPECT_THAT(text, HasSubstr("received"));
  EXPECT_THAT(text, Not(HasSubstr("latency")));
}

TEST(render, shows_what_the_switch_dropped_if_it_reports) {
  WatchFrame frame;
  frame.figures.phase = "measuring";
  EXPECT_THAT(render(frame, {40, 24}, false), testing::Not(HasSubstr("by switch")));
  frame.figures.switch_drops = 0;
  EXPECT_THAT(render(frame, {40, 24}, true), HasSubstr("\nby switch   0"));
  frame.figures.switch_drops = 12;
  EXPECT_THAT(render(frame, {40, 24}, true), HasSubstr("\033[33mby switch   12\033[0m"));
}

TEST(render, drops_are_yellow_where_colours_are_wanted) {
  WatchFrame frame = sample_frame(nullptr);
  EXPECT_THAT(render(frame, {40, 24}, true), Not(HasSubstr("\033[33m")));
  frame.figures.drops = 1;
  EXPECT_THAT(render(frame, {40, 24}, true), HasSubstr("\033[33mdropped     1\033[0m"));
  EXPECT_THAT(render(frame, {40, 24}, false), Not(HasSubstr("\033")));
}

} // namespace
} // namespace tributary::pktgen::report
