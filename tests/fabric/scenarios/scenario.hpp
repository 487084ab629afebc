// The scenarios by name. Each builds its own fabric from the seed, runs it, and reports.
#pragma once

#include "tests/fabric/run.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::fabric {

struct Scenario {
  std::string_view name;
  std::string_view purpose; ///< one line
  RunReport (*run)(const RunOptions&) = nullptr;
  /// How many seeds the test suite runs it with.
  std::uint64_t suite_seeds = 20;
};

/// All of them, in the order in which they are listed to people.
std::vector<Scenario> all_scenarios();
std::optional<Scenario> find_scenario(std::string_view name);
/// Those whose name is `pattern`, or begins with what precedes the asterisk that ends it.
std::vector<Scenario> scenarios_like(std::string_view pattern);
/// The command line that repeats this run with a trace.
std::string command_for(const Scenario& scenario, std::uint64_t seed);

// Where they are defined, one list per file.
std::span<const Scenario> basic_scenarios();
std::span<const Scenario> failure_table_scenarios();
std::span<const Scenario> protocol_fault_scenarios();
std::span<const Scenario> missing_scenarios();
std::span<const Scenario> one_root_scenarios();
std::span<const Scenario> stranger_scenarios();
std::span<const Scenario> network_fault_scenarios();
std::span<const Scenario> in_switch_scenarios();
std::span<const Scenario> in_switch_hostile_scenarios();
std::span<const Scenario> twin_scenarios();
std::span<const Scenario> incast_scenarios();
std::span<const Scenario> pause_scenarios();
std::span<const Scenario> slow_part_scenarios();
std::span<const Scenario> moving_tree_scenarios();
std::span<const Scenario> route_scenarios();
std::span<const Scenario> route_fault_scenarios();
std::span<const Scenario> route_cycle_scenarios();
std::span<const Scenario> rdma_scenarios();
std::span<const Scenario> vector_scenarios();
std::span<const Scenario> context_scenarios();
std::span<const Scenario> hostile_context_scenarios();
std::span<const Scenario> mixed_scenarios();
/// The faults that the scenario "mixed" inflicts; each must occur within a hundred of its seeds.
std::span<const Fault> mixed_faults();

/// The reasons for which the queues and rings of its switches drop frames; likewise.
std::span<const core::DropReason> mixed_drops();

} // namespace tributary::fabric
