// The command line of `tributary-host rdma`.
#pragma once

#include "tributary/rdma.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tributary::host {

struct RdmaOptions {
  enum class Action : std::uint8_t { serve, write, read };
  Action action = Action::serve;

  tributary_host_options host{}; ///< but for the interface
  std::string interface;
  tributary_rdma_options sizes{};
  bool json = false;
  std::uint64_t seed = 1;            ///< of what is written, or stands in the region
  std::optional<std::string> output; ///< file for the region, or for what was read

  // serve
  std::uint64_t length = 0; ///< of the region; of each transfer
  std::uint16_t vni = 0;
  int rights = TRIBUTARY_RDMA_PEERS_WRITE | TRIBUTARY_RDMA_PEERS_READ;
  std::optional<std::string> region_file;
  std::uint64_t arrivals = 0; ///< after which it ends; 0: never
  double seconds = 0;         ///< the same

  // write, read
  tributary_rdma_region region{};
  std::uint64_t offset = 0;
  std::optional<std::string> input;
  std::uint64_t count = 1;
  std::uint64_t in_flight = 1;
  std::optional<std::uint64_t> immediate;
  double timeout_seconds = 60;
  double again_seconds = 0;    ///< for so long what fails is begun anew; 0: it is the end
  std::string region_argument; ///< the digits of `region`, or @FILE
};

/// The digits themselves, or @FILE with them. Throws CLI::ValidationError.
[[nodiscard]] tributary_rdma_region region_in(const std::string& text);

/// Reads what stands behind "rdma"; when the program is to end at once (help, or a usage error that
/// was already reported), answers nothing and sets `exit_code`.
[[nodiscard]] std::optional<RdmaOptions> read_rdma_options(int argc, char** argv, int& exit_code);

} // namespace tributary::host
