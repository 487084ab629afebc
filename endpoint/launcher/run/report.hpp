// Reports of a launch, for people and programs; inventories of nodes.
#pragma once

#include "endpoint/launcher/control/launch.hpp"

#include <boost/json/value.hpp>

#include <string>
#include <string_view>

namespace tributary::launch::run {

/// "phase 3: nodes ready (81.2 ms)"
[[nodiscard]] std::string step_text(const control::Step& step, TimeNs begin);
/// A table, a line for each step.
[[nodiscard]] std::string timing_text(const control::Launch& launch);
/// Writes JSON to a file; errors are printed to standard error.
void write_report(const std::string& file, const control::Launch& launch, bool offload);

/// Inventory of one node, or {"nodes": [...]} for all; null for an unknown name.
[[nodiscard]] boost::json::value inventory_of(const control::Launch& launch, std::string_view node);

} // namespace tributary::launch::run
