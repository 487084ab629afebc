// Unicast routes, paths, faults and drained switches, for people.
#pragma once

#include "lib/terminal/display.hpp"
#include "tools/tributaryctl/entry.hpp"

#include <string>

namespace tributary::cli {

[[nodiscard]] std::string routes_view(const Entry& routes, const terminal::Display& display);
[[nodiscard]] std::string path_view(const Entry& path, const terminal::Display& display);
[[nodiscard]] std::string faults_view(const Entry& faults, const terminal::Display& display);
/// One line: drained and safe, the paths that still lead through it, or in use.
[[nodiscard]] std::string drain_line(const Entry& drain);

} // namespace tributary::cli
