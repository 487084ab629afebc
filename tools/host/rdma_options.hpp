// The command line of `tributary-host rdma`.
#pragma once

#include "tributary/rdma.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tributary::host {

struct RdmaOptions {
  enum class Action : std::uint8_t { serve, write, read };
  Action action = Action::serve;

  tributary_host_options host{}; ///< except the interface
  std::string interface;
  tributary_rdma_options sizes{};
  bool json = false;
  std::uint64_t seed = 1;            ///< seed of the data written, or of the region's contents
  std::optional<std::string> output; ///< file for the region, or for the data read

  // serve
  std::uint64_t length = 0; ///< length of the region, or of each transfer
  std::uint16_t vni = 0;
  int rights = TRIBUTARY_RDMA_PEERS_WRITE | TRIBUTARY_RDMA_PEERS_READ;
  std::optional<std::string> region_file;
  std::uint64_t arrivals = 0;           ///< number after which it ends; 0: never
  std::chrono::nanoseconds duration{0}; ///< time after which it ends; 0: never

  // write, read
  tributary_rdma_region region{};
  std::uint64_t offset = 0;
  std::optional<std::string> input;
  std::uint64_t count = 1;
  std::uint64_t in_flight = 1;
  std::optional<std::uint64_t> immediate;
  std::chrono::microseconds timeout = std::chrono::seconds(60);
  std::chrono::nanoseconds retry_for{0}; ///< for failed operations; 0: a failure is final
  std::string region_argument;           ///< the digits of `region`, or @FILE
};

/// The digits themselves, or @FILE with them. Throws terminal::UsageError.
[[nodiscard]] tributary_rdma_region region_in(const std::string& text);

/// Reads the arguments after "rdma"; when the program is to end now (help, or a usage error that
/// was already reported), returns nullopt and sets `exit_code`.
[[nodiscard]] std::optional<RdmaOptions> read_rdma_options(int argc, char** argv, int& exit_code);

} // namespace tributary::host
