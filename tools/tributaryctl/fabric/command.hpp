// The command line of `tributaryctl fabric`: requests to the fabric manager.
#pragma once

#include "tools/tributaryctl/fabric/manager_place.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tributary::cli {

struct FabricCommand : terminal::ManagerOptions {
  enum class Verb : std::uint8_t {
    show,
    draw_tree,
    write_topology,
    create_group,
    destroy_group,
    create_job,
    destroy_job,
    rebalance,
    drain,
    undrain,
    adopt,
    failover,
    route,
  };
  Verb verb = Verb::show;

  std::string what; ///< show: topology, groups, ...
  std::string id;   ///< show: one of them, or empty
  std::string to;   ///< show paths: the other host
  // show: only objects related to these; "" for all
  std::string at_switch;                         ///< hosts, links, trees
  std::string group;                             ///< trees; with a job
  std::optional<std::chrono::nanoseconds> watch; ///< interval of repeated output
  bool follow = false;                           ///< show events
  std::uint64_t after = 0; ///< show events: number of the last one that is known

  std::string format = "text";          ///< draw_tree: text, dot, svg
  std::string topology_format = "toml"; ///< write_topology: toml, netlist, dot

  std::string name; ///< name of the group or job; adopt: the fabric; failover: the next
                    ///< leader, or any
  std::optional<std::string> job; ///< also: show groups, trees of this job
  std::uint32_t size = 0;
  std::uint32_t trees = 1;
  std::optional<std::uint32_t> root_rank;
  std::optional<bool>
      in_switch_results; ///< in-switch results of a group; nullopt: as the manager's file says
  // create_job
  std::optional<std::uint32_t> limit;
  std::vector<std::string> hosts; ///< empty: any
  std::vector<std::string> vnis;  ///< empty: any
  bool dry_run = false;           ///< rebalance
  std::uint32_t tree = 0;         ///< draw_tree
  // drain, undrain: the switch `name`
  bool force = false;
  bool no_wait = false;
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);

  // route
  std::vector<std::string> topologies;
  std::vector<std::string> patterns;
  std::optional<std::chrono::nanoseconds> budget; ///< of repair
  double dead = 0;                                ///< share of links
  std::uint64_t seed = 1;
  unsigned runs = 1;
};

/// Adds `fabric` and its subcommands; parsing fills `command`, which must stay until then.
CLI::App* add_fabric_command(CLI::App& app, FabricCommand& command);

} // namespace tributary::cli
