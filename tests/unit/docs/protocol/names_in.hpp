// The names between backticks in a cell of a page's table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tributary::test {

inline std::vector<std::string> names_in(std::string_view cell) {
  std::vector<std::string> names;
  for (auto at = cell.find('`'); at != std::string_view::npos; at = cell.find('`', at + 1)) {
    const auto end = cell.find('`', at + 1);
    names.emplace_back(cell.substr(at + 1, end - at - 1));
    at = end;
  }
  return names;
}

} // namespace tributary::test
