#include "pktgen/report/plot.hpp"

#include "lib/terminal/output_file.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/pktgen/report/sample.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace tributary::pktgen::report {

using result::Result;

namespace {

namespace fs = std::filesystem;
using test::sample_result;
using test::searched_result;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using tributary::test::content_of;
using tributary::test::ScratchDirectory;

/// A program that replaces gnuplot.
std::string stand_in(const ScratchDirectory& scratch, const std::string& lines) {
  const std::string path = scratch.file("stand-in");
  std::ofstream(path) << "#!/bin/sh\n" << lines;
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

std::string problem_of(const Result& result, const std::string& path, const std::string& gnuplot) {
  try {
    draw_plot(result, path, gnuplot);
  } catch (const PlotError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no PlotError";
  return {};
}

TEST(plot_script, has_the_rates_of_each_repeat_and_the_ceiling) {
  const std::string script = plot_script(sample_result());
  EXPECT_THAT(script, HasSubstr("$rate1 << EOD\n1 2000\n2 4000\n3 6000\nEOD\n"));
  EXPECT_THAT(script, HasSubstr("$rate2 << EOD\n1 500\n2 1000\n3 1500\nEOD\n"));
  EXPECT_THAT(script, HasSubstr("10000 with lines"));
}

TEST(plot_script, of_latencies_steps_at_the_share_that_took_less) {
  Result result;
  result.repeats.resize(1);
  measure::LatencySeries series{"round_trip", {}};
  series.histogram.record(100, 90);
  series.histogram.record(200, 9);
  series.histogram.record(250);
  result.repeats[0].tally.latencies.push_back(series);
  EXPECT_THAT(plot_script(result), HasSubstr("$latency1 << EOD\n"
                                             "1 1e-07\n"     // from 0 %
                                             "10 2e-07\n"    // from 90 %
                                             "100 2.5e-07\n" // from 99 %
                                             "100 2.5e-07\n"
                                             "EOD\n"));
}

TEST(plot_script, of_a_search_has_what_was_offered_and_what_came_of_it) {
  const std::string script = plot_script(searched_result());
  EXPECT_THAT(script, HasSubstr("$rate1 << EOD\n500 500\n750 750\nEOD\n"));
  EXPECT_THAT(script, HasSubstr("$rate2 << EOD\n1000 980\n875 437.5\nEOD\n"));
  EXPECT_THAT(script, HasSubstr("'reduction_at_root at 90 %'"));
}

TEST(plot_script, names_cannot_leave_their_quotes) {
  Result result = sample_result();
  result.scenario = "it's\n!rm";
  EXPECT_THAT(plot_script(result), HasSubstr("title 'it''s !rm'\n"));
}

TEST(plot_script, of_nothing_is_empty) { EXPECT_EQ(plot_script({}), ""); }

class with_gnuplot : public testing::Test {
protected:
  void SetUp() override {
    if (::access("/usr/bin/gnuplot", X_OK) != 0) {
      GTEST_SKIP() << "gnuplot is not installed";
    }
  }
  const ScratchDirectory scratch_;
};

TEST_F(with_gnuplot, draws_a_picture_of_repeats) {
  draw_plot(sample_result(), scratch_.file("out.svg"));
  const std::string picture = content_of(scratch_.file("out.svg"));
  EXPECT_THAT(picture, AllOf(StartsWith("<?xml"), HasSubstr("</svg>"), HasSubstr("ceiling"),
                             HasSubstr("reduction_at_root"), HasSubstr("99.9 %")));
  EXPECT_EQ(scratch_.entries(), 1U);
}

TEST_F(with_gnuplot, draws_a_picture_of_a_search) {
  draw_plot(searched_result(), scratch_.file("out.svg"));
  EXPECT_THAT(content_of(scratch_.file("out.svg")),
              AllOf(HasSubstr("offered operations a second"), HasSubstr("passed")));
}

TEST_F(with_gnuplot, draws_rates_alone_where_there_are_no_latencies) {
  Result result = sample_result();
  for (result::Measurement& measurement : result.repeats) {
    measurement.tally.latencies.clear();
  }
  draw_plot(result, scratch_.file("out.svg"));
  EXPECT_THAT(content_of(scratch_.file("out.svg")),
              AllOf(HasSubstr("</svg>"), Not(HasSubstr("latency"))));
}

TEST_F(with_gnuplot, draws_names_as_they_are) {
  Result result = sample_result();
  result.scenario = "it's <b>not</b> & never_was \"bold\"";
  draw_plot(result, scratch_.file("out.svg"));
  EXPECT_THAT(content_of(scratch_.file("out.svg")),
              HasSubstr("it's &lt;b>not&lt;/b> &amp; never_was "));
}

TEST_F(with_gnuplot, copes_with_one_event_and_with_events_that_took_no_time) {
  Result result;
  result.repeats.resize(1);
  measure::LatencySeries series{"round_trip", {}};
  series.histogram.record(0);
  result.repeats[0].tally.latencies.push_back(series);
  draw_plot(result, scratch_.file("out.svg"));
  EXPECT_THAT(content_of(scratch_.file("out.svg")), HasSubstr("</svg>"));
}

TEST_F(with_gnuplot, picture_that_finds_no_room_is_an_output_error) {
  EXPECT_THROW(draw_plot(sample_result(), "/dev/full"), terminal::OutputError);
}

TEST(draw_plot, without_gnuplot_says_what_to_install) {
  const ScratchDirectory scratch;
  EXPECT_THAT(problem_of(sample_result(), scratch.file("out.svg"), "no-such-gnuplot"),
              AllOf(HasSubstr("no-such-gnuplot"), HasSubstr("install the package gnuplot-nox")));
  EXPECT_EQ(scratch.entries(), 0U);
}

TEST(draw_plot, shows_the_last_complaint_of_a_gnuplot_that_fails) {
  const ScratchDirectory scratch;
  const std::string program =
      stand_in(scratch, "echo first >&2; echo 'line 3: no svg' >&2; exit 1\n");
  EXPECT_THAT(problem_of(sample_result(), scratch.file("out.svg"), program),
              HasSubstr("failed: line 3: no svg"));
  EXPECT_FALSE(fs::exists(scratch.file("out.svg")));
}

TEST(draw_plot, gnuplot_that_dies_unread_and_silent_ends_no_other_process) {
  const ScratchDirectory scratch;
  EXPECT_THAT(
      problem_of(sample_result(), scratch.file("out.svg"), stand_in(scratch, "kill -9 $$\n")),
      HasSubstr("signal 9"));
  EXPECT_THAT(problem_of(sample_result(), scratch.file("out.svg"), stand_in(scratch, "exit 3\n")),
              HasSubstr("exit code 3"));
  EXPECT_THAT(problem_of(sample_result(), scratch.file("out.svg"), stand_in(scratch, "exit 0\n")),
              HasSubstr("failed"));
}

TEST(draw_plot, of_nothing_says_so) {
  const ScratchDirectory scratch;
  EXPECT_THAT(problem_of({}, scratch.file("out.svg"), "gnuplot"),
              HasSubstr("nothing was measured"));
}

} // namespace
} // namespace tributary::pktgen::report
