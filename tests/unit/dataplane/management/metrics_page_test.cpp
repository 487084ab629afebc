// docs/operate/metrics.md has the metrics of a switch in a table that is made from a scrape. With
// TRIBUTARY_WRITE_PAGES in the environment the test writes it.
#include "dataplane/management/metrics.hpp"
#include "fake_inspector.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace tributary::management {
namespace {

const std::string page_file = TRIBUTARY_SOURCE_ROOT "/docs/operate/metrics.md";
const std::string begin = "<!-- made by unit-management -->\n";
const std::string end = "<!-- end of unit-management -->\n";

/// The names of the labels in `{a="..",b=".."}`.
std::string label_names(const std::string& sample) {
  static const std::regex label(R"re((\w+)="(?:[^"\\]|\\.)*")re");
  std::string names;
  for (std::sregex_iterator at(sample.begin(), sample.end(), label), none; at != none; ++at) {
    names += (names.empty() ? "" : ", ") + (*at)[1].str();
  }
  return names;
}

/// A row for each family of a scrape: the name of its samples without the prefix, labels, help.
std::string table_of(const std::string& scrape) {
  std::string table = "| name | labels | meaning |\n|---|---|---|\n";
  std::string help;
  std::istringstream lines(scrape);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      help = line.substr(line.find(' ', std::string("# HELP ").size()) + 1);
    } else if (!line.starts_with('#') && !help.empty()) {
      const std::string name = line.substr(0, line.find_first_of("{ "));
      table +=
          fmt::format("| `{}` | {} | {} |\n", name.substr(std::string("tributary_switch_").size()),
                      label_names(line.substr(0, line.rfind(' '))), help);
      help.clear();
    }
  }
  return table;
}

TEST(MetricsPage, HasEveryMetricOfASwitch) {
  FakeInspector inspector;
  std::ifstream in(page_file);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  const auto from = page.find(begin);
  const auto to = page.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos && from < to)
      << page_file << " needs the lines " << begin << "and " << end;
  const std::string made = "\n" + table_of(openmetrics(inspector.metrics())) + "\n";
  const auto table = from + begin.size();
  if (std::getenv("TRIBUTARY_WRITE_PAGES") != nullptr) {
    std::ofstream(page_file) << page.substr(0, table) << made << page.substr(to);
    return;
  }
  // Line by line, so that a failure names the rows that differ.
  const auto lines = [](const std::string& text) {
    std::istringstream in_text(text);
    std::set<std::string> all;
    for (std::string line; std::getline(in_text, line);) {
      all.insert(line);
    }
    return all;
  };
  std::vector<std::string> differ;
  std::ranges::set_symmetric_difference(lines(page.substr(table, to - table)), lines(made),
                                        std::back_inserter(differ));
  EXPECT_THAT(differ, testing::IsEmpty())
      << "TRIBUTARY_WRITE_PAGES=1 unit-management --gtest_filter='MetricsPage.*' writes the table";
}

} // namespace
} // namespace tributary::management
