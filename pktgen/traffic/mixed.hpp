// Several concurrent traffics, each with a share of the frames sent.
//
// Whose turn it is: of the parts that have something due, the one that has sent the least for its
// share. A turn is what the part composes in one call of its `generate`: shares hold over many
// turns, not within one.
//
//   a part            that has nothing due                           and that is ahead
//   with no rate of   keeps its claim: the others wait for it. A     is held back once it has sent
//   its own           closed loop would get next to nothing beside   a burst a port more than its
//                     a stream that sends as fast as it can          share of what the one that has
//   with a rate of    leaves its turns to the others, and cannot     sent least allows
//   its own           claim them later
//
// So shares are kept where no part has a rate of its own, and where one has, its rate is. From
// `stop` on, no part waits for another.
//
// Received frames are offered to one part after the other until one recognises them. The tally
// prefixes each part's names with the part's own: "reduce.operations", "unicast.lost"; and
// "unicast.sent", the frames it sent.
//
// One thread. The contract is in traffic.hpp.
#pragma once

#include "pktgen/traffic/traffic.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::pktgen::traffic {

/// Behind a part's name and a dot: the frames it sent.
inline constexpr std::string_view sent_figure = "sent";

class MixedTraffic final : public Traffic {
public:
  struct Part {
    std::string name; ///< "reduce"; a second of the same name becomes "reduce_2"
    std::unique_ptr<Traffic> traffic;
    double share = 1; ///< in proportion to the other parts'
    /// Whether the others wait for it, as it has no rate of its own.
    bool keeps_claim = false;
  };
  /// Throws std::invalid_argument without parts, or when one has no share.
  explicit MixedTraffic(std::vector<Part> parts);

  void start(TimeNs now) override;
  void begin_measuring(TimeNs now) override;
  void stop(TimeNs now) override;
  Reception receive(scenario::QueuePairIndex queue_pair, const FrameView& frame,
                    TimeNs now) override;
  void overhear(scenario::QueuePairIndex queue_pair, const FrameView& frame, TimeNs at) override;
  void generate(Ports ports, TimeNs now) override;
  [[nodiscard]] Progress progress() const override;
  void agree(const Progress& farthest) override;
  [[nodiscard]] bool exhausted() const override;
  [[nodiscard]] TimeNs next_due() const override;
  [[nodiscard]] bool drained(TimeNs now) const override;
  [[nodiscard]] bool sends() const override;
  [[nodiscard]] bool give_up(Ports ports, TimeNs now) override;
  [[nodiscard]] measure::Tally tally(TimeNs now) const override;
  [[nodiscard]] std::string waiting_for(TimeNs now) const override;

private:
  struct Member {
    Part part;
    double spent = 0;     ///< frames sent for each unit of its share
    bool waited = true;   ///< had something due when last looked at
    bool blocked = false; ///< sent nothing in its turn, so it gets no other one in this call
  };

  /// The part whose turn it is; null when no part has anything due.
  Member* whose_turn(TimeNs now);
  /// The least that a part which keeps its claim has sent for its share; infinite without any.
  [[nodiscard]] double least_claimed() const;
  /// Whether it has to wait until others have sent their share.
  [[nodiscard]] bool is_held(const Member& member, double least) const {
    return (member.spent - least) * member.part.share >= lead_;
  }

  std::vector<Member> members_;
  double lead_ = 0; ///< frames that a part may be ahead of its share
  bool running_ = false;
  double spent_by_the_last_ = 0; ///< of the one whose turn it was last, before its turn
};

} // namespace tributary::pktgen::traffic
