// One switch, group, tree or transaction in detail, and the whole fabric in one view.
#pragma once

#include "lib/terminal/display.hpp"
#include "tools/tributaryctl/entry.hpp"

#include <string>

namespace tributary::cli {

[[nodiscard]] std::string switch_view(const Entry& s, const terminal::Display& display);
[[nodiscard]] std::string group_view(const Entry& g, const terminal::Display& display);
/// Each switch's part of the tree; the list prints the heading.
[[nodiscard]] std::string tree_parts_view(const Entry& t, const terminal::Display& display);
[[nodiscard]] std::string transaction_steps_view(const Entry& t, const terminal::Display& display);
[[nodiscard]] std::string topology_view(const Entry& all, const terminal::Display& display);

} // namespace tributary::cli
