// Several traffics at once, each with a share of the frames sent.
//
// Whose turn it is: of the parts that have something due, the one that has sent the least for its
// share. So the frames sent converge to the shares as long as all have something to send; one that
// has not leaves its turns to the others, and cannot claim them later. A turn is what the part
// composes in one call of its `generate`: shares hold over many turns, not within one.
//
// Received frames are offered to one part after the other until one recognises them. The tally has
// each part's names behind the part's: "reduce.operations", "unicast.lost".
//
// One thread. The contract is in traffic.hpp.
#pragma once

#include "pktgen/traffic/traffic.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tributary::pktgen {

class MixedTraffic final : public Traffic {
public:
  struct Part {
    std::string name; ///< "reduce"; a second of the same name becomes "reduce_2"
    std::unique_ptr<Traffic> traffic;
    double share = 1; ///< in proportion to the other parts'
  };
  /// Throws std::invalid_argument when there are no parts, or one has no share.
  explicit MixedTraffic(std::vector<Part> parts);

  void start(TimeNs now) override;
  void begin_measuring(TimeNs now) override;
  void stop(TimeNs now) override;
  Reception receive(LaneIndex lane, const core::FrameView& frame, TimeNs now) override;
  void overhear(LaneIndex lane, const core::FrameView& frame, TimeNs at) override;
  void generate(Ports ports, TimeNs now) override;
  [[nodiscard]] Progress progress() const override;
  void agree(const Progress& farthest) override;
  [[nodiscard]] bool exhausted() const override;
  [[nodiscard]] TimeNs next_due() const override;
  [[nodiscard]] bool drained(TimeNs now) const override;
  [[nodiscard]] Tally tally(TimeNs now) const override;
  [[nodiscard]] std::string waiting_for(TimeNs now) const override;

private:
  struct Member {
    Part part;
    double spent = 0;     ///< frames sent for each unit of its share
    bool waited = true;   ///< had something due when last looked at
    bool blocked = false; ///< sent nothing in its turn, so it gets no other one in this call
  };

  /// The part whose turn it is; null when none has anything due.
  Member* whose_turn(TimeNs now);

  std::vector<Member> members_;
  double spent_by_the_last_ = 0; ///< of the one whose turn it was last, before its turn
};

} // namespace tributary::pktgen
