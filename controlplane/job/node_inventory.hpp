// Inventory of the nodes of jobs, as their daemons report it: processors, memory, devices, and
// network interfaces, including software interfaces.
//
// Kept as long as the manager runs: every start of a job reports its nodes again. Pure.
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
  std::string driver{}; ///< "veth", "mlx5_core"; "" where the kernel gives none
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

/// "eth1 is new, eth0 is down, 8 processors instead of 16"; "" when nothing has changed.
[[nodiscard]] std::string difference(const NodeInventory& before, const NodeInventory& now);

/// The NIDs of its interfaces: the low 20 bits of addresses that are made for the fabric
/// (02:00:00:0H:HH:HH), as in the host library. Other addresses do not count.
[[nodiscard]] std::vector<Nid> hosts_of(const NodeInventory& node);

class NodeTable {
public:
  static constexpr std::size_t most_nodes = 16'384;
  struct Node {
    NodeInventory inventory;
    std::string job; ///< the last job that reported it; "" the administrator
    TimeNs reported{};
  };
  /// The difference to the last report; "" for the first one. Nothing when the inventory is full.
  [[nodiscard]] std::optional<std::string> report(const std::string& name, NodeInventory inventory,
                                                  const std::string& job, TimeNs now);
  /// Null when it was never reported.
  [[nodiscard]] const Node* find(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, Node, std::less<>>& all() const { return nodes_; }

private:
  std::map<std::string, Node, std::less<>> nodes_;
};

} // namespace tributary::job
