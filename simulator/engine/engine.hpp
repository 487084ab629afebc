// The packet-level simulator of a fabric: switches with virtual cut-through, event by event.
//
//   Engine engine(fabric, parameters, tables, up, traffic, seed);
//   engine.run(warm_up);  engine.start_measuring();  engine.run(ticks);
//   engine.counters().delivered
//
// What a switch does with a packet is decided by dataplane/routing, the live switch's own code, on
// the tables of controlplane/unicast. What is here is everything around it: buffers, outputs,
// credits, time.
//
//   HEAD_ARRIVES    the head of a packet is in a buffer: it is routed, and joins a queue. The
//                   queue's first packet asks its output for a transfer
//   arbitration     an idle output takes one of those that ask, in turn (round robin), whose port's
//                   buffers are free to be read, and for which there is a credit. The packet's
//                   place in the next buffer is taken now, its head is there a hop later
//   TRANSFER_DONE   a packet's length later: the output and the port's buffers are free, and so is
//                   the place; a packet for a host has left the fabric
//   CREDIT_BACK     and the sender knows it
//
// Three events for a packet and a switch, however long the packet is. Each tick takes its credits,
// transfers, new packets of hosts, and heads; then all outputs for which something changed choose.
//
//   an output   for each virtual channel a set of buffers that ask for it; ANDed with the set of
//               buffers that can be read
//   a packet    that may take any of several virtual channels asks for all, and gets the one with
//               most credits
//
// Faults: `kill_switch` and `kill_link` are what happens, `notice` is what the switch at the other
// end sees of it, `use_table` what the manager does about it. Time between them is the caller's.
//
// Pure, and seeded: the same arguments give the same run. No allocation per packet once lists have
// grown.
#pragma once

#include "controlplane/unicast/algorithm.hpp"
#include "dataplane/routing/decide.hpp"
#include "simulator/engine/bits.hpp"
#include "simulator/engine/counters.hpp"
#include "simulator/engine/fabric.hpp"
#include "simulator/engine/packet.hpp"
#include "simulator/engine/parameters.hpp"
#include "simulator/engine/wheel.hpp"
#include "simulator/traffic/traffic.hpp"
#include "tributary/random.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace tributary::simulator::engine {

using traffic::Traffic;

/// A decision of a switch, for those who look on.
struct Decided {
  std::uint64_t tick = 0;
  std::uint32_t at = 0;
  routing::Port in = 0;
  std::uint8_t vc = 0;
  std::uint32_t entropy = 0;
  Packet packet; ///< as it came in
  routing::Decision decision;
};

/// Packets that wait for each other in a circle.
struct Deadlock {
  std::uint64_t buffers = 0;           ///< that nothing will ever leave
  std::vector<std::uint32_t> channels; ///< a circle of them: each waits for the next
};

class Engine {
public:
  /// Keeps references to fabric, tables and traffic. Requires tables for the fabric's number of
  /// virtual channels, and buffers of 1 to 64 packets, with pauses of more than the headroom.
  Engine(const Fabric& fabric, const Parameters& parameters, const unicast::TableSet& tables,
         unicast::PortStates up, Traffic& traffic, std::uint64_t seed);

  /// So many ticks; returns early when a packet goes round.
  void run(std::uint64_t ticks);
  [[nodiscard]] std::uint64_t now() const { return now_; }

  void start_measuring();
  [[nodiscard]] const Counters& counters() const { return counters_; }
  /// When measuring started.
  [[nodiscard]] const Counters& counters_before() const { return before_; }
  [[nodiscard]] const Latencies& latencies() const { return latencies_; }
  /// Packets that each port has sent while measuring.
  [[nodiscard]] std::span<const std::uint64_t> sent() const { return sent_; }
  /// Packets in the fabric, counted one by one.
  [[nodiscard]] std::uint64_t count_inside() const;
  [[nodiscard]] bool goes_round() const { return counters_.most_links > parameters_.most_links; }

  /// Hosts make no more packets.
  void stop_sources();
  void kill_switch(std::uint32_t s);
  /// The link from this port and the one back to it.
  void kill_link(unicast::Network::End end);
  /// A switch sees that this port of it is down: what waits for it is routed anew.
  void notice(unicast::Network::End end);
  void use_table(std::uint32_t s, const routing::SwitchTable& table) { tables_[s] = &table; }

  /// Buffers from which nothing can ever leave, in whatever order outputs choose.
  [[nodiscard]] Deadlock find_deadlock() const;
  /// Whether every credit and place is accounted for; for tests.
  [[nodiscard]] bool accounts_hold() const;
  void watch(std::function<void(const Decided&)> observer) { observer_ = std::move(observer); }

private:
  static constexpr std::uint8_t no_place = 0xFF;
  static constexpr std::uint32_t pause_flag = 0x40000000;

  struct Queue {
    std::uint8_t head = no_place; ///< places in the buffer
    std::uint8_t tail = no_place;
  };
  struct Buffer : Fabric::Buffer {
    std::uint64_t free = 0;        ///< places
    std::uint32_t first_queue = 0; ///< one, or one for each port of the switch
    std::uint32_t wants = 0;       ///< index of its set of outputs
    std::uint8_t waiting = 0;      ///< packets in queues
    std::uint8_t arrived = 0;      ///< packets here, also those that are leaving
    bool paused = false;           ///< its sender was told to stop
    bool dead = false;             ///< the link that fills it
  };
  struct Output : Fabric::Port {
    std::uint16_t turn = 0;     ///< the buffer that is first next time
    std::uint32_t requests = 0; ///< index of its sets of buffers, one for each virtual channel
  };
  struct Switch : Fabric::Switch {
    std::uint32_t idle = 0;     ///< index of its set of outputs that are free
    std::uint32_t changed = 0;  ///< and of those that are to choose
    std::uint32_t readable = 0; ///< and of its set of buffers that can be read
    std::uint16_t port_words = 1;
    std::uint16_t buffer_words = 1;
    std::uint16_t turn = 0; ///< the output that is first next time
    bool listed = false;    ///< in changed_switches_
    bool dead = false;
  };
  struct Source {
    std::uint64_t created = 0; ///< tick of the next packet; Traffic::never
    std::uint64_t free_at = 0; ///< when its link is
    std::uint32_t buffer = 0;
    std::uint8_t credits = 0;
    bool waits = false; ///< for a credit
  };
  struct Transfer {
    std::uint32_t place = 0; ///< buffer * 64 + place
    std::uint32_t port = 0;  ///< by which it leaves
  };

  void tick();
  void credit_back(std::uint32_t channel);
  void head_arrives(std::uint32_t place);
  void transfer_done(const Transfer& done);
  void send_from_host(std::uint32_t host);
  void wake_host(std::uint32_t host, std::uint64_t at);

  /// The output, or false: it was dropped, and counted.
  [[nodiscard]] bool route(const Buffer& in, Packet& packet);
  [[nodiscard]] routing::Decision decide(const Buffer& in, const Packet& packet,
                                         std::uint32_t destination, std::uint32_t entropy) const;
  [[nodiscard]] routing::Port most_credits(std::uint32_t s, const routing::Candidates& may,
                                           std::uint32_t entropy) const;

  void join_queue(std::uint32_t buffer, std::uint8_t place);
  void ask(const Buffer& buffer, const Packet& packet);
  void withdraw(const Buffer& buffer, const Packet& packet);
  [[nodiscard]] std::uint32_t queue_of(const Buffer& buffer, const Packet& packet) const {
    return buffer.first_queue + (voq_ ? packet.out : 0U);
  }
  void free_place(Buffer& buffer, std::uint8_t place, std::uint32_t delay);
  void tell_sender(Buffer& buffer, std::uint32_t delay);
  void changed(std::uint32_t s, std::uint32_t output);
  void arbitrate(std::uint32_t s);
  void choose(Switch& at, std::uint32_t output);
  void grant(Switch& at, Output& output, Buffer& buffer);
  /// Takes all packets out of the queues of a buffer.
  void empty_queues(Buffer& buffer, std::vector<std::uint8_t>& places);

  Packet& packet(const Buffer& buffer, std::uint8_t place) {
    return packets_[number(buffer) * parameters_.buffer + place];
  }
  [[nodiscard]] std::uint32_t number(const Buffer& buffer) const {
    return static_cast<std::uint32_t>(&buffer - buffers_.data());
  }
  [[nodiscard]] std::uint64_t* words(std::uint32_t index) { return sets_.data() + index; }

  const Fabric& fabric_;
  Parameters parameters_;
  Traffic& traffic_;
  unicast::PortStates up_;
  std::vector<const routing::SwitchTable*> tables_; ///< by switch
  Random random_;
  std::uint64_t now_ = 0;
  std::uint8_t vcs_;
  bool voq_;
  bool pauses_;
  bool measuring_ = false;
  std::uint8_t pause_above_ = 0; ///< packets in a buffer

  std::vector<Switch> switches_;
  std::vector<Output> outputs_; ///< by port
  std::vector<Buffer> buffers_;
  std::vector<Source> sources_;       ///< by host
  std::vector<std::uint64_t> sets_;   ///< words of all sets
  std::vector<std::uint8_t> credits_; ///< by channel; with pauses 1: go on
  std::vector<std::uint8_t> reads_;   ///< by buffer that is its port's first: transfers under way
  std::vector<Packet> packets_;       ///< by buffer and place
  std::vector<std::uint8_t> behind_;  ///< by buffer and place: the next place of its queue
  std::vector<Queue> queues_;

  Wheel<std::uint32_t> credit_events_;
  Wheel<Transfer> transfer_events_;
  Wheel<std::uint32_t> head_events_;
  Wheel<std::uint32_t> host_events_;
  std::vector<std::uint32_t> changed_switches_;

  Counters counters_;
  Counters before_;
  Latencies latencies_;
  std::vector<std::uint64_t> sent_; ///< by port
  std::function<void(const Decided&)> observer_;
};

} // namespace tributary::simulator::engine
