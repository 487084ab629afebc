#include "pktgen/report/json.hpp"

#include "tests/support/scratch_directory.hpp"
#include "tests/unit/pktgen/report/sample.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace tributary::pktgen::report {

using result::Result;

namespace {

namespace json = boost::json;
using test::interrupted_result;
using test::interrupted_search;
using test::sample_result;
using test::searched_result;

/// Every path to a value, once: "repeats[].sent.frames".
void paths(const json::value& value, const std::string& path, std::vector<std::string>& found) {
  if (const json::object* object = value.if_object()) {
    for (const auto& [key, inner] : *object) {
      paths(inner, path + (path.empty() ? "" : ".") + std::string(key), found);
    }
  } else if (const json::array* array = value.if_array(); array != nullptr && !array->empty()) {
    paths(array->front(), path + "[]", found);
  } else {
    found.push_back(path);
  }
}

const std::vector<std::string> every_path = {
    "format",
    "format_version",
    "version",
    "machine",
    "tsc_hz",
    "scenario",
    "kind",
    "seed",
    "settings.leaves",
    "settings.operators",
    "ports[]",
    "ceiling.frames_per_second",
    "ceiling.cycles_per_frame",
    "ceiling.how",
    "ceiling.leaf_payload_bytes_per_second",
    "ceiling.total_payload_bytes_per_second",
    "latency_floor.ns",
    "latency_floor.rests",
    "generator_bound",
    "summary.repeats",
    "summary.operations_per_second.median",
    "summary.operations_per_second.min",
    "summary.operations_per_second.max",
    "summary.operations_per_second.spread",
    "summary.sent_frames_per_second.median",
    "summary.sent_frames_per_second.min",
    "summary.sent_frames_per_second.max",
    "summary.sent_frames_per_second.spread",
    "summary.sent_wire_bits_per_second.median",
    "summary.sent_wire_bits_per_second.min",
    "summary.sent_wire_bits_per_second.max",
    "summary.sent_wire_bits_per_second.spread",
    "summary.received_frames_per_second.median",
    "summary.received_frames_per_second.min",
    "summary.received_frames_per_second.max",
    "summary.received_frames_per_second.spread",
    "summary.received_wire_bits_per_second.median",
    "summary.received_wire_bits_per_second.min",
    "summary.received_wire_bits_per_second.max",
    "summary.received_wire_bits_per_second.spread",
    "summary.derived.root_frames_per_reduction.median",
    "summary.derived.root_frames_per_reduction.min",
    "summary.derived.root_frames_per_reduction.max",
    "summary.derived.root_frames_per_reduction.spread",
    "summary.figures.reductions.value",
    "summary.figures.reductions.meaning",
    "summary.figures.lost_results.value",
    "summary.figures.lost_results.meaning",
    "summary.figures.wrong_results.value",
    "summary.figures.wrong_results.meaning",
    "summary.drops.generator.root",
    "summary.drops.generator.leaves",
    "summary.drops.switch.leaf0.port.root.drop.no_tree",
    "summary.latencies.reduction_at_root.count",
    "summary.latencies.reduction_at_root.min_ns",
    "summary.latencies.reduction_at_root.mean_ns",
    "summary.latencies.reduction_at_root.p50_ns",
    "summary.latencies.reduction_at_root.p90_ns",
    "summary.latencies.reduction_at_root.p99_ns",
    "summary.latencies.reduction_at_root.p99_9_ns",
    "summary.latencies.reduction_at_root.max_ns",
    "summary.latencies.reduction_at_root.buckets[][]",
    "repeats[].seconds",
    "repeats[].cut_short",
    "repeats[].offered_operations_per_second",
    "repeats[].operations",
    "repeats[].operations_per_second",
    "repeats[].sent_frames_per_second",
    "repeats[].sent_wire_bits_per_second",
    "repeats[].received_frames_per_second",
    "repeats[].received_wire_bits_per_second",
    "repeats[].sent.frames",
    "repeats[].sent.bytes",
    "repeats[].received.frames",
    "repeats[].received.bytes",
    "repeats[].figures.reductions.value",
    "repeats[].figures.reductions.meaning",
    "repeats[].figures.lost_results.value",
    "repeats[].figures.lost_results.meaning",
    "repeats[].figures.wrong_results.value",
    "repeats[].figures.wrong_results.meaning",
    "repeats[].latencies.reduction_at_root.count",
    "repeats[].latencies.reduction_at_root.min_ns",
    "repeats[].latencies.reduction_at_root.mean_ns",
    "repeats[].latencies.reduction_at_root.p50_ns",
    "repeats[].latencies.reduction_at_root.p90_ns",
    "repeats[].latencies.reduction_at_root.p99_ns",
    "repeats[].latencies.reduction_at_root.p99_9_ns",
    "repeats[].latencies.reduction_at_root.max_ns",
    "repeats[].latencies.reduction_at_root.buckets[][]",
    "repeats[].remarks[]",
    "repeats[].ports[].name",
    "repeats[].ports[].sent.frames",
    "repeats[].ports[].sent.bytes",
    "repeats[].ports[].received.frames",
    "repeats[].ports[].received.bytes",
    "repeats[].ports[].receive_drops",
    "repeats[].ports[].queues[].sent.frames",
    "repeats[].ports[].queues[].sent.bytes",
    "repeats[].ports[].queues[].received.frames",
    "repeats[].ports[].queues[].received.bytes",
    "repeats[].generator.busy_share",
    "repeats[].generator.bound",
    "repeats[].generator.workers[].core",
    "repeats[].generator.workers[].queues[].port",
    "repeats[].generator.workers[].queues[].queue",
    "repeats[].generator.workers[].busy_share",
    "repeats[].generator.workers[].received_frames",
    "repeats[].generator.workers[].handed_on",
    "repeats[].generator.workers[].taken_over",
    "repeats[].generator.workers[].hand_off_drops",
    "repeats[].switch.received_frames",
    "repeats[].switch.sent_frames",
    "repeats[].switch.busy_share",
    "repeats[].switch.cycles_per_frame",
    "repeats[].switch.arm_failures",
    "repeats[].switch.drops.leaf0.port.root.drop.no_tree",
    "repeats[].derived.root_frames_per_reduction",
    "search",
    "failure",
    "problems",
    "warnings",
};

TEST(json, has_these_keys_in_this_order_that_programs_rely_on) {
  std::vector<std::string> found;
  paths(json_of(sample_result()), "", found);
  EXPECT_EQ(found, every_path);
}

TEST(json, every_key_is_explained_in_the_guide) {
  const std::string page =
      tributary::test::content_of(TRIBUTARY_SOURCE "/docs/guide/pktgen-results.md");
  ASSERT_FALSE(page.empty());
  std::set<std::string> names_of_others = {"leaves", "operators", "root", "no_tree"};
  const Result sample = sample_result();
  for (const measure::Figure& figure : sample.repeats[0].tally.figures) {
    names_of_others.insert(figure.name);
  }
  for (const std::string& path : every_path) {
    const std::string key = path.substr(path.find_last_of('.') + 1);
    const std::string name = key.substr(0, key.find('['));
    if (!names_of_others.contains(name)) {
      // Either alone in code quotes, or at the end of a path.
      EXPECT_TRUE(page.find('`' + name + '`') != std::string::npos ||
                  page.find('.' + name + '`') != std::string::npos)
          << path << " is not in docs/guide/pktgen-results.md";
    }
  }
}

TEST(json, of_an_empty_result_lacks_no_key) {
  const json::object empty = json_of({});
  const json::object full = json_of(searched_result());
  for (const auto& [key, value] : full) {
    EXPECT_TRUE(empty.contains(key)) << key;
  }
  EXPECT_TRUE(empty.at("ceiling").is_null());
  EXPECT_TRUE(empty.at("search").is_null());
  EXPECT_TRUE(empty.at("failure").is_null());
  EXPECT_TRUE(empty.at("repeats").as_array().empty());
  EXPECT_EQ(empty.at("summary").at("operations_per_second").at("median").as_double(), 0);
}

TEST(json, rates_are_counts_over_seconds) {
  const json::object out = json_of(sample_result());
  const json::value& second = out.at("repeats").at(1);
  EXPECT_EQ(second.at("operations").to_number<double>(), 2000);
  EXPECT_EQ(second.at("operations_per_second").to_number<double>(), 1000);
  EXPECT_EQ(second.at("sent_frames_per_second").to_number<double>(), 4000);
  EXPECT_EQ(second.at("sent_wire_bits_per_second").to_number<double>(), 4000 * (98 + 24) * 8);
  EXPECT_EQ(second.at("received_frames_per_second").to_number<double>(), 1000);
}

TEST(json, summary_is_the_median_of_the_repeats_and_how_far_they_are_apart) {
  const json::object out = json_of(sample_result());
  const json::value& rate = out.at("summary").at("operations_per_second");
  EXPECT_EQ(rate.at("median").as_double(), 1000);
  EXPECT_EQ(rate.at("min").as_double(), 500);
  EXPECT_EQ(rate.at("max").as_double(), 1500);
  EXPECT_EQ(rate.at("spread").as_double(), 1);
}

TEST(json, summary_adds_up_counts_drops_and_latencies_of_all_repeats) {
  const json::object out = json_of(sample_result());
  const json::object& summary = out.at("summary").as_object();
  EXPECT_EQ(summary.at("figures").at("lost_results").at("value").to_number<int>(), 0 + 1 + 2);
  EXPECT_EQ(summary.at("figures").at("lost_results").at("meaning").as_string(), "loss");
  EXPECT_EQ(summary.at("drops").at("generator").at("root").to_number<int>(), 0 + 1 + 2);
  EXPECT_EQ(summary.at("drops").at("switch").at("leaf0.port.root.drop.no_tree").to_number<int>(),
            3);
  const json::value& latency = summary.at("latencies").at("reduction_at_root");
  EXPECT_EQ(latency.at("count").to_number<int>(), 300);
  EXPECT_EQ(latency.at("min_ns").to_number<int>(), 1);
  EXPECT_EQ(latency.at("max_ns").to_number<int>(), 102);
}

TEST(json, latencies_of_a_repeat_are_its_quantiles) {
  const json::object out = json_of(sample_result());
  const json::value& latency = out.at("repeats").at(0).at("latencies").at("reduction_at_root");
  EXPECT_EQ(latency.at("p50_ns").to_number<int>(), 50);
  EXPECT_EQ(latency.at("p90_ns").to_number<int>(), 90);
  EXPECT_EQ(latency.at("p99_ns").to_number<int>(), 99);
  EXPECT_EQ(latency.at("p99_9_ns").to_number<int>(), 100);
  EXPECT_EQ(latency.at("mean_ns").to_number<double>(), 50.5);
}

TEST(json, latencies_have_their_histogram_s_buckets) {
  statistics::Histogram histogram;
  histogram.record(7, 3);
  histogram.record(300, 2);
  Result result = sample_result();
  result.repeats[0].tally.latencies = {{"reduction_at_root", histogram}};
  const json::object out = json_of(result);
  const json::value& latency = out.at("repeats").at(0).at("latencies").at("reduction_at_root");
  EXPECT_EQ(latency.at("buckets"), json::parse("[[7,7,3],[300,301,2]]"));
}

TEST(json, shows_the_generator_s_latency_floor_and_warnings) {
  Result result = sample_result();
  result.warnings = {"look out"};
  const json::object out = json_of(result);
  EXPECT_EQ(out.at("latency_floor"), json::parse(R"({"ns":63000,"rests":true})"));
  EXPECT_EQ(out.at("warnings"), json::parse(R"(["look out"])"));
  EXPECT_EQ(out.at("repeats").at(2).at("switch").at("arm_failures").to_number<int>(), 14);
}

TEST(json, generator_bound_when_any_repeat_is) {
  Result result = sample_result();
  EXPECT_TRUE(json_of(result).at("generator_bound").as_bool());
  result.repeats[2].generator_bound = false;
  EXPECT_FALSE(json_of(result).at("generator_bound").as_bool());
}

TEST(json, search_shows_its_steps_and_what_was_measured_at_shares) {
  const json::object out = json_of(searched_result());
  const json::object& search = out.at("search").as_object();
  EXPECT_EQ(search.at("operations_per_second").as_double(), 750);
  ASSERT_EQ(search.at("steps").as_array().size(), 4U);
  EXPECT_EQ(search.at("steps").at(1).at("offered_operations_per_second").as_double(), 1000);
  EXPECT_EQ(search.at("steps").at(1).at("loss").as_double(), 0.02);
  EXPECT_FALSE(search.at("steps").at(1).at("passed").as_bool());
  EXPECT_TRUE(search.at("steps").at(1).at("kept").as_bool());
  const json::value& not_kept = search.at("steps").at(3);
  EXPECT_FALSE(not_kept.at("kept").as_bool());
  EXPECT_EQ(not_kept.at("achieved_operations_per_second").as_double(), 437.5);
  ASSERT_EQ(not_kept.at("tries").as_array().size(), 3U);
  EXPECT_TRUE(not_kept.at("tries").at(1).at("passed").as_bool());
  EXPECT_EQ(not_kept.at("tries").at(1).at("achieved_operations_per_second").as_double(), 875);
  ASSERT_EQ(search.at("at_shares").as_array().size(), 2U);
  EXPECT_EQ(search.at("at_shares").at(1).at("share").as_double(), 0.9);
  EXPECT_EQ(search.at("at_shares").at(1).at("operations").to_number<int>(), 2000);
}

TEST(json, repeat_that_was_cut_short_is_marked_and_no_part_of_the_median) {
  const json::object out = json_of(interrupted_result());
  EXPECT_FALSE(out.at("repeats").at(1).at("cut_short").as_bool());
  EXPECT_TRUE(out.at("repeats").at(2).at("cut_short").as_bool());
  EXPECT_EQ(out.at("repeats").at(2).at("seconds").to_number<double>(), 1);
  EXPECT_EQ(out.at("repeats").at(2).at("operations_per_second").to_number<double>(), 3000);
  const json::object& summary = out.at("summary").as_object();
  EXPECT_EQ(summary.at("operations_per_second").at("max").as_double(), 1000);
  EXPECT_EQ(summary.at("derived").at("root_frames_per_reduction").at("max").as_double(), 1.5);
  EXPECT_EQ(summary.at("figures").at("reductions").at("value").to_number<int>(), 6000)
      << "counted all the same";
}

TEST(json, only_repeat_is_its_own_median_even_when_it_was_cut_short) {
  Result result = interrupted_result();
  result.repeats.erase(result.repeats.begin(), result.repeats.begin() + 2);
  result.derived.clear();
  const json::object out = json_of(result);
  EXPECT_EQ(out.at("summary").at("operations_per_second").at("median").as_double(), 3000);
}

TEST(json, search_that_ended_early_has_the_try_under_way_beside_its_steps) {
  EXPECT_TRUE(json_of(searched_result()).at("search").at("cut_short").is_null());
  const json::object out = json_of(interrupted_search());
  const json::object& search = out.at("search").as_object();
  EXPECT_EQ(search.at("steps").as_array().size(), 4U);
  EXPECT_TRUE(search.at("cut_short").at("cut_short").as_bool());
  EXPECT_EQ(search.at("cut_short").at("operations").to_number<int>(), 3000);
}

TEST(json, switch_that_reported_nothing_is_null) {
  Result result = sample_result();
  result.repeats[0].switch_figures.reset();
  EXPECT_TRUE(json_of(result).at("repeats").at(0).at("switch").is_null());
}

TEST(json, text_is_one_line_that_parses_even_with_figures_that_are_no_numbers) {
  Result result = sample_result();
  result.failure = "the peer \"leaf0\" does not answer\nnor does its port";
  result.derived[0].second[0] = std::nan("");
  result.derived[0].second[1] = HUGE_VAL;
  const std::string text = json_text(result);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const json::value parsed = json::parse(text);
  EXPECT_EQ(parsed.at("failure").as_string(), result.failure);
  const json::array& repeats = parsed.at("repeats").as_array();
  EXPECT_TRUE(repeats.at(0).at("derived").at("root_frames_per_reduction").is_null());
  EXPECT_TRUE(repeats.at(1).at("derived").at("root_frames_per_reduction").is_null());
  EXPECT_EQ(repeats.at(2).at("derived").at("root_frames_per_reduction").to_number<int>(), 2);
}

TEST(json, largest_counts_stay_exact) {
  Result result = sample_result();
  result.seed = ~std::uint64_t{0};
  EXPECT_EQ(json::parse(json_text(result)).at("seed").as_uint64(), ~std::uint64_t{0});
}

} // namespace
} // namespace tributary::pktgen::report
