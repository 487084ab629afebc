// Links between two ports of one process: a pair of single-producer, single-consumer rings.
//
//        port A  --- ring 0 --->  port B
//                <-- ring 1 ----
//
// The first port that opens a name gets side A, the second side B; a third is refused. The rings
// are kept when both have gone, for the next two ports of that name. Used by the main thread only,
// and `close` only while no worker is on either port.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

struct rte_ring;

namespace tributary::dataplane {

class RingLinks {
public:
  struct End {
    rte_ring* receive = nullptr;
    rte_ring* transmit = nullptr;
    int side = 0; ///< 0 or 1
  };
  static constexpr std::uint32_t frames_per_ring = 4096;

  /// Joins the link of this name. Throws PortError when two ports hold it already.
  End open(const std::string& name);
  /// Gives a side back. Frames still under way in either direction are freed.
  void close(const std::string& name, const End& end);
  /// Whether both ends are open: the link is up.
  [[nodiscard]] bool joined(const std::string& name) const;

private:
  struct Link {
    std::array<rte_ring*, 2> rings{};
    std::array<bool, 2> taken{};
  };
  std::map<std::string, Link> links_;
};

} // namespace tributary::dataplane
