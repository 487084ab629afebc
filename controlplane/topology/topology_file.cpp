#include "controlplane/topology/topology_file.hpp"

#include "controlplane/topology/netlist_file.hpp"
#include "controlplane/topology/toml_file.hpp"

#include <algorithm>
#include <array>

namespace tributary::topology {
namespace {

/// Whether the first relevant line is a node of a netlist, and not a table.
bool is_netlist(std::string_view text) {
  constexpr std::array<std::string_view, 4> nodes = {"Switch", "Hca", "Ca", "Rt"};
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with("[[")) {
      return false;
    }
    for (const std::string_view node : nodes) {
      if (line.starts_with(node) && line.find_first_of(" \t") == node.size()) {
        return line.find('"') != std::string_view::npos;
      }
    }
  }
  return false;
}

} // namespace

Graph read_topology(std::string_view text, const std::string& file) {
  return is_netlist(text) ? read_netlist(text, file) : read_toml(text, file);
}

} // namespace tributary::topology
