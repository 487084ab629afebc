// The managers of a fabric, and what they met, for people.
#pragma once

#include "lib/terminal/display.hpp"
#include "tools/tributaryctl/entry.hpp"

#include <string>

namespace tributary::cli {

/// A line for each manager, each other fabric whose switches were rejected, and each problem.
[[nodiscard]] std::string managers_view(const Entry& all, const terminal::Display& display);

} // namespace tributary::cli
