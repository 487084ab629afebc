// What the environment says of the provider; docs/guide/libfabric.md has the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tributary::ofi {

struct Settings {
  std::string interface {};                  ///< TRIBUTARY_OFI_INTERFACE; "": the host agent's
  std::size_t eager_bytes = 16'384;          ///< TRIBUTARY_OFI_EAGER_BYTES
  std::size_t unexpected_mib = 64;           ///< TRIBUTARY_OFI_UNEXPECTED_MIB
  std::size_t unexpected_messages = 131'072; ///< TRIBUTARY_OFI_UNEXPECTED_MESSAGES
  std::size_t peers = 4096;                  ///< TRIBUTARY_OFI_PEERS
  std::size_t operations = 32'768;           ///< TRIBUTARY_OFI_OPERATIONS
  std::uint32_t retries = 250;               ///< TRIBUTARY_OFI_RETRIES
  bool thread = true;                        ///< TRIBUTARY_OFI_PROGRESS: thread or caller
};

/// Throws std::invalid_argument, which names the variable, its value and what it can be.
[[nodiscard]] Settings settings_of_environment();

} // namespace tributary::ofi
