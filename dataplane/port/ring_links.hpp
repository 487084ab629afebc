// Links between two ports of one process: single-producer, single-consumer rings, one per sender
// and direction.
//
//        port A  --- lanes 0, 1 ... --->  port B
//                <-- lanes 0, 1 ... ----
//
// The first port that opens a name gets side A, the second side B; a third is refused. The rings
// are kept when both have closed, for the next two ports of that name. Used by the main thread
// only, and `close` only while no worker is on either port; but frames pass an End on its port's
// workers: each sender has a lane of its own, and one worker receives, or each from its own lane.
//
// No DPDK device is involved, so these links do not count towards DPDK's limit.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

struct rte_mbuf;
struct rte_ring;

namespace tributary::port {

class RingLinks {
public:
  static constexpr std::uint16_t most_lanes = 32;
  /// The lanes of one direction. Their number never decreases.
  struct Lanes {
    std::array<rte_ring*, most_lanes> rings{};
    std::atomic<std::uint16_t> count{0};
  };
  struct End {
    Lanes* incoming = nullptr;
    Lanes* outgoing = nullptr;
    int side = 0;           ///< 0 or 1
    std::uint16_t next = 0; ///< incoming lane that is read next

    // One thread at a time.

    /// Up to `capacity` frames of one lane; the caller owns them. 0: all lanes are empty.
    std::uint16_t receive(rte_mbuf** frames, std::uint16_t capacity);

    // One thread at a time per lane.

    /// The same from one lane.
    std::uint16_t receive_lane(std::uint16_t lane, rte_mbuf** frames, std::uint16_t capacity) const;

    /// Sends the first frames and returns their number; the others remain the caller's.
    std::uint16_t transmit(std::uint16_t lane, rte_mbuf* const* frames, std::uint16_t count) const;
  };
  static constexpr std::uint32_t frames_per_ring = 4096;

  /// Joins the link of this name, with `lanes` lanes to send on. Throws PortError if two ports hold
  /// it already.
  End open(const std::string& name, std::uint16_t lanes = 1);
  /// Gives a side back. Frames still in flight in either direction are freed.
  void close(const std::string& name, const End& end);
  /// Whether both ends are open: the link is up.
  [[nodiscard]] bool joined(const std::string& name) const;

private:
  struct Link {
    std::array<std::unique_ptr<Lanes>, 2> lanes{std::make_unique<Lanes>(),
                                                std::make_unique<Lanes>()};
    std::array<bool, 2> taken{};
  };
  std::map<std::string, Link> links_;
};

} // namespace tributary::port
