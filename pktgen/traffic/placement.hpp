// Where the virtual hosts of any traffic sit, and what they are called.
#pragma once

#include "tributary/wire/ethernet.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::pktgen {

struct Placement {
  std::vector<wire::MacAddress> ports; ///< the addresses of the generator's ports
  /// Those that another worker has; empty: none.
  std::vector<bool> elsewhere;
  [[nodiscard]] bool is_here(std::size_t port) const {
    return port >= elsewhere.size() || !elsewhere[port];
  }
  std::uint32_t first_nid = 0x10000;
  std::uint16_t ethertype = wire::default_ethertype;
};

} // namespace tributary::pktgen
