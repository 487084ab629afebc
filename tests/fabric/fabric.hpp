// The virtual fabric: switches, hosts and links in one process on virtual time.
//
//   1. Fabric fabric(topology, options, seed);
//   2. fabric.attach(host, program);            what each host runs
//      fabric.install(tree, parts);             trees, then fabric.publish_all()
//   3. fabric.at(time, action);                 faults and other scheduled events
//      fabric.aim({...});                       faults that hit the nth frame of some kind
//   4. fabric.run_until(time);
//   5. fabric.audit();                          accounting and counters; then look at violations()
//
// The run is a function of topology, options, programs and seed: `digest()` covers every event, and
// is the same for the same seed, anywhere.
//
// Every end of a link has the product's queues in front of it. A link of unlimited speed takes
// everything immediately; any other one takes a frame's time for a frame, and waiting frames wait
// in the queues. Pause frames and 802.1Q tags are on the links as they are on real ones.
//
// Invariants it checks on its own: no frame is lost without a named reason, a damaged frame is
// never accepted, frames are forwarded unchanged, no descriptor is occupied past its timer, queues
// keep their order and their bounds, counters match the events. The groups check whether results
// are right.
#pragma once

#include "dataplane/impairment/held_behind.hpp"
#include "lib/virtual_time/timeline.hpp"
#include "tests/fabric/accounting.hpp"
#include "tests/fabric/digest.hpp"
#include "tests/fabric/event.hpp"
#include "tests/fabric/faults.hpp"
#include "tests/fabric/host_program.hpp"
#include "tests/fabric/multicast_tree.hpp"
#include "tests/fabric/topology.hpp"
#include "tests/fabric/virtual_port.hpp"
#include "tests/fabric/virtual_switch.hpp"
#include "tests/fabric/wire_frame.hpp"
#include "tributary/random.hpp"

#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tributary::fabric {

inline egress::PortSettings without_trimming() {
  egress::PortSettings settings;
  for (egress::ClassSettings& of_class : settings.classes) {
    of_class.when_full = egress::WhenFull::drop;
  }
  return settings;
}

struct FabricOptions {
  SwitchOptions switches;
  /// When set, overrides `switches` for each switch.
  std::function<SwitchOptions(SwitchIndex)> switch_options;
  /// Edge ports check the source address, and the VNI where `permit` was called.
  bool guard_edges = true;
  bool verify_checksums = true;
  /// Unicast routes to every host.
  bool unicast_routes = false;
  /// The VLAN id of tags on links between switches; without one no link carries tags.
  std::optional<std::uint16_t> vlan_id;
  /// Links of hosts carry them as well.
  bool tag_hosts = false;
  /// The queues of hosts. They have no senders of their own to pause, and trim nothing.
  egress::PortSettings host_queues = without_trimming();
  /// Frames that a device takes, the one being sent included.
  std::size_t device_frames = 2;
  /// Time until both ends of a link detect that it went down or came up.
  std::uint64_t carrier_ns = 5'000;
  /// How often descriptors are checked against their timers.
  std::uint64_t check_interval_ns = 1'000'000;
  /// Where events are written as text; null: not written.
  std::FILE* trace = nullptr;
};

class Fabric final : SwitchSurroundings, VirtualPort::Wire {
public:
  Fabric(Topology topology, FabricOptions options, std::uint64_t seed);
  ~Fabric() override;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  [[nodiscard]] TimeNs now() const { return timeline_.now(); }
  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] const FabricOptions& options() const { return options_; }
  VirtualSwitch& at_switch(SwitchIndex s) { return *switches_[s]; }

  /// The fabric keeps a reference.
  void attach(HostIndex host, HostProgram& program);
  /// Wakes a host now, after an external change of its program.
  void poke(HostIndex host);
  /// Puts a frame on a host's link now, whatever the host runs.
  void send_from_host(HostIndex host, std::span<const std::byte> bytes, TrafficClass c = {});
  void send_pause_from_host(HostIndex host, const wire::PauseFrame& pause);
  /// The same past the host's queues, and without a tag but one that is among the bytes.
  void send_as_it_is_from_host(HostIndex host, std::span<const std::byte> bytes);
  /// A dead host receives, sends and does nothing.
  void set_host_alive(HostIndex host, bool alive);

  // Agents.

  /// Calls this for every frame that a core delivers to its switch's agent.
  using Delivery = std::function<void(SwitchIndex, PortNumber, std::span<const std::byte>, TimeNs)>;
  void on_delivery(Delivery delivery) { delivery_ = std::move(delivery); }
  /// What a switch's agent sends out of a port, now.
  void send_from_agent(SwitchIndex s, PortNumber port, std::span<const std::byte> bytes) {
    switches_[s]->send_from_agent(port, bytes, now());
  }

  /// Calls this for every frame that ends before its receiver had it, with its bytes and the place:
  /// the name of a drop reason, of a fate on a wire, or "crash".
  using Losses = std::function<void(std::span<const std::byte>, std::string_view why)>;
  void on_loss(Losses losses) { losses_ = std::move(losses); }

  // Management. Changes reach a switch when it is published.
  void install(TreeNumber tree, const std::vector<TreePart>& parts);
  void remove(TreeNumber tree, SwitchIndex from);
  void remove(TreeNumber tree);
  void set_part(TreeNumber tree, const TreePart& part);
  void permit(HostIndex host, std::shared_ptr<const core::VniSet> vnis);
  /// Routes as a manager sets them; null removes them.
  void set_routes(SwitchIndex s, std::shared_ptr<const forwarding_table::Routes> routes);
  [[nodiscard]] const std::shared_ptr<const forwarding_table::Routes>& routes(SwitchIndex s) const {
    return tables_[s].routes;
  }
  void publish(SwitchIndex s);
  void publish_all();

  // Faults.
  void set_faults(const LinkFaults& faults);
  /// The fault's address stays valid until the fabric ends, so that its counts can be read.
  AimedFault& aim(AimedFault fault);
  /// Calls this for every frame that enters a link that is up, before any fault.
  void observe(std::function<void(const Passage&)> observer);
  void set_link_up(LinkIndex link, bool up);
  /// 0: unlimited. A frame being sent keeps its pace.
  void set_link_speed(LinkIndex link, std::uint32_t mbps);
  /// The worker polls at this interval; 0: as soon as it has work.
  void set_poll_interval(SwitchIndex s, std::uint32_t worker, std::uint64_t ns);
  /// Capacity of each hand-off ring of the switch.
  void set_handoff_frames(SwitchIndex s, std::size_t frames);
  /// VirtualSwitch::move, now.
  void move_tree(SwitchIndex s, TreeNumber tree, std::uint64_t step_ns);
  void crash(SwitchIndex s);
  void restart(SwitchIndex s);
  void silence(SwitchIndex s, std::uint64_t ns);
  void count(Fault f, std::uint64_t n = 1) { fault_counts_.add(f, n); }

  void at(TimeNs when, std::function<void()> action);
  /// Runs all events up to and including this time.
  void run_until(TimeNs end);
  /// Runs until `done` holds (checked every few events), no events are left, or the time is over.
  /// Returns whether it holds.
  bool run_until(const std::function<bool()>& done, TimeNs limit);

  void audit();
  [[nodiscard]] const WireAccounting& accounting() const { return accounting_; }
  [[nodiscard]] const FaultCounts& fault_counts() const { return fault_counts_; }
  /// By all switches.
  [[nodiscard]] std::uint64_t drops(core::DropReason reason) const;
  /// The queue of a host, of one class.
  [[nodiscard]] egress::QueueSnapshot host_queue(HostIndex host, TrafficClass c) const {
    return hosts_[host].out->snapshot(c);
  }
  [[nodiscard]] std::uint64_t engines(core::Counter core::EngineCounters::*counter) const;
  [[nodiscard]] std::uint64_t trees(core::Counter core::TreeCounters::*counter) const;
  [[nodiscard]] std::size_t descriptors_in_use() const;
  /// Frames that entered this link toward the host, and from it.
  [[nodiscard]] std::uint64_t frames_to_host(HostIndex host) const { return hosts_[host].received; }
  /// Frames that were sent into a link from its end `ends[direction]`.
  [[nodiscard]] std::uint64_t carried(LinkIndex link, std::uint32_t direction) const {
    return links_[link].directions[direction].carried;
  }

  [[nodiscard]] std::uint64_t digest() const { return digest_.value(); }
  [[nodiscard]] std::uint64_t events() const { return event_count_; }
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  void violation(std::string what) override;
  [[nodiscard]] bool traces() const { return options_.trace != nullptr; }
  void trace(const std::string& what);

private:
  class Port;
  struct Direction {
    std::optional<impairment::Impairer> impairer; ///< while there are faults
    /// Frames at the far end that wait for later ones; while that is among the faults.
    std::unique_ptr<impairment::HeldBehind<FrameIndex>> behind;
    std::uint64_t carried = 0;     ///< frames that were sent into it
    bool busy = false;             ///< sending one
    std::deque<FrameIndex> device; ///< taken, and not yet being sent
  };
  struct LinkState {
    bool up = true;
    std::uint32_t speed_mbps = 0;
    std::optional<egress::LinkEdge> edge; ///< where both ends tag
    Direction directions[2];
  };
  struct Host {
    HostProgram* program = nullptr;
    std::unique_ptr<HostPort> port;
    std::unique_ptr<VirtualPort> out;
    TimeNs flush_at = never;
    bool alive = true;
    TimeNs wake_at = never;
    std::uint64_t received = 0;
  };
  struct SwitchTables {
    std::vector<core::PortPolicy> ports;
    std::map<std::uint16_t, TreePart> trees;
    std::shared_ptr<const forwarding_table::Routes> routes;
    std::uint64_t version = 0;
  };

  FramePool& frames() override { return frames_; }
  bool transmit(SwitchIndex from, PortNumber port, FrameIndex frame, TimeNs now) override;
  [[nodiscard]] PortLink link_at(SwitchIndex at, PortNumber port) const override;
  void schedule_poll(SwitchIndex at, std::uint32_t worker, TimeNs when) override;
  bool buffer_is_free(double no_buffer) override;
  void note(SwitchIndex at, PortNumber in, const core::Decision& decision,
            std::span<const std::byte> frame, TimeNs now) override;
  void deliver(SwitchIndex at, PortNumber in, std::span<const std::byte> frame,
               TimeNs now) override {
    if (delivery_) {
      delivery_(at, in, frame, now);
    }
  }

  void lost(SwitchIndex at, FrameIndex frame, std::string_view why) override;

  // VirtualPort::Wire, of the hosts' ports.
  bool take(std::uint32_t host, FrameIndex frame) override;
  void dropped(std::uint32_t host, FrameIndex frame, core::DropReason why) override;
  void violation(std::uint32_t host, const std::string& what) override;

  void handle(const Event& event);
  /// Checks that a snapshot holds what it was built from.
  void check_tables(SwitchIndex s, const core::Tables& tables);
  void step();
  void flush_host(HostIndex host);
  /// The same, and notifies the host's program if any frame left.
  void drain_host(HostIndex host);
  void report_ends(LinkIndex link);
  /// Whether the device at this end took the frame.
  bool offer(LinkIndex link, std::uint32_t direction, FrameIndex frame);
  void begin_sending(LinkIndex link, std::uint32_t direction, FrameIndex frame);
  /// `left`: whether a frame has left; otherwise the sender checks whether one can.
  void end_sending(LinkIndex link, std::uint32_t direction, bool left);
  [[nodiscard]] bool is_pause(FrameIndex frame);
  [[nodiscard]] std::uint64_t sending_ns(LinkIndex link, FrameIndex frame);
  /// A frame of the pool as it is on this link: tagged, with its FCS.
  void seal(LinkIndex link, FrameIndex frame);
  /// Its last bit leaves `sending_ns` from now.
  void enter_link(LinkIndex link, std::uint32_t direction, FrameIndex frame,
                  std::uint64_t sending_ns);
  /// Shows the frame to observers and aimed faults; whether it was lost, and how much it is
  /// delayed.
  bool strike(LinkIndex link, std::uint32_t direction, FrameIndex frame, std::uint64_t sending_ns,
              std::uint64_t& delay_ns);
  void pass_on(LinkIndex link, std::uint32_t direction, FrameIndex frame,
               const impairment::Fate& fate, std::size_t copy);
  void deliver_later(LinkIndex link, std::uint32_t direction, FrameIndex frame, TimeNs when);
  void arrive(LinkIndex link, std::uint32_t direction, FrameIndex frame);
  /// Whether it waits at the far end until others have passed it.
  bool waits_behind(LinkIndex link, std::uint32_t direction, FrameIndex frame);
  /// Delivers frames that others have passed, or that have waited for too long.
  void release_behind(LinkIndex link, std::uint32_t direction);
  void reach_end(LinkIndex link, std::uint32_t direction, FrameIndex frame);
  void end(FrameIndex frame, Fate fate);
  void after_host_call(HostIndex host);
  void check_descriptors();

  Topology topology_;
  FabricOptions options_;
  Random fault_random_;
  std::vector<LinkState> links_;
  std::vector<Host> hosts_;
  std::vector<std::unique_ptr<VirtualSwitch>> switches_;
  std::vector<SwitchTables> tables_;
  std::vector<std::vector<PortNumber>> routes_; ///< by host, by switch; empty without routes

  virtual_time::Timeline<Event> timeline_;
  TimeNs next_check_;
  FramePool frames_;
  LinkFaults faults_;
  std::deque<AimedFault> aimed_;
  std::vector<std::function<void(const Passage&)>> observers_;
  std::deque<std::function<void()>> scripts_;
  Delivery delivery_;
  Losses losses_;

  WireAccounting accounting_;
  FaultCounts fault_counts_;
  Digest digest_;
  std::uint64_t event_count_ = 0;
  std::vector<std::string> violations_;
};

} // namespace tributary::fabric
