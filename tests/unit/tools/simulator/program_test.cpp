#include "tools/simulator/command_line.hpp"
#include "tools/simulator/progress_bar.hpp"
#include "tools/simulator/report/allreduce.hpp"
#include "tools/simulator/report/json.hpp"
#include "tools/simulator/report/text.hpp"
#include "tools/simulator/sweep.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tributary::simulator {
namespace {

using testing::HasSubstr;

std::optional<Invocation> read(std::vector<const char*> arguments, int& exit_code) {
  arguments.insert(arguments.begin(), "tributary-sim");
  return read_command_line(static_cast<int>(arguments.size()), arguments.data(), exit_code);
}

Invocation understood(const std::vector<const char*>& arguments) {
  int exit_code = -1;
  auto invocation = read(arguments, exit_code);
  EXPECT_TRUE(invocation.has_value());
  return invocation.value_or(Invocation{});
}

TEST(command_line, takes_options_into_the_experiment) {
  const Invocation i = understood({"--topology", "kdft:8x8x8", "--policy", "fast", "--vcs", "3",
                                   "--queueing", "voq", "--fault", "leaf:1,2", "--fault-at",
                                   "5us=leaf:3,3", "--load", "0.4", "--hop", "70ns", "--json"});
  EXPECT_EQ(i.experiment.topology, "kdft:8x8x8");
  EXPECT_EQ(i.experiment.routes.policy, unicast::Policy::fast);
  EXPECT_EQ(i.experiment.routes.vcs, 3);
  EXPECT_EQ(i.experiment.switches.queueing, engine::Queueing::voq);
  EXPECT_EQ(i.experiment.dead.size(), 1U);
  EXPECT_EQ(i.experiment.later.front().at_ns, 5000);
  EXPECT_EQ(i.experiment.hop_ns, 70);
  EXPECT_EQ(i.loads, std::vector<double>{0.4});
}

TEST(command_line, sweeps_over_ten_loads_or_those_that_are_named) {
  EXPECT_EQ(understood({"--sweep"}).loads.size(), 10U);
  EXPECT_EQ(understood({"--sweep"}).loads.back(), 1.0);
  EXPECT_EQ(understood({"--sweep", "0.2:0.4:0.1"}).loads, (std::vector<double>{0.2, 0.3, 0.4}));
  EXPECT_EQ(understood({"--sweep", "0.2,0.9"}).loads, (std::vector<double>{0.2, 0.9}));
}

TEST(command_line, allreduce_takes_sizes_hosts_and_costs) {
  const Invocation i =
      understood({"allreduce", "--topology", "ft3:4", "--host-counts", "4,16", "--bytes",
                  "9,1KiB,100MB", "--algorithms", "ring,in_network", "--placement", "scattered",
                  "--routes", "planned", "--switch-latency", "700", "--csv", "-"});
  ASSERT_TRUE(i.allreduce.has_value());
  const allreduce::Study& study = i.allreduce->study;
  using allreduce::Algorithm;
  EXPECT_EQ(study.hosts, (std::vector<std::uint32_t>{4, 16}));
  EXPECT_EQ(study.bytes, (std::vector<std::uint64_t>{8, 1024, 100'000'000}));
  EXPECT_EQ(study.algorithms, (std::vector{Algorithm::ring, Algorithm::in_network}));
  EXPECT_EQ(study.placement, allreduce::Placement::scattered);
  EXPECT_EQ(study.routes, allreduce::Routes::planned);
  EXPECT_EQ(study.costs.switch_latency.value, 700);
  EXPECT_THAT(study.costs.switch_latency.source, HasSubstr("command line"));
  EXPECT_FALSE(understood({"--load", "0.5"}).allreduce.has_value());
}

TEST(command_line, wrong_allreduces_are_exit_code_2_and_say_what_is_wrong) {
  struct Wrong {
    std::vector<const char*> arguments;
    const char* said;
  };
  for (const Wrong& wrong :
       std::vector<Wrong>{{{"allreduce", "--host-counts", "1"}, "2 or more"},
                          {{"allreduce", "--bytes", "7"}, "8 bytes"},
                          {{"allreduce", "--bytes", "8XB"}, "64KiB"},
                          {{"allreduce", "--algorithms", "tree"}, "must be in_network"},
                          {{"allreduce", "--payload", "100"}, "multiple of 8"},
                          {{"allreduce", "--slots", "4"}, "--slots"},
                          {{"allreduce", "--link-gbps", "0"}, "--link-gbps"},
                          {{"allreduce", "--json", "--csv", "-"}, "cannot both"}}) {
    testing::internal::CaptureStderr();
    int exit_code = -1;
    const bool read_it = read(wrong.arguments, exit_code).has_value();
    EXPECT_FALSE(read_it) << wrong.said;
    EXPECT_EQ(exit_code, 2) << wrong.said;
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(wrong.said));
  }
}

TEST(report, an_allreduce_is_never_reported_without_its_costs) {
  const Invocation i = understood({"allreduce", "--topology", "ft3:4", "--host-counts", "16",
                                   "--bytes", "8,64KiB", "--send-message", "123"});
  const allreduce::Study& study = i.allreduce.value().study;
  const auto points = allreduce::run_study(
      study, [](double) {}, [] { return false; });
  for (const std::string& text :
       {report::allreduce_table(study, points, false), report::allreduce_csv(study, points),
        report::allreduce_plot(study, points)}) {
    EXPECT_THAT(text, HasSubstr("rabenseifner"));
    EXPECT_THAT(text, HasSubstr("bench-core contribute_wide"));
    EXPECT_THAT(text, HasSubstr("given on the command line"));
  }
  const auto json = boost::json::parse(report::allreduce_json(study, points, "1")).as_object();
  EXPECT_EQ(json.at("points").as_array().size(), 8U);
  const auto& cost = json.at("costs").at("send_message").as_object();
  EXPECT_EQ(cost.at("value").as_double(), 123);
  EXPECT_EQ(cost.at("source").as_string(), "given on the command line");
}

TEST(command_line, bad_input_is_exit_code_2_and_says_what_is_wrong) {
  struct Wrong {
    std::vector<const char*> arguments;
    const char* said;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {{"--load", "1.5"}, "at most 1"},
           {{"--load", "0"}, "above 0"},
           {{"--load", "x"}, "not a load"},
           {{"--sweep", "0.5:0.1:0.1"}, "upward"},
           {{"--sweep", "0.5:0.1"}, "FROM:TO:STEP"},
           {{"--policy", "bold"}, "--policy must be fast, plus or safe, not \"bold\""},
           {{"--vcs", "0"}, "--vcs"},
           {{"--vcs", "9"}, "--vcs"},
           {{"--buffer", "65"}, "--buffer"},
           {{"--fault", "leaf"}, "leaf:3,4"},
           {{"--fault-at", "leaf:1,1"}, "TIME=PART"},
           {{"--duration", "5"}, "--duration is a duration"},
           {{"--tick", "0ns"}, "above 0"},
           {{"--burst", "0.5"}, "--burst"},
           {{"--json", "--csv", "-"}, "cannot both"},
           {{"--links"}, "--json"},
           {{"--no-such-option"}, "unknown option --no-such-option"}}) {
    testing::internal::CaptureStderr();
    int exit_code = -1;
    const bool read_it = read(wrong.arguments, exit_code).has_value();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_FALSE(read_it) << wrong.arguments.front();
    EXPECT_EQ(exit_code, 2) << wrong.arguments.front();
    EXPECT_THAT(said, HasSubstr(wrong.said));
  }
}

TEST(command_line, help_has_examples_and_exit_codes) {
  testing::internal::CaptureStdout();
  int exit_code = -1;
  EXPECT_FALSE(read({"--help"}, exit_code).has_value());
  const std::string help = testing::internal::GetCapturedStdout();
  EXPECT_EQ(exit_code, 0);
  EXPECT_THAT(help, HasSubstr("Examples:"));
  EXPECT_THAT(help, HasSubstr("Exit codes:"));
}

/// The points of a sweep over three loads.
std::vector<report::Point> three(const Prepared& prepared, unsigned jobs) {
  const std::atomic<bool> interrupted{false};
  const std::vector<double> loads{0.2, 0.5, 0.9};
  return sweep(prepared, loads, jobs, interrupted, [](double) {});
}

Experiment small() {
  Experiment e;
  e.topology = "kdft:3x3x2";
  e.warm_up_ns = 500;
  e.measure_ns = 5'000;
  return e;
}

/// Without fields that depend on the machine.
std::string json_of(const Prepared& prepared, std::vector<report::Point> points) {
  for (report::Point& point : points) {
    point.speed = {};
  }
  return report::json_text({prepared, "test", std::move(points)}, true);
}

TEST(sweep, gives_the_same_bytes_on_one_core_and_on_many) {
  const Prepared prepared(small());
  const std::string one = json_of(prepared, three(prepared, 1));
  EXPECT_EQ(one, json_of(prepared, three(prepared, 3)));
  EXPECT_EQ(one, json_of(Prepared(small()), three(Prepared(small()), 2)));
}

TEST(sweep, what_a_run_throws_comes_out) {
  Experiment e = small();
  e.traffic.pattern = traffic::Pattern::bit_complement; // 18 hosts
  const Prepared prepared(e);
  EXPECT_THROW(three(prepared, 2), traffic::TrafficError);
}

TEST(json, has_every_packet_and_every_link) {
  const Prepared prepared(small());
  const auto value = boost::json::parse(json_of(prepared, three(prepared, 1)));
  EXPECT_EQ(value.at("settings").at("hosts"), 18);
  const auto& point = value.at("points").at(1);
  EXPECT_EQ(point.at("load"), 0.5);
  const auto& packets = point.at("packets");
  std::uint64_t dropped = 0;
  for (const auto& [reason, count] : packets.at("dropped").as_object()) {
    dropped += count.to_number<std::uint64_t>();
  }
  EXPECT_EQ(packets.at("injected").to_number<std::uint64_t>(),
            packets.at("delivered").to_number<std::uint64_t>() + dropped +
                packets.at("in_flight").to_number<std::uint64_t>());
  // 9 leaves with 2 planes in 2 dimensions, both directions.
  EXPECT_EQ(point.at("links").as_array().size(), 9U * 4 * 2);
}

TEST(text, of_a_sweep_fits_80_columns_as_a_table_and_40_as_blocks) {
  const Prepared prepared(small());
  const report::Report report{prepared, "test", three(prepared, 1)};
  const auto longest = [](const std::string& text) {
    std::size_t most = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      most = std::max(most, end - at);
      at = end + 1;
    }
    return most;
  };
  const std::string wide = report::table_text(report, {false, 80});
  EXPECT_LE(longest(wide), 80U) << wide;
  EXPECT_THAT(wide, HasSubstr("left out EVENTS/S"));
  const std::string narrow = report::table_text(report, {false, 40});
  EXPECT_LE(longest(narrow), 40U) << narrow;
  EXPECT_THAT(narrow, HasSubstr("a block for each row"));
}

TEST(text, no_output_claims_a_latency_past_saturation) {
  const Prepared prepared(small());
  const report::Report report{prepared, "test", three(prepared, 1)};
  ASSERT_EQ(report.points.back().result.verdict, experiment::Verdict::saturated);
  EXPECT_THAT(report::table_text(report, false), HasSubstr("saturated"));
  EXPECT_THAT(report::csv_text(report), HasSubstr(",saturated,,,,,,,"));
  EXPECT_THAT(report::plot_text(report), HasSubstr(" NaN NaN\n"));
  const auto json = boost::json::parse(report::json_text(report, false));
  EXPECT_TRUE(json.at("points").at(2).at("latency_ns").is_null());
  EXPECT_TRUE(json.at("points").at(0).at("latency_ns").is_object());
}

TEST(text, has_a_line_for_each_load_in_csv_table_and_plot) {
  const Prepared prepared(small());
  const report::Report report{prepared, "test", three(prepared, 1)};
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  EXPECT_EQ(lines(report::csv_text(report)), 4);
  EXPECT_EQ(lines(report::table_text(report, false)), 4);
  EXPECT_THAT(report::plot_text(report), HasSubstr("\n0.5 0."));
  const std::string csv = report::csv_text(report);
  const auto commas = [](std::string_view line) { return std::ranges::count(line, ','); };
  const std::size_t end = csv.find('\n');
  EXPECT_EQ(commas(csv.substr(0, end)), commas(csv.substr(end + 1, csv.find('\n', end + 1) - end)));
}

TEST(bar_text, fills_with_the_share) {
  EXPECT_EQ(bar_text(0, 18), "[..........]   0 %");
  EXPECT_EQ(bar_text(0.5, 18), "[#####.....]  50 %");
  EXPECT_EQ(bar_text(1, 18), "[##########] 100 %");
}

} // namespace
} // namespace tributary::simulator
