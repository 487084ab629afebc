// A capture, sent again: at its own speed, faster or slower, or as fast as possible, once or
// looped.
//
// Frames leave as they were captured: what the capture has from its first interface by the first
// port, what it has from the second by the second, and so on, with the times between them; by the
// only port, all of them; of a port with several queue pairs by the first. Of several workers each
// sends what leaves by its own queue pairs. In a loop the next round follows the last frame by the
// mean gap between frames. A capture without duration, of one frame for instance, has no speed and
// is sent as fast as possible.
//
// Received frames are not recognised, because the frames carry no mark: see the counts of the
// ports.
//
// Figures:
//   capture_frames    that can be sent
//   other_direction   left out: the capture's ports received them, and sent ones are wanted, or the
//                     other way round
//   cut_short         left out: the capture holds only their beginning
//   too_short         left out: shorter than an Ethernet header
//   too_long          not sent: longer than the port takes
//   rounds            sent whole
//   behind            due at the end, and not sent yet Latency, but for as fast as possible:
//                     `lateness`, from a frame's intended time to its sending.
//
// One thread. The contract is in traffic.hpp; replay_file.hpp reads captures.
#pragma once

#include "lib/statistics/histogram.hpp"
#include "pktgen/traffic/placement.hpp"
#include "pktgen/traffic/traffic.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tributary::pktgen::traffic {

/// Frames in memory, FCS not included. Immutable once read, so that several runs may share it.
struct Capture {
  struct Frame {
    std::size_t offset = 0; ///< in `bytes`
    std::uint32_t length = 0;
    std::uint64_t at_ns = 0;     ///< since the first frame; never less than that of the one before
    std::uint32_t interface = 0; ///< that it was captured on
  };
  std::vector<std::byte> bytes;
  std::vector<Frame> frames;
  std::vector<std::string> interfaces; ///< their names, as far as the capture has them
  // Left out:
  std::uint64_t other_direction = 0;
  std::uint64_t cut_short = 0;
  std::uint64_t too_short = 0;

  /// From the first frame of one round to that of the next.
  [[nodiscard]] std::uint64_t period_ns() const;
};

class ReplayTraffic final : public Traffic {
public:
  /// `speed` 2 is twice as fast as the capture, 0 as fast as possible; `loops` 0: until it is
  /// stopped. Throws std::invalid_argument on a capture without frames or with more interfaces than
  /// there are ports, and on a speed that is none.
  ReplayTraffic(std::shared_ptr<const Capture> capture, const Placement& placement, double speed,
                std::uint64_t loops);

  void start(TimeNs now) override;
  void begin_measuring(TimeNs now) override;
  void stop(TimeNs now) override;
  Reception receive(scenario::QueuePairIndex, const FrameView&, TimeNs) override { return false; }
  void generate(Ports ports, TimeNs now) override;
  [[nodiscard]] TimeNs next_due() const override;
  [[nodiscard]] bool exhausted() const override { return is_over(); }
  [[nodiscard]] bool drained(TimeNs now) const override;
  [[nodiscard]] measure::Tally tally(TimeNs now) const override;
  [[nodiscard]] std::string waiting_for(TimeNs now) const override;

private:
  /// A frame that leaves here.
  struct Departure {
    Capture::Frame frame;
    scenario::QueuePairIndex queue_pair;
  };

  [[nodiscard]] bool is_over() const {
    return departures_.empty() || (loops_ != 0 && round_ == loops_);
  }
  /// When this frame of this round is intended; not for as fast as possible.
  [[nodiscard]] TimeNs intended(std::uint64_t round, std::size_t frame) const;
  [[nodiscard]] std::uint64_t due_before(TimeNs end) const;
  void send(Ports ports, TimeNs now);

  std::shared_ptr<const Capture> capture_;
  std::vector<Departure> departures_;
  std::uint64_t period_ns_;
  double speed_; ///< 0: as fast as possible
  std::uint64_t loops_;
  bool accounts_; ///< accounts for the capture as a whole: one of several workers does
  bool running_ = false;
  TimeNs start_;
  std::uint64_t round_ = 0;
  std::size_t next_ = 0; ///< of the departures
  std::size_t untaken_ = 0;

  TimeNs begin_;
  measure::Volume sent_;
  std::uint64_t too_long_ = 0;
  std::uint64_t rounds_before_ = 0;
  std::uint64_t behind_ = 0;
  statistics::Histogram lateness_;
};

} // namespace tributary::pktgen::traffic
