// The command line of `tributaryctl host`: the agent of this node, tributary-hostd.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tributary::cli {

struct HostCommand {
  enum class Verb : std::uint8_t { show, add_job, end_job, run_job };
  Verb verb = Verb::show;
  std::string socket;                            ///< of the agent
  std::optional<std::chrono::nanoseconds> watch; ///< interval of repeated output
  std::string job;
  std::uint16_t vni = 0;
  std::string user; ///< name or number; empty: the caller
  std::string cgroup;
  std::optional<std::chrono::seconds> lifetime;
  std::string url; ///< of the fabric manager
  std::string certificate_authority;
  std::string token_file;
  std::vector<std::string> words; ///< the command that is run, and its arguments
};

/// Adds `host` and its subcommands; parsing fills `command`, which must stay until then.
CLI::App* add_host_command(CLI::App& app, HostCommand& command);

} // namespace tributary::cli
