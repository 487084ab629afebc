// The command line of tributary-run.
#pragma once

#include "endpoint/launcher/job/node_list.hpp"
#include "endpoint/launcher/run/offload_library.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tributary::launch::run {

inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;

/// How nodes are reached.
enum class Reach : std::uint8_t { here, namespaces, ssh, slurm };

struct Options {
  // For a node daemon.
  bool daemon = false;
  std::string name; ///< name of the node
  std::string dial; ///< "": its standard input is the channel

  // For the launcher.
  std::vector<std::string> command;
  std::optional<std::uint32_t> ranks;
  std::optional<std::uint32_t> per_node;
  Reach reach = Reach::here;
  std::vector<job::NodeSlots> nodes;
  std::vector<std::pair<std::string, std::string>> variables; ///< for all ranks
  std::string directory;
  std::vector<std::string> ssh{"ssh"};
  std::string remote_program; ///< tributary-run on other machines
  bool tag_output = false;
  bool timing = false;
  bool verbose = false;
  std::string report; ///< a file for JSON
  std::chrono::milliseconds grace{2000};
  std::chrono::milliseconds start_limit{60'000};

  // For the fabric manager.
  bool offload = true;
  bool require_offload = false;
  MpiChoice mpi = MpiChoice::found;
  std::optional<std::string> manager;
  std::optional<std::string> token;
  std::optional<std::string> certificate_authority;
  std::string job; ///< "": a new one
  std::string interface;
  std::uint32_t multicast_limit = 16;
};

/// nullopt: the command line has been answered, with `exit_code`.
[[nodiscard]] std::optional<Options> read_options(int argc, char** argv, int& exit_code);

} // namespace tributary::launch::run
