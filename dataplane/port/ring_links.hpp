// Links between two ports of one process: a pair of single-producer, single-consumer rings.
//
//        port A  --- ring 0 --->  port B
//                <-- ring 1 ----
//
// The first port that opens a name gets side A, the second side B; a third is refused. The rings
// are kept when both have gone, for the next two ports of that name. Used by the main thread only,
// and `close` only while no worker is on either port; but frames pass an End on its port's worker.
//
// No DPDK device is in between, so these links do not count among those that DPDK has room for.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

struct rte_mbuf;
struct rte_ring;

namespace tributary::port {

class RingLinks {
public:
  struct End {
    rte_ring* incoming = nullptr;
    rte_ring* outgoing = nullptr;
    int side = 0; ///< 0 or 1

    // One thread at a time.

    /// Up to `capacity` frames; they are the caller's now.
    std::uint16_t receive(rte_mbuf** frames, std::uint16_t capacity) const;
    /// Sends the first of these frames and says how many; the others remain the caller's.
    std::uint16_t transmit(rte_mbuf* const* frames, std::uint16_t count) const;
  };
  static constexpr std::uint32_t frames_per_ring = 4096;

  /// Joins the link of this name. Throws PortError when two ports hold it already.
  End open(const std::string& name);
  /// Gives a side back. Frames still in flight in either direction are freed.
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

} // namespace tributary::port
