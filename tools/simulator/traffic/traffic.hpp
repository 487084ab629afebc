// Destinations and times of packets: the patterns of the simulator.
//
//   Traffic traffic(spec, places, seed);
//   std::uint64_t tick = traffic.first(host);            when its first packet is made
//   std::uint32_t to = traffic.destination(host);        of that packet
//   tick = traffic.next(host, tick);                     when the next one is made
//
// A host makes packets at random ticks, whatever the network does with them: packets that cannot
// leave yet wait in the host. Because that queue has no effect on when packets are made, it needs
// no memory: the next packet is drawn when the previous one has left, and may have been made long
// ago.
//
// Every host draws from a stream of its own, so its packets are the same whatever the routes are.
//
//   pattern          destination of host i of n, the hosts that are alive at the start
//   uniform          any other
//   permutation      a random permutation without fixed points, kept for the run
//   shift            i + by, modulo n
//   bit_complement   all bits of i inverted: n a power of two, all hosts counted
//   transpose        coordinates of the leaf in reverse order, same place there: equal sizes
//   hotspot          one of the first `hot` hosts, drawn by the seed, for a share of the packets;
//                    else uniform
//   listed           packets one by one, for probes and tests
//
// A host that the pattern maps to itself, or to a dead one, does not send.
#pragma once

#include "tributary/random.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace tributary::simulator::traffic {

enum class Pattern : std::uint8_t {
  uniform,
  permutation,
  shift,
  bit_complement,
  transpose,
  hotspot,
  listed
};
struct ListedPacket {
  std::uint64_t tick = 0;
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
};

struct TrafficSpec {
  Pattern pattern = Pattern::uniform;
  double load = 1.0;                     ///< flits a tick of each sender, 0 to 1
  std::uint32_t flits = 8;               ///< length of a packet
  double burst = 0;                      ///< mean packets of a burst (ON/OFF); 0: no bursts
  std::uint64_t shift = 0;               ///< 0: half of the hosts
  std::uint32_t hot = 1;                 ///< hosts
  double hot_share = 0.2;                ///< share of the packets to hot hosts
  std::vector<ListedPacket> listed = {}; ///< by source in order of ticks
};

/// Places of hosts: `leaf_sizes` are those of the grid of leaves, slowest first; host = leaf *
/// hosts a leaf + place. Empty: no grid.
struct HostPlaces {
  std::uint32_t hosts = 0;
  std::vector<bool> alive; ///< by host
  std::vector<std::uint32_t> leaf_sizes;
};

/// A pattern that these hosts do not support; what() has the reason and a hint.
class TrafficError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

class Traffic {
public:
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint32_t no_host = 0xFFFFFFFF;

  /// Throws TrafficError.
  Traffic(const TrafficSpec& spec, const HostPlaces& places, std::uint64_t seed);

  [[nodiscard]] std::uint64_t first(std::uint32_t host);
  [[nodiscard]] std::uint64_t next(std::uint32_t host, std::uint64_t tick);
  /// `no_host`: its destination is dead, and was excluded.
  [[nodiscard]] std::uint32_t destination(std::uint32_t host);
  /// From now on no host sends to these.
  void exclude(std::span<const std::uint32_t> hosts);
  /// Prefetches the state of a host.
  void prefetch(std::uint32_t host) const { __builtin_prefetch(&hosts_[host], 1); }
  [[nodiscard]] std::uint32_t senders() const { return senders_; }

private:
  struct alignas(64) Host {
    Random random{0};
    std::uint32_t partner = no_host; ///< for patterns with one
    std::uint32_t in_burst = 0;      ///< packets that follow without a pause
    std::uint32_t listed = 0;        ///< index of the next one
    std::uint32_t listed_end = 0;
  };
  /// From 1 on, the number of the first success of many trials.
  class Geometric {
  public:
    explicit Geometric(double mean);
    [[nodiscard]] std::uint64_t draw(Random& random) const;

  private:
    double log_of_failure_; ///< of a trial; 0: failure is impossible
  };
  void pair_up(const HostPlaces& places, Random random);
  [[nodiscard]] std::uint64_t gap(Host& host) const;

  TrafficSpec spec_;
  Geometric ticks_;   ///< from packet to packet
  Geometric packets_; ///< packets of a burst
  Geometric silence_; ///< ticks after a burst
  std::vector<Host> hosts_;
  std::vector<bool> alive_;
  std::vector<std::uint32_t> targets_; ///< hosts that are alive
  std::vector<std::uint32_t> hot_;
  std::uint32_t senders_ = 0;
};

} // namespace tributary::simulator::traffic
