// The packet-level simulator of a fabric: switches with virtual cut-through, event by event.
//
//   Engine engine(fabric, parameters, tables, up, traffic, seed);
//   engine.run(warm_up);  engine.start_measuring();  engine.run(ticks);
//   engine.counters().delivered
//
// A switch decides about a packet by dataplane/forwarding_table, the live switch's own code, on the
// tables of controlplane/unicast. The simulator adds everything around it: buffers, outputs,
// credits, time.
//
//   HEAD_ARRIVES    the head of a packet is in a buffer: it is routed, and joins a queue. The
//                   queue's first packet asks its output for a transfer
//   arbitration     an idle output takes one of those that ask, in turn (round robin), whose port's
//                   buffers are free to be read, and for which there is a credit. The packet's
//                   place in the next buffer is taken now, its head is there a hop later
//   TRANSFER_DONE   a packet's length later: the output and the port's buffers are free, and so is
//                   the place; a packet for a host has left the fabric
//   CREDIT_BACK     the sender gets the credit
//
// Three events for a packet and a switch, however long the packet is. Each tick takes its credits,
// transfers, new packets of hosts, and heads; then all outputs for which something changed choose.
//
//   an output   for each virtual channel a set of buffers that ask for it; ANDed with the set of
//               buffers that can be read
//   a packet    that may take any of several virtual channels asks for all, and gets the one with
//               most credits
//
// Events of a tick are independent of each other except for their order, so each kind of them
// passes through stages (pipeline.hpp): lines of memory are prefetched several events ahead.
//
// Faults: `kill_switch` and `kill_link` are the fault itself, `notice` is what the switch at the
// other end sees of it, `use_table` the manager's reaction. Time between them is the caller's.
//
// Pure, and seeded: the same arguments give the same run. No allocation per packet once lists have
// grown.
#pragma once

#include "controlplane/unicast/algorithm.hpp"
#include "dataplane/forwarding_table/decide.hpp"
#include "tools/simulator/engine/counters.hpp"
#include "tools/simulator/engine/fabric.hpp"
#include "tools/simulator/engine/packet.hpp"
#include "tools/simulator/engine/parameters.hpp"
#include "tools/simulator/engine/router.hpp"
#include "tools/simulator/engine/switches.hpp"
#include "tools/simulator/engine/wheel.hpp"
#include "tools/simulator/traffic/traffic.hpp"
#include "tributary/random.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace tributary::simulator::engine {

using traffic::Traffic;

/// A decision of a switch, for observers.
struct Decided {
  std::uint64_t tick = 0;
  std::uint32_t at = 0;
  forwarding_table::Port in = 0;
  std::uint8_t vc = 0;
  std::uint32_t entropy = 0;
  Packet packet; ///< as it arrived
  forwarding_table::Decision decision;
};

/// Packets that wait for each other in a cycle.
struct Deadlock {
  std::uint64_t buffers = 0;           ///< buffers that nothing will ever leave
  std::vector<std::uint32_t> channels; ///< a cycle of them: each waits for the next
};

class Engine {
public:
  /// Keeps references to fabric, tables and traffic. Requires tables for the fabric's number of
  /// virtual channels, and buffers of 1 to 64 packets, with pauses of more than the headroom.
  Engine(const Fabric& fabric, const Parameters& parameters, const unicast::TableSet& tables,
         unicast::PortStates up, Traffic& traffic, std::uint64_t seed);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Runs for this number of ticks; returns early when a packet loops.
  void run(std::uint64_t ticks);
  [[nodiscard]] std::uint64_t now() const { return now_; }

  void start_measuring();
  [[nodiscard]] const Counters& counters() const { return counters_; }
  /// When measuring started.
  [[nodiscard]] const Counters& counters_before() const { return before_; }
  [[nodiscard]] const Latencies& latencies() const { return latencies_; }
  /// Packets that this port has sent while measuring.
  [[nodiscard]] std::uint64_t sent(std::uint32_t port) const {
    return switches_.outputs[port].sent;
  }
  /// Ticks for which the next packet of each host has been waiting for its turn, summed up.
  [[nodiscard]] std::uint64_t lag_of_hosts() const;
  /// Packets in the fabric, counted one by one.
  [[nodiscard]] std::uint64_t count_inside() const;
  [[nodiscard]] bool goes_round() const { return counters_.most_links > parameters_.most_links; }

  /// Hosts make no more packets.
  void stop_sources();
  void kill_switch(std::uint32_t s);
  /// The link from this port and its reverse direction.
  void kill_link(unicast::Network::End end);
  /// A switch sees that this port of it is down: packets that wait for it are routed again.
  void notice(unicast::Network::End end);
  void use_table(std::uint32_t s, const forwarding_table::SwitchTable& table);

  /// Buffers from which nothing can ever leave, in whatever order outputs choose.
  [[nodiscard]] Deadlock find_deadlock() const;
  /// Whether every credit and place is accounted for; for tests.
  [[nodiscard]] bool accounts_hold() const;
  void watch(std::function<void(const Decided&)> observer) { observer_ = std::move(observer); }

private:
  /// Hosts with nothing to send for longer than this wake in between.
  static constexpr std::uint64_t longest_sleep = 1'023;

  struct alignas(32) Source {
    std::uint64_t created = 0; ///< tick of the next packet; Traffic::never
    std::uint64_t free_at = 0; ///< when its link is free
    std::uint32_t buffer = 0;
    std::uint8_t credits = 0;
    bool waits = false; ///< waits for a credit
  };
  struct Transfer {
    std::uint32_t place = 0;  ///< buffer * 64 + place
    std::uint16_t output = 0; ///< output of the switch
    bool leaves = false;      ///< the fabric: the other end is a host
  };
  /// A transfer that begins; `carry_out` fills in the rest.
  struct Grant {
    std::uint32_t buffer = 0;
    std::uint32_t port = 0;
    std::uint32_t next = nothing; ///< the buffer at the other end
    std::uint8_t place = 0;
    std::uint8_t next_place = 0;
    std::uint8_t behind = no_place; ///< `behind` of the packet that is then first
  };

  void tick();

  // hosts.cpp
  void take_hosts();
  void send_from_host(std::uint32_t host);
  void wake_host(std::uint32_t host, std::uint64_t at);

  // arrivals.cpp
  void take_heads();
  /// Routes it; its output is `no_output` when it was dropped, and counted.
  inline void head_arrives(std::uint32_t place);
  /// Sets its output, or returns false: it was dropped, and counted.
  [[nodiscard]] bool route(const Buffer& in, Packet& packet);
  /// `first`, or another one drawn, if that has more credits. Not the best of all: every input
  /// would take it at the same time.
  [[nodiscard]] forwarding_table::Port better_of_two(const Input& in,
                                                     const forwarding_table::Candidates& may,
                                                     forwarding_table::Port first);

  // arbitration.cpp
  void arbitrate();
  inline void choose(Switch& s);
  inline void choose(Switch& s, std::uint32_t output);
  void carry_out();
  inline void begin(Grant& grant);
  inline void go(const Grant& grant);

  // departures.cpp
  void take_transfers();
  inline void transfer_done(const Transfer& done);
  void free_place(Buffer& buffer, std::uint8_t place, std::uint32_t delay) {
    buffer.free |= std::uint64_t{1} << place;
    --buffer.arrived;
    if (buffer.sender == nothing || buffer.dead) {
      return;
    }
    if (!pauses_) {
      credit_events_.at(now_ + delay).push_back(buffer.sender);
    } else if (buffer.paused && buffer.arrived < pause_above_) {
      buffer.paused = false;
      credit_events_.at(now_ + delay).push_back(buffer.sender);
    }
  }
  void take_credits();
  inline void credit_back(std::uint32_t sender);

  const Fabric& fabric_;
  Parameters parameters_;
  Traffic& traffic_;
  Router router_;
  Switches switches_;
  Random random_;
  std::uint64_t now_ = 0;
  std::uint8_t vcs_;
  bool pauses_;
  bool measuring_ = false;
  std::uint8_t pause_above_ = 0; ///< packets in a buffer

  std::vector<Source> sources_;      ///< by host
  std::vector<std::uint32_t> ready_; ///< hosts that may send in this tick
  std::vector<Grant> granted_;       ///< in this tick, and not yet carried out

  Wheel<std::uint32_t> credit_events_; ///< Sender
  Wheel<Transfer> transfer_events_;
  Wheel<std::uint32_t> head_events_; ///< buffer * 64 + place
  Wheel<std::uint32_t> host_events_;

  Counters counters_;
  Counters before_;
  Latencies latencies_;
  std::function<void(const Decided&)> observer_;
};

} // namespace tributary::simulator::engine
