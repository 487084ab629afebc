// What the nodes of jobs have, as their daemons report it: processors, memory, devices, and network
// interfaces, software ones among them.
//
// Kept as long as the manager runs: whoever starts a job reports its nodes anew. Pure.
#pragma once

#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::job {

struct Interface {
  std::string name{};
  std::string address{}; ///< "02:00:00:00:00:04"
  std::uint32_t mtu = 0;
  bool up = false;
  std::string driver{}; ///< "veth", "mlx5_core"; "" where the kernel names none
  std::uint32_t speed_mbps = 0;
  friend bool operator==(const Interface&, const Interface&) = default;
};

struct NodeInventory {
  std::string host; ///< its own name
  std::uint32_t packages = 0;
  std::uint32_t cores = 0;
  std::uint32_t processors = 0;
  std::uint32_t memory_nodes = 0;
  std::uint64_t memory_bytes = 0;
  std::string processor;            ///< its model
  std::vector<std::string> devices; ///< "gpu card0"
  std::vector<Interface> interfaces;
  friend bool operator==(const NodeInventory&, const NodeInventory&) = default;
};

/// "eth1 is new, eth0 is down, 8 processors instead of 16"; "" when nothing is different.
[[nodiscard]] std::string difference(const NodeInventory& before, const NodeInventory& now);

/// The hosts that its interfaces are, by the low 20 bits of their addresses, as the host library
/// takes them; those whose address is made for the fabric (02:00:00:0H:HH:HH) alone.
[[nodiscard]] std::vector<Nid> hosts_of(const NodeInventory& node);

class NodeTable {
public:
  static constexpr std::size_t most_nodes = 16'384;
  struct Node {
    NodeInventory inventory;
    std::string job; ///< that reported it last; "" the administrator
    TimeNs reported{};
  };
  /// What is different since the last report; "" for the first one. Nothing: there is no room.
  [[nodiscard]] std::optional<std::string> report(const std::string& name, NodeInventory inventory,
                                                  const std::string& job, TimeNs now);
  /// Null when it was never reported.
  [[nodiscard]] const Node* find(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, Node, std::less<>>& all() const { return nodes_; }

private:
  std::map<std::string, Node, std::less<>> nodes_;
};

} // namespace tributary::job
