// Switches' memory for wide frames, for people.
#pragma once

#include "lib/terminal/display.hpp"
#include "tools/tributaryctl/entry.hpp"

#include <string>
#include <vector>

namespace tributary::cli {

/// A line for each switch: its memory, and the holder of most of it.
[[nodiscard]] std::string memory(const std::vector<Entry>& list, const terminal::Display& display);
/// One switch, and a line for each of its largest holders.
[[nodiscard]] std::string memory_view(const Entry& one, const terminal::Display& display);

} // namespace tributary::cli
