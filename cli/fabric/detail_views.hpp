// One switch, group, tree or transaction in detail, and the whole fabric at once.
#pragma once

#include "cli/entry.hpp"

#include <string>

namespace tributary::cli {

[[nodiscard]] std::string switch_view(const Entry& s, bool colours);
[[nodiscard]] std::string group_view(const Entry& g, bool colours);
/// What each switch does for the tree; a heading is the list's affair.
[[nodiscard]] std::string tree_parts_view(const Entry& t, bool colours);
[[nodiscard]] std::string transaction_steps_view(const Entry& t, bool colours);
[[nodiscard]] std::string topology_view(const Entry& all, bool colours);

} // namespace tributary::cli
