// Which nodes a job may use, and how many ranks each takes: from `--namespaces`, a `--hostfile` or
// Slurm's variables. Pure.
//
//   ns1:2,ns2:2                  --namespaces: name, and ranks after a colon (1 without)
//   node1:4                      a file: one node a line, '#' begins a comment;
//   node2 slots=4                Open MPI's spelling is understood, too
//   node[1-3,7],login0           SLURM_JOB_NODELIST, with SLURM_TASKS_PER_NODE "4(x3),2"
//
// A node is named once; a second mention in a file adds its slots.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::launch::job {

/// Its message has the error, its place, and the supported forms.
class NodeListError : public std::invalid_argument {
public:
  using std::invalid_argument::invalid_argument;
};

struct NodeSlots {
  std::string name;
  std::uint32_t slots = 1; ///< ranks that it takes
  friend bool operator==(const NodeSlots&, const NodeSlots&) = default;
};

inline constexpr std::uint32_t most_nodes = 4096;
inline constexpr std::uint32_t most_ranks = 65536;

/// Parses `--namespaces`. Throws NodeListError.
[[nodiscard]] std::vector<NodeSlots> parse_nodes(std::string_view text);

/// Parses a `--hostfile`; `file` is its name, for errors. Throws NodeListError.
[[nodiscard]] std::vector<NodeSlots> parse_host_file(std::string_view text, std::string_view file);

/// Parses Slurm's variables; without `tasks` each node takes one rank. Throws NodeListError.
[[nodiscard]] std::vector<NodeSlots> parse_slurm(std::string_view nodes, std::string_view tasks);

} // namespace tributary::launch::job
