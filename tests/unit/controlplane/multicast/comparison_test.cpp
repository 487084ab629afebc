// Reproduces figures that were measured earlier, and checks a comparison's own metadata.
#include "controlplane/multicast/comparison/comparison.hpp"

#include "bench/algorithms/published.hpp"
#include "controlplane/multicast/comparison/report.hpp"
#include "controlplane/multicast/lower_bound.hpp"
#include "tests/unit/include/wire/seed.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tributary::multicast {

using comparison::Comparison;
using comparison::Group;
using comparison::Row;

namespace {

/// A clock that only counts how often it was read.
Comparison::Clock ticks() {
  return [now = 0.0]() mutable { return now += 1e-6; };
}

std::map<std::string, Row> compare(const char* topology, const char* pattern,
                                   double dead_percent = 0) {
  Comparison comparison(topology, dead_percent, test::seed(), ticks());
  comparison::ComparisonSettings settings;
  settings.seed = test::seed();
  settings.budget_seconds = 0.01;
  std::map<std::string, Row> by_name;
  for (const Row& row :
       comparison.run(pattern, published::expand("all"), settings, [](std::string_view) {})) {
    by_name[row.algorithm] = row;
  }
  return by_name;
}

struct Figures {
  const char* topology;
  const char* pattern;
  std::uint32_t lower_bound, minihop, minihop_new, fulb;
};

class Retained : public testing::TestWithParam<Figures> {};

// OpenSM routes the first column's fabrics with the same EFI as `minihop`.
TEST_P(Retained, FiguresOfSmallFabricsAreReachedAgain) {
  const Figures figures = GetParam();
  auto rows = compare(figures.topology, figures.pattern);
  EXPECT_EQ(rows["minihop"].lower_bound, figures.lower_bound);
  EXPECT_EQ(rows["minihop"].max_efi, figures.minihop);
  EXPECT_EQ(rows["minihop_new"].max_efi, figures.minihop_new);
  EXPECT_EQ(rows["fulb_rooted"].max_efi, figures.fulb);
  EXPECT_EQ(rows["fulb_rooted_simd"].max_efi, figures.fulb);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Retained,
                         testing::Values(Figures{"ft3:8", "16x8", 2, 8, 5, 5},
                                         Figures{"ft3:16", "32x32", 2, 32, 9, 9},
                                         Figures{"torus:6x6x6x2", "24x18", 1, 9, 6, 7},
                                         Figures{"dragonfly:8,4,4", "32x33", 2, 4, 3, 3},
                                         Figures{"tft:8,8,8,4,8,4", "64x32", 8, 32, 32, 8}),
                         [](const auto& one) {
                           std::string name = one.param.topology;
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(Comparison, NothingIsBelowTheBoundAndRepairIsNeverWorse) {
  for (const char* const topology :
       {"ft3:4", "torus:4x3x2", "dragonfly:3,2,2", "kdft:4x3x2", "tft:3,2,4,4,4,2"}) {
    for (const char* const pattern : {"4x2x2", "~4x4", "rand:40,1,9"}) {
      for (const double dead : {0.0, 8.0}) {
        auto rows = compare(topology, pattern, dead);
        for (const auto& [name, row] : rows) {
          EXPECT_EQ(row.fault, "") << topology << " " << pattern << " " << name;
          EXPECT_GE(row.max_efi, row.lower_bound) << topology << " " << pattern << " " << name;
        }
        EXPECT_LE(rows["prism_repaired"].max_efi, rows["prism"].max_efi);
      }
    }
  }
}

TEST(LowerBound, CountsWhatASwitchMustCarry) {
  // Every switch of a ring of eight is in all four groups and has two links.
  const auto model = topology::build_model("torus:8x4");
  const RoutingView view(model.graph);
  Distances distances(view);
  std::vector<Group> groups(4);
  for (Group& group : groups) {
    for (std::uint32_t s = 0; s < 8; ++s) {
      group.push_back(SwitchId{s});
    }
  }
  EXPECT_EQ(lower_bound(model, distances, groups), 4U); // 4 groups x 7 links on 8
  groups.resize(2);
  EXPECT_EQ(lower_bound(model, distances, groups), 2U);
  EXPECT_EQ(lower_bound(model, distances, std::vector<Group>{{SwitchId{3}}}), 0U);
  EXPECT_EQ(lower_bound(model, distances, std::vector<Group>{}), 0U);
}

TEST(ExpandAlgorithms, FulbIsBothReadingsAndAllIsAll) {
  EXPECT_EQ(published::expand("fulb").size(), 2U);
  EXPECT_EQ(published::expand("all").size(), published::all_rows().size());
  EXPECT_EQ(published::expand("prism_repaired").front().repaired, true);
  EXPECT_TRUE(published::expand("best").empty());
}

TEST(Comparison, TheClockIsTheCallersAndRootsAreTimedApart) {
  auto rows = compare("ft3:4", "4x4");
  EXPECT_NEAR(rows["fulb_rooted"].root_seconds, 0, 1e-9); // each reading costs one tick, left out
  EXPECT_EQ(rows["prism"].root_seconds, 0);
  EXPECT_NEAR(rows["prism"].tree_seconds, 1e-6, 1e-9);
}

TEST(Report, IsJsonWithTheAgreedKeysAndATable) {
  Row row;
  row.topology = "ft3:4";
  row.pattern = "4x4";
  row.algorithm = "prism_repaired";
  row.dead_percent = 5;
  row.seed = 9;
  row.max_efi = 2;
  row.lower_bound = 1;
  row.repair_steps = {{3, 0}, {2, 0.001}};
  Row wrong = row;
  wrong.algorithm = "fulb_rooted";
  wrong.max_efi = 5;
  wrong.fault = "it has a loop";
  const std::vector rows{row, wrong};
  const auto parsed = boost::json::parse(comparison::to_json(rows)).as_array();
  ASSERT_EQ(parsed.size(), 2U);
  const auto& first = parsed[0].as_object();
  for (const char* const key : {"topology", "pattern", "algorithm", "max_efi", "mean_efi",
                                "lower_bound", "root_seconds", "tree_seconds", "valid"}) {
    EXPECT_TRUE(first.contains(key)) << key;
  }
  EXPECT_EQ(first.at("max_efi"), 2);
  EXPECT_EQ(first.at("valid"), true);
  EXPECT_EQ(first.at("seed"), 9);
  EXPECT_EQ(first.at("repair_steps").as_array().size(), 2U);
  EXPECT_EQ(parsed[1].at("valid"), false);
  EXPECT_EQ(parsed[1].at("fault"), "it has a loop");
  using testing::HasSubstr;
  EXPECT_THAT(comparison::to_table(rows), HasSubstr("ft3:4 (5 % dead) 4x4"));
  EXPECT_THAT(comparison::to_table(rows), HasSubstr("it has a loop"));
  EXPECT_THAT(published::to_ratios(rows),
              HasSubstr("2.5")); // fulb_rooted's load by prism_repaired's
}

} // namespace
} // namespace tributary::multicast
