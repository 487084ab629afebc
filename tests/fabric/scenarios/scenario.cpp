#include "tests/fabric/scenarios/scenario.hpp"

namespace tributary::fabric {

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all;
  for (const auto list : {basic_scenarios(),
                          failure_table_scenarios(),
                          protocol_fault_scenarios(),
                          missing_scenarios(),
                          one_root_scenarios(),
                          stranger_scenarios(),
                          network_fault_scenarios(),
                          twin_scenarios(),
                          incast_scenarios(),
                          pause_scenarios(),
                          slow_part_scenarios(),
                          moving_tree_scenarios(),
                          route_scenarios(),
                          route_fault_scenarios(),
                          route_cycle_scenarios(),
                          rdma_scenarios(),
                          vector_scenarios(),
                          context_scenarios(),
                          hostile_context_scenarios(),
                          in_switch_scenarios(),
                          in_switch_hostile_scenarios(),
                          mixed_scenarios()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

std::optional<Scenario> find_scenario(std::string_view name) {
  for (const Scenario& s : all_scenarios()) {
    if (s.name == name) {
      return s;
    }
  }
  return std::nullopt;
}

std::vector<Scenario> scenarios_like(std::string_view pattern) {
  std::vector<Scenario> found = all_scenarios();
  const bool is_prefix = pattern.ends_with('*');
  const std::string_view text = pattern.substr(0, pattern.size() - (is_prefix ? 1 : 0));
  std::erase_if(found, [&](const Scenario& s) {
    return is_prefix ? !s.name.starts_with(text) : s.name != text;
  });
  return found;
}

std::string command_for(const Scenario& scenario, std::uint64_t seed) {
  return "fabric-campaign --scenario " + std::string(scenario.name) + " --seed " +
         std::to_string(seed) + " --trace";
}

} // namespace tributary::fabric
