#include "pktgen/report/csv.hpp"

#include "tests/unit/pktgen/report/sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::pktgen::report {
namespace {

using test::interrupted_result;
using test::interrupted_search;
using test::sample_result;
using test::searched_result;

using Line = std::vector<std::string>;

/// A reader of RFC 4180 that knows nothing of the writer.
std::vector<Line> parse(const std::string& text) {
  std::vector<Line> lines;
  Line line;
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      field += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      line.push_back(std::move(field));
      field.clear();
    } else if (!quoted && c == '\r') {
      if (i + 1 >= text.size() || text[i + 1] != '\n') {
        throw std::runtime_error("a carriage return alone");
      }
      line.push_back(std::move(field));
      field.clear();
      lines.push_back(std::move(line));
      line.clear();
      ++i;
    } else {
      field += c;
    }
  }
  if (quoted || !field.empty() || !line.empty()) {
    throw std::runtime_error("the last line does not end");
  }
  return lines;
}

std::vector<std::map<std::string, std::string>> records(const result::Result& result) {
  const std::vector<Line> lines = parse(csv_text(result));
  std::vector<std::map<std::string, std::string>> out;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].size(), lines[0].size()) << "line " << i;
    auto& record = out.emplace_back();
    for (std::size_t j = 0; j < lines[0].size(); ++j) {
      record[lines[0][j]] = lines[i].at(j);
    }
  }
  return out;
}

TEST(csv_field, is_quoted_only_where_it_must) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"no\""), "\"say \"\"no\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
}

TEST(csv, one_line_a_repeat_with_its_own_figures) {
  const auto lines = records(sample_result());
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1].at("scenario"), "three");
  EXPECT_EQ(lines[1].at("repeat"), "2");
  EXPECT_EQ(lines[1].at("operations"), "2000");
  EXPECT_EQ(lines[1].at("operations_per_second"), "1000");
  EXPECT_EQ(lines[1].at("sent.frames"), "8000");
  EXPECT_EQ(lines[1].at("figures.lost_results"), "1");
  EXPECT_EQ(lines[1].at("latencies.reduction_at_root.p99_ns"), "100");
  EXPECT_EQ(lines[1].at("derived.root_frames_per_reduction"), "1.5");
  EXPECT_EQ(lines[1].at("generator.receive_drops"), "1");
  EXPECT_EQ(lines[1].at("switch.drops"), "1");
  EXPECT_EQ(lines[1].at("generator.bound"), "false");
  EXPECT_EQ(lines[2].at("generator.bound"), "true");
}

TEST(csv, what_only_a_later_repeat_has_is_empty_before) {
  result::Result result = sample_result();
  result.repeats[0].switch_figures.reset();
  result.repeats[2].tally.figures.push_back({"duplicates", 5, measure::Figure::Meaning::fault});
  result.derived[0].second[0] = std::nan("");
  const auto lines = records(result);
  EXPECT_EQ(lines[0].at("switch.drops"), "");
  EXPECT_EQ(lines[1].at("switch.drops"), "1");
  EXPECT_EQ(lines[1].at("figures.duplicates"), "");
  EXPECT_EQ(lines[2].at("figures.duplicates"), "5");
  EXPECT_EQ(lines[0].at("derived.root_frames_per_reduction"), "");
}

TEST(csv, names_with_commas_and_quotes_come_back_as_they_were) {
  result::Result result = sample_result();
  result.scenario = "a \"strange\", \r\nname";
  EXPECT_EQ(records(result)[0].at("scenario"), result.scenario);
}

TEST(csv, measurements_of_a_search_follow_with_their_share) {
  const auto lines = records(searched_result());
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[3].at("repeat"), "");
  EXPECT_EQ(lines[3].at("search_share"), "0.1");
  EXPECT_EQ(lines[4].at("search_share"), "0.9");
  EXPECT_EQ(lines[4].at("operations"), "2000");
}

TEST(csv, what_was_cut_short_says_so) {
  const auto repeats = records(interrupted_result());
  ASSERT_EQ(repeats.size(), 3U);
  EXPECT_EQ(repeats[1].at("cut_short"), "false");
  EXPECT_EQ(repeats[2].at("cut_short"), "true");
  EXPECT_EQ(repeats[2].at("seconds"), "1");
  const auto search = records(interrupted_search());
  ASSERT_EQ(search.size(), 4U);
  EXPECT_EQ(search[3].at("repeat"), "");
  EXPECT_EQ(search[3].at("search_share"), "");
  EXPECT_EQ(search[3].at("cut_short"), "true");
  EXPECT_EQ(search[3].at("operations"), "3000");
}

TEST(csv, of_nothing_is_a_header_alone) {
  EXPECT_EQ(csv_text({}), "scenario,kind,seed,repeat,search_share\r\n");
}

} // namespace
} // namespace tributary::pktgen::report
