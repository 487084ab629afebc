#include "endpoint/mpi/model/settings.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tributary::mpi::test {
namespace {

Settings settings(const std::map<std::string, std::string>& environment,
                  std::vector<std::string>& faults) {
  return settings_from(
      [&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
      },
      faults);
}

TEST(Settings, AreReadFromTheEnvironment) {
  std::vector<std::string> faults;
  const Settings read = settings({{"TRIBUTARY_MPI_INTERFACE", "eth1"},
                                  {"TRIBUTARY_MPI_REQUIRE", "1"},
                                  {"TRIBUTARY_MPI_IN_SWITCH_RESULTS", "0"},
                                  {"TRIBUTARY_SUM", "reproducible"},
                                  {"TRIBUTARY_MPI_NAN", "ignored"},
                                  {"TRIBUTARY_MPI_TUNING", "barrier"},
                                  {"TRIBUTARY_MPI_TIMEOUT", "7"},
                                  {"TRIBUTARY_MPI_SPIN_USEC", "0"}},
                                 faults);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(read.interface, "eth1");
  EXPECT_TRUE(read.on && read.require && read.reproducible);
  EXPECT_FALSE(read.nan_wins);
  EXPECT_TRUE(settings({}, faults).nan_wins);
  EXPECT_EQ(read.in_switch_results, false);
  EXPECT_EQ(settings({}, faults).in_switch_results, std::nullopt)
      << "as the fabric manager's file says";
  EXPECT_EQ(settings({{"TRIBUTARY_MPI_IN_SWITCH_RESULTS", "1"}}, faults).in_switch_results, true);
  ASSERT_TRUE(read.tuning.has_value());
  EXPECT_EQ(read.timeout, std::chrono::seconds(7));
  EXPECT_EQ(read.spin_usec, 0U); // which differs from unset
  EXPECT_EQ(settings({}, faults).spin_usec, std::nullopt);
  EXPECT_NE(read.common(), settings({}, faults).common());
}

TEST(Settings, TuningIsMeasuredUnlessItIsGiven) {
  std::vector<std::string> faults;
  const auto tuning = [&](const std::string& text) {
    return settings({{"TRIBUTARY_MPI_TUNING", text}}, faults);
  };
  EXPECT_FALSE(settings({}, faults).tuning.has_value());
  EXPECT_TRUE(settings({}, faults).corrections);
  EXPECT_TRUE(tuning("print").print_tuning && tuning("print").corrections);
  EXPECT_FALSE(tuning("start").tuning.has_value());
  EXPECT_FALSE(tuning("start").corrections);
  EXPECT_TRUE(tuning("start").at_start && tuning("run").corrections);
  EXPECT_FALSE(tuning("run").at_start);
  EXPECT_TRUE(faults.empty());
  // Ranks that differ in it are detected; whether a table is printed may differ.
  EXPECT_NE(tuning("start").common(), tuning("measure").common());
  EXPECT_NE(tuning("run").common(), tuning("measure").common());
  EXPECT_EQ(tuning("print").common(), tuning("measure").common());
}

TEST(Settings, WhatIsWrongIsSaidWithWhatItCanBe) {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"TRIBUTARY_MPI", "yes"},
                                          {"TRIBUTARY_MPI_REQUIRE", "2"},
                                          {"TRIBUTARY_SUM", "exact"},
                                          {"TRIBUTARY_MPI_TIMEOUT", "0"},
                                          {"TRIBUTARY_MPI_SPIN_USEC", "10us"},
                                          {"TRIBUTARY_MPI_TUNING", "fastest"}}) {
    std::vector<std::string> faults;
    settings({{name, value}}, faults);
    ASSERT_EQ(faults.size(), 1U) << name;
    EXPECT_NE(faults[0].find(name), std::string::npos);
    EXPECT_NE(faults[0].find(value), std::string::npos);
  }
}

} // namespace
} // namespace tributary::mpi::test
