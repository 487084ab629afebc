// Streams of stamped test frames: unicast between virtual nodes by a pattern, or down multicast
// trees.
//
//   unicast     node j on port j mod P has NID first_nid + j; patterns in pattern.hpp
//   multicast   tree first_tree + t has its sender on port t mod P, and every other port expects
//               each of its frames once
//
// Open loop at packets or bits a second, the intended time of each frame exact (measure/pace.hpp);
// or as fast as the ports take them. Sizes in sizes.hpp, what a frame carries in stamp.hpp, how
// flows are numbered, how many there can be and what "in order" refers to in flow_map.hpp, what is
// received as what in stream_receiver.hpp.
//
// Roles: `both` has all figures. `root` only sends, and knows nothing of losses. `leaves` only
// receives: it knows losses from the gaps in the sequences, and no latency.
//
// Figures (role):
//   expected       both, leaves   copies that should have arrived; of leaves: received once or
//                                 missing
//   lost           both, leaves   of those, the ones that did not. Exact, but for too_old ones.
//   duplicated, reordered, too_old   both, leaves
//   damaged, misdelivered            both, leaves; faults
//   too_long       both, root     left out because a port takes no frame of their size; a fault
//   behind         both, root     open loop: frames that were due at the end and not sent yet
// Latencies (both): `frame_from_intended` in an open loop; `frame_from_composing` as fast as
// possible, where a whole burst is composed at one time.
//
// Several workers: `lost` of one of them alone means nothing, for what one sends another receives;
// their sum is right (modulo 2^64).
//
// One thread. The contract is in traffic.hpp.
#pragma once

#include "pktgen/traffic/stream_plan.hpp"
#include "pktgen/traffic/stream_receiver.hpp"
#include "pktgen/traffic/stream_sender.hpp"
#include "pktgen/traffic/traffic.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tributary::pktgen::traffic {

class StreamTraffic final : public Traffic {
public:
  /// `kind` is unicast or multicast. The seed also distinguishes the frames of this run from
  /// others': runs on the same ports need different ones, two processes of one run the same. Throws
  /// std::invalid_argument on settings that cannot be.
  StreamTraffic(scenario::Kind kind, const scenario::Stream& stream, const Placement& placement,
                std::uint64_t seed, PayloadCheck payload_check = PayloadCheck::whole);

  void start(TimeNs now) override;
  void limit(std::uint64_t operations) override {
    if (sender_) {
      sender_->limit(operations);
    }
  }
  void begin_measuring(TimeNs now) override;
  void stop(TimeNs now) override;
  Reception receive(scenario::QueuePairIndex queue_pair, const FrameView& frame,
                    TimeNs now) override {
    return receiver_ && receiver_->receive(plan_.placement.port_of(queue_pair), frame, now);
  }
  void generate(Ports ports, TimeNs now) override {
    if (sender_) {
      sender_->generate(ports, now);
    }
  }
  /// The latest intended time so far: a measurement begins behind it at all workers.
  [[nodiscard]] Progress progress() const override;
  void agree(const Progress& farthest) override { farthest_ = farthest; }
  [[nodiscard]] TimeNs next_due() const override { return sender_ ? sender_->next_due() : never; }
  /// Where the number of frames still due is unknown: after `quiet_ns` without a frame.
  [[nodiscard]] bool sends() const override { return sender_ && sender_->has_senders(); }
  [[nodiscard]] bool drained(TimeNs now) const override;
  [[nodiscard]] measure::Tally tally(TimeNs now) const override;
  [[nodiscard]] std::string waiting_for(TimeNs now) const override;

  static constexpr std::uint64_t quiet_ns = 50'000'000;

private:
  /// Copies that were sent and have not arrived; meaningless unless all ports and both roles are
  /// here.
  [[nodiscard]] std::uint64_t outstanding() const;

  StreamPlan plan_;
  std::optional<StreamSender> sender_;
  std::optional<StreamReceiver> receiver_;
  bool knows_all_; ///< senders and receivers are here, and all queue pairs
  TimeNs stopped_ = never;
  Progress farthest_; ///< the last argument of `agree`
};

} // namespace tributary::pktgen::traffic
