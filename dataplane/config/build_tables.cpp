#include "dataplane/config/build_tables.hpp"

namespace tributary::config {

std::shared_ptr<const core::Tables> build_tables(const Switch& config, std::uint64_t version,
                                                 std::vector<configuration::Diagnostic>& findings) {
  core::TablesBuilder builder(config.settings.timers, config.settings.wide_memory);
  const auto check = [&](const std::string& problem, int line, const char* key) {
    if (!problem.empty()) {
      findings.push_back({line, key, problem});
    }
  };
  for (const Port& port : config.ports) {
    check(builder.add_port(port.policy), port.line, "switch.port");
  }
  for (const Tree& tree : config.trees) {
    check(builder.add_tree(tree.number, tree.wait_count, tree.parent, tree.children, tree.slots),
          tree.line, "switch.tree");
    check(builder.set_shared(tree.number, tree.shared), tree.line, "switch.tree");
  }
  for (const Route& route : config.routes) {
    check(builder.add_route(route.nid, route.port), route.line, "switch.route");
  }
  return findings.empty() ? builder.build(version) : nullptr;
}

} // namespace tributary::config
