// The command line of `tributaryctl rdma`: the fabric manager's retransmit handling.
#pragma once

#include "tools/tributaryctl/fabric/command.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tributary::cli {

struct RdmaCommand {
  enum class Verb : std::uint8_t { show, set_policy, reset_policy, quarantine, release };
  Verb verb = Verb::show;
  terminal::ManagerOptions manager;
  std::string what;                              ///< show: policy, peers, transfers, exceptions
  std::optional<std::chrono::nanoseconds> watch; ///< interval of repeated output
  std::uint32_t lines = 100;
  std::optional<std::uint16_t> vni;
  std::vector<std::string> fields; ///< FIELD=VALUE; for reset: FIELD, none for all
  std::string host;                ///< by name or NID
};

/// Adds `rdma` and its subcommands; parsing fills `command`, which must stay until then.
CLI::App* add_rdma_command(CLI::App& app, RdmaCommand& command);

} // namespace tributary::cli
