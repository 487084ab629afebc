// A table of the documentation, for tests that compare the code with it.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::test {

/// The rows of the first table of the page with this beginning of its head, as trimmed cells,
/// without the head. Empty if no such table exists. The page's path is relative to the source
/// tree's root.
inline std::vector<std::vector<std::string>> page_table(const std::string& page,
                                                        std::string_view head) {
  std::ifstream in(TRIBUTARY_SOURCE_ROOT "/" + page);
  std::string line;
  while (std::getline(in, line) && !line.starts_with(head)) {
  }
  std::getline(in, line); // |---|
  std::vector<std::vector<std::string>> rows;
  while (std::getline(in, line) && line.starts_with('|')) {
    std::istringstream text(line.substr(1));
    std::vector<std::string>& row = rows.emplace_back();
    for (std::string cell; std::getline(text, cell, '|');) {
      const auto first = cell.find_first_not_of(' ');
      row.push_back(first == std::string::npos
                        ? ""
                        : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
    }
  }
  return rows;
}

} // namespace tributary::test
