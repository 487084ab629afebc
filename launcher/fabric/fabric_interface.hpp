// Which of a node's interfaces is that of the fabric. Pure.
#pragma once

#include "launcher/messages/protocol.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::launch::fabric {

struct FabricInterface {
  std::string name;
  std::string address; ///< "02:00:00:00:00:04"
  std::uint32_t nid = 0;
};

/// The NID of an interface is the low 20 bits of its MAC address, as the host library takes it.
[[nodiscard]] std::optional<std::uint32_t> nid_of(std::string_view mac);

/// The one named `wanted`; without a name the one whose NID the manager has seen, or the first
/// whose MAC address is made for the fabric (02:00:00:0H:HH:HH). Nothing: there is none.
[[nodiscard]] std::optional<FabricInterface>
fabric_interface(const std::vector<messages::Interface>& interfaces, std::string_view wanted,
                 const std::set<std::uint32_t>& known);

} // namespace tributary::launch::fabric
