// Reductions by virtual members: roots on one port, up to 100,000 leaves on the others. Of a port
// with several queue pairs the roots are dealt to them tree by tree, the leaves one by one.
//
// Each member runs the endpoint library's own protocol code, so a switch receives here what hosts
// send, retries included. A closed loop keeps `in_flight` operations of each tree going; an open
// loop begins them at a rate, whether they complete or not.
//
// Latency of an operation: from its intended start to the arrival of the frame that finished it; at
// the root, and at each leaf from the leaf's own start (its skew taken into account). Every result
// is checked bit for bit at every member.
//
// One thread. The contract is in traffic.hpp.
#pragma once

#include "pktgen/scenario/scenario.hpp"
#include "pktgen/traffic/placement.hpp"
#include "pktgen/traffic/reduce_group.hpp"
#include "pktgen/traffic/reduce_port.hpp"
#include "pktgen/traffic/traffic.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tributary::pktgen::traffic {

class ReduceTraffic final : public Traffic {
public:
  /// With role `both` the root is on the first port and the leaves on the others, in turn;
  /// otherwise all ports hold leaves, or one the root. Throws std::invalid_argument on settings
  /// that cannot be.
  /// `together`: whether leaves may be in lockstep (lockstep.hpp); it makes no difference but for
  /// the time it takes.
  ReduceTraffic(const scenario::Reduce& reduce, const Placement& placement, std::uint64_t seed,
                bool together = true);

  void start(TimeNs now) override;
  void limit(std::uint64_t operations) override;
  void begin_measuring(TimeNs now) override;
  void stop(TimeNs now) override;
  Reception receive(scenario::QueuePairIndex queue_pair, const FrameView& frame,
                    TimeNs now) override;
  void overhear(scenario::QueuePairIndex queue_pair, const FrameView& frame, TimeNs at) override;
  void generate(Ports ports, TimeNs now) override;
  [[nodiscard]] Progress progress() const override;
  void agree(const Progress& farthest) override { farthest_ = farthest; }
  [[nodiscard]] TimeNs next_due() const override;
  [[nodiscard]] bool drained(TimeNs now) const override;
  [[nodiscard]] bool sends() const override;
  /// The roots disarm the engines of all their reductions.
  [[nodiscard]] bool give_up(Ports ports, TimeNs now) override;
  [[nodiscard]] measure::Tally tally(TimeNs now) const override;
  [[nodiscard]] std::string waiting_for(TimeNs now) const override;

private:
  void make_roots(std::uint64_t seed);
  void make_leaves(std::uint64_t seed, bool together);
  [[nodiscard]] bool has_root_on(scenario::PortIndex port) const {
    return port == 0 && group_.settings().role != scenario::Role::leaves;
  }
  /// Whether the frame is of one of its trees, and then which, from 0.
  [[nodiscard]] bool read(const FrameView& view, collective::ReceivedFrame& frame,
                          std::uint32_t& tree) const;
  /// Passes it to all local members that it concerns.
  Reception deliver(scenario::QueuePairIndex queue_pair, std::uint32_t tree,
                    const collective::ReceivedFrame& frame, TimeNs at);
  /// Throws std::runtime_error where a port takes no frames as long as the group's.
  void check_ports(Ports ports);
  [[nodiscard]] collective::Statistics statistics() const;
  /// Operations that some member has scheduled, here or at other workers, by tree. First takes up
  /// what is due, which is the same at all workers.
  [[nodiscard]] Progress scheduled_anywhere(TimeNs now);
  void take_up_due(TimeNs now);
  /// Calls `f(members)` for the members of each queue pair.
  template <typename F> void for_each_port(F&& f);
  template <typename F> void for_each_port(F&& f) const;

  Placement placement_;
  QueuePairsOfPorts queue_pairs_;
  ReduceGroup group_;
  // By queue pair; null: no members of it are here.
  std::vector<std::unique_ptr<ReducePort<collective::Root>>> roots_;
  std::vector<std::unique_ptr<ReducePort<collective::Leaf>>> leaves_;
  TimeNs next_poll_;
  std::uint64_t poll_interval_ns_;
  bool ports_checked_ = false;
  collective::Statistics before_; ///< when the measurement began
  Progress farthest_;             ///< the last argument of `agree`
};

} // namespace tributary::pktgen::traffic
