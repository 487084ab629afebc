// The command line of tributaryctl.
#pragma once

#include "tools/tributaryctl/exit_codes.hpp"
#include "tools/tributaryctl/fabric/command.hpp"
#include "tools/tributaryctl/host/command.hpp"
#include "tools/tributaryctl/impair/command.hpp"
#include "tools/tributaryctl/rdma/command.hpp"
#include "tools/tributaryctl/store/command.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tributary::cli {

inline constexpr const char* default_socket = "/run/tributary/switch.sock";

struct Command {
  enum class Verb : std::uint8_t {
    show,
    trace,
    capture,
    explain,
    impair,
    reload,
    version,
    fabric,
    rdma,
    host,
    store
  };
  Verb verb = Verb::version;
  std::string socket = default_socket;
  bool json = false;

  std::string switch_name;                       ///< show, capture, explain; empty: all
  std::string what;                              ///< show: ports, ...; trace: on, off, all, dump
  std::optional<std::chrono::nanoseconds> watch; ///< interval of repeated output

  std::string port;                  ///< show queues, capture, explain
  std::string direction;             ///< capture: received, sent; empty: both
  std::optional<std::uint32_t> tree; ///< capture, trace
  std::string kind;                  ///< capture; empty: any
  std::optional<std::uint32_t> vni;
  std::optional<std::uint32_t> cookie;
  bool drops = false;  ///< capture, trace
  bool follow = false; ///< trace
  std::optional<std::uint64_t> count;
  std::optional<std::chrono::nanoseconds> duration; ///< capture
  std::string output = "-"; ///< file for the answer or the capture; "-" is standard output

  FabricCommand fabric;
  RdmaCommand rdma;
  HostCommand host;
  StoreCommand store;
  ImpairCommand impair;

  std::string frame; ///< explain: hex; "-" is standard input
};

/// The command, or the exit code when the command line has been answered already: help, version, a
/// usage error.
struct ParsedCommand {
  Command command;
  std::optional<int> exit_code;
};
[[nodiscard]] ParsedCommand parse_command_line(int argc, const char* const* argv);

} // namespace tributary::cli
