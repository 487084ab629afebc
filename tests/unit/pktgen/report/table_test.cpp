#include "pktgen/report/table.hpp"

#include "lib/terminal/width.hpp"
#include "lib/terminal/wrap.hpp"
#include "tests/unit/pktgen/report/sample.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tributary::pktgen::report {

using result::Result;

namespace {

using test::sample_measurement;
using test::sample_result;
using test::searched_result;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(table, calls_what_the_counter_counts_by_its_name) {
  const std::string text = table_text(sample_result(), false, "timer ticks");
  EXPECT_THAT(text, HasSubstr(", 812 timer ticks a frame, "));
  EXPECT_THAT(text, HasSubstr("\ntimer ticks a frame "));
  EXPECT_THAT(text, Not(HasSubstr("cycles")));
}

TEST(table, shows_everything_of_three_repeats) {
  EXPECT_EQ(table_text(sample_result(), false, "cycles"), R"(three (reduce), seed 42
  raw socket on veth0
  ring leaf0.p1
  on some processor, 2 cores
Ceiling of the generator: 10 kframes/s, 812 cycles a frame, through rings in its own thread
Latency floor of the generator: up to 63 us of its own, as it rests with nothing to do (--busy-generator polls)
Measured 3 times for 2 s

RATE                             MEDIAN    SPREAD           MIN            MAX
offered operations             500 op/s    0.00 %      500 op/s       500 op/s
operations                      1 kop/s  100.00 %      500 op/s      1.5 kop/s
sent                        4 kframes/s  100.00 %   2 kframes/s    6 kframes/s
                           3.904 Mbit/s  100.00 %  1.952 Mbit/s   5.856 Mbit/s
received                    1 kframes/s  100.00 %  500 frames/s  1.5 kframes/s
                             976 kbit/s  100.00 %    488 kbit/s   1.464 Mbit/s
root frames per reduction           1.5   66.67 %             1              2
generator busy                  25.00 %    0.00 %       25.00 %        25.00 %
generator-bound: in 1 of 3 repeats the generator was at its limit, so this may be its own rate

SWITCH           MEDIAN    SPREAD      MIN      MAX
busy            50.00 %    0.00 %  50.00 %  50.00 %
cycles a frame      123    0.00 %      123      123
arm failures          7  200.00 %        0       14

COUNT            TOTAL
frames sent      24000
frames received   6000
reductions        6000
lost results         3
wrong results        0

LATENCY            COUNT   MIN   MEAN    P50    P90     P99   P99.9     MAX
reduction at root    300  1 ns  52 ns  51 ns  91 ns  100 ns  102 ns  102 ns

QUEUE           WORKER             SENT         RECEIVED
port 0 queue 0       0  3000 (100.00 %)  3000 (100.00 %)
port 1 queue 0       1   3000 (33.33 %)   2250 (75.00 %)
port 1 queue 1       0   6000 (66.67 %)    750 (25.00 %)

WORKER  CORE     BUSY  RECEIVED  HANDED ON  TAKEN OVER  NOT TAKEN
0          4  50.00 %      3750         90         210          0
1          5  10.00 %      2250        210          90          3

DROPPED BY  WHERE                         FRAMES
generator   root                               3
switch      leaf0.port.root.drop.no_tree       3

  leaf 3 was late
  leaf 3 was late
  leaf 3 was late
)");
}

TEST(table, of_vectors_has_their_bytes_beside_those_of_the_ceiling) {
  Result result = sample_result();
  EXPECT_THAT(table_text(result, false), Not(HasSubstr("vectors")));
  result.ceiling->leaf_payload_bytes_per_second = 50e6;
  result.ceiling->total_payload_bytes_per_second = 3.2e9;
  result.derived = {{"leaf_payload_bytes_per_second", {25e6, 25e6, 25e6}},
                    {"total_payload_bytes_per_second", {1.6e9, 1.6e9, 1.6e9}}};
  const std::string table = table_text(result, false);
  EXPECT_THAT(table, HasSubstr("own thread\n  vectors: 50 MB/s of each leaf, 3.2 GB/s in all\n"));
  EXPECT_THAT(table, testing::ContainsRegex("\nleaf payload +25 MB/s"));
  EXPECT_THAT(table, testing::ContainsRegex("\ntotal payload +1.6 GB/s"));
}

TEST(table, of_one_repeat_has_neither_median_nor_spread) {
  Result result = sample_result();
  result.repeats = {sample_measurement(1)};
  result.derived[0].second = {1.5};
  const std::string text = table_text(result, false);
  EXPECT_THAT(text, HasSubstr("Measured for 2 s\n"));
  EXPECT_THAT(text, HasSubstr("operations                      1 kop/s\n"));
  EXPECT_THAT(text, HasSubstr("root frames per reduction           1.5\n"));
  EXPECT_THAT(text, Not(HasSubstr("MEDIAN")));
  EXPECT_THAT(text, Not(HasSubstr("generator-bound")));
}

TEST(table, of_a_closed_loop_names_no_offered_rate) {
  Result result = sample_result();
  for (result::Measurement& measurement : result.repeats) {
    measurement.offered_rate = 0;
  }
  EXPECT_THAT(table_text(result, false), Not(HasSubstr("offered")));
}

TEST(table, faults_are_red_and_losses_yellow_where_colours_are_wanted) {
  Result result = sample_result();
  result.repeats[0].tally.figures[2].value = 4;
  const std::string text = table_text(result, true);
  EXPECT_THAT(text, HasSubstr("\033[31mwrong results\033[0m"));
  EXPECT_THAT(text, HasSubstr("\033[33mlost results\033[0m"));
  EXPECT_THAT(text, Not(HasSubstr("\033[31mreductions")));
  EXPECT_EQ(table_text(result, false).find('\033'), std::string::npos);
}

TEST(table, faults_that_did_not_happen_are_not_coloured) {
  EXPECT_THAT(table_text(sample_result(), true), Not(HasSubstr("\033[31m")));
}

TEST(table, switch_that_reported_nothing_has_no_table) {
  Result result = sample_result();
  for (result::Measurement& measurement : result.repeats) {
    measurement.switch_figures.reset();
  }
  EXPECT_THAT(table_text(result, false), Not(HasSubstr("SWITCH")));
}

TEST(table, of_a_search_shows_steps_and_latencies_at_shares) {
  const std::string text = table_text(searched_result(), false);
  EXPECT_THAT(text, HasSubstr(R"(
 OFFERED        DONE    LOST  PASSED
500 op/s    500 op/s  0.00 %  2 of 3  passed
 1 kop/s     1 kop/s  2.00 %  1 of 3  failed
750 op/s    750 op/s  0.00 %  2 of 3  passed
875 op/s  437.5 op/s  0.00 %  1 of 3  failed: the rate was not kept
Highest rate that passed: 750 op/s

LATENCY                    COUNT   MIN   MEAN    P50    P90     P99   P99.9     MAX
reduction at root at 10 %    100  1 ns  51 ns  50 ns  90 ns   99 ns  100 ns  100 ns
reduction at root at 90 %    100  2 ns  52 ns  51 ns  91 ns  100 ns  101 ns  101 ns
)"));
}

TEST(table, of_a_search_that_found_nothing_says_so) {
  Result result;
  result.search = result::SearchResult{0, {test::sample_step(500, 0.5, true, false)}, {}, {}};
  EXPECT_THAT(table_text(result, false), EndsWith("No rate passed.\n"));
}

TEST(table, repeat_that_was_cut_short_is_shown_with_the_time_it_lasted) {
  const std::string all = table_text(test::interrupted_result(), false);
  EXPECT_THAT(all, HasSubstr("Measured 2 times for 2 s, and again, cut short after 1 s\n"));
  EXPECT_THAT(all, HasSubstr("ended early: interface 'veth0' is gone"));
  Result one = test::interrupted_result();
  one.repeats.erase(one.repeats.begin(), one.repeats.begin() + 2);
  one.derived.clear();
  EXPECT_THAT(table_text(one, false), HasSubstr("Measured for 1 s, cut short\n"));
}

TEST(table, of_a_search_that_ended_early_shows_the_try_under_way) {
  const std::string all = table_text(test::interrupted_search(), false);
  EXPECT_THAT(all, HasSubstr("cut short after 1 s\n"));
  EXPECT_THAT(all, HasSubstr("reduction at root, cut short"));
  Result at_once = test::interrupted_search();
  at_once.search->steps.clear();
  at_once.search->rate = 0;
  EXPECT_THAT(table_text(at_once, false), Not(HasSubstr("No rate passed")));
  Result hopeless = sample_result();
  hopeless.search.emplace(); // nothing was done, however fast
  EXPECT_THAT(table_text(hopeless, false), HasSubstr("No rate passed"));
}

TEST(table, warnings_stand_ahead_of_what_went_wrong) {
  Result result = sample_result();
  result.warnings = {"shares were not kept"};
  result.problems = {"nothing came back"};
  EXPECT_THAT(table_text(result, false),
              EndsWith("warning: shares were not kept\nnothing came back\n"));
}

TEST(table, run_that_ended_early_shows_why_and_what_was_measured) {
  Result result = sample_result();
  result.repeats.resize(1);
  for (auto& [name, values] : result.derived) {
    values.resize(1);
  }
  result.problems = {"the capture out.pcap ended after 17 frames: No space left on device"};
  result.failure = "port veth0 is gone";
  const std::string text = table_text(result, false);
  EXPECT_THAT(text, HasSubstr("reductions       1000\n"));
  EXPECT_THAT(text, EndsWith("the capture out.pcap ended after 17 frames: No space left on device\n"
                             "ended early: port veth0 is gone\n"));
}

TEST(table, fits_the_display_and_says_what_it_left_out) {
  for (const Result& result : {sample_result(), searched_result(), test::interrupted_result()}) {
    for (const std::size_t columns : {80U, 40U}) {
      const std::string text = terminal::wrapped(table_text(result, {false, columns}), columns);
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        EXPECT_LE(terminal::width_of(text.substr(at, end - at)), columns) << text;
        at = end + 1;
      }
    }
    EXPECT_THAT(table_text(result, {false, 80}), Not(HasSubstr("a block for each row")));
  }
  EXPECT_THAT(table_text(sample_result(), {false, 50}), HasSubstr("50 columns:"));
}

} // namespace
} // namespace tributary::pktgen::report
