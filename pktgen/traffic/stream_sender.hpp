// The sending half of a stream. The senders of one queue pair (placement.hpp) have a share of the
// rate of their own, so that a port which takes nothing holds up no other one. Queue pairs of other
// workers have their share, too, and nothing is sent for them here.
//
//   a queue pair  takes its senders in turn (nodes or trees), to whom the pattern says; chosen a
//                 few frames ahead, so that the memory of a flow among a million is there when its
//                 frame is composed
//   frame sizes   in turn; after as many frames as there are senders one size further on, so that
//                 all senders send all sizes alike
//   open loop     intended times from a pace; queue pairs begin one frame's time after each other
//
// Pure; nothing is allocated after construction.
#pragma once

#include "pktgen/measure/pace.hpp"
#include "pktgen/traffic/stream_header.hpp"
#include "pktgen/traffic/stream_plan.hpp"
#include "pktgen/traffic/traffic.hpp"
#include "tributary/random.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::pktgen::traffic {

class StreamSender {
public:
  /// The plan must outlive it.
  explicit StreamSender(const StreamPlan& plan);

  void start(TimeNs now);
  /// Limits the frames of the next measurement, over the senders of all workers; 0: no limit. Each
  /// queue pair has its part of them by the number of its senders.
  void limit(std::uint64_t frames) { quota_ = frames; }
  [[nodiscard]] bool has_senders() const { return !queue_pairs_.empty(); }
  /// Counts frames intended from `begin` on, which must be later than `last_intended()`.
  void begin_measuring(TimeNs begin);
  /// Composes nothing more.
  void stop(TimeNs now);
  /// Composes what is due, at most a burst per queue pair, and has all ports send what was pushed.
  void generate(Ports ports, TimeNs now);
  [[nodiscard]] TimeNs next_due() const { return next_due_; }

  /// The latest intended time of any frame composed.
  [[nodiscard]] TimeNs last_intended() const { return last_intended_; }
  /// Since construction.
  [[nodiscard]] std::uint64_t composed() const { return composed_; }
  /// Since the measurement began.
  [[nodiscard]] const measure::Volume& sent() const { return sent_; }
  /// Frames that had to be left out, as they are longer than a port takes.
  [[nodiscard]] std::uint64_t too_long() const { return too_long_; }
  /// Frames that were due when it stopped and had not been sent: how far the generator or the ports
  /// were behind.
  [[nodiscard]] std::uint64_t behind() const { return behind_; }
  /// Frames that were pushed and not yet taken by a port.
  [[nodiscard]] std::size_t untaken() const { return untaken_; }

private:
  /// Who sends to whom.
  struct Choice {
    std::uint32_t source = 0; ///< the node whose NID the frame bears
    std::uint32_t flow = 0;
  };
  static constexpr std::size_t choices_ahead = 8;

  static constexpr std::uint64_t no_end = ~std::uint64_t{0};

  struct QueuePair {
    QueuePair(scenario::QueuePairIndex of, const StreamPlan& plan);

    scenario::QueuePairIndex number;
    scenario::PortIndex port;
    std::vector<std::uint32_t> senders;
    std::size_t senders_before = 0; ///< of the queue pairs before it, those of other workers, too
    std::uint64_t left = no_end;    ///< frames that it may still send
    double share = 1;               ///< of the rate
    std::uint64_t start_after_ns = 0;
    std::optional<measure::Pace> pace; ///< without: as fast as possible
    StreamHeader header;
    Random random;
    std::size_t turn = 0;                      ///< of senders
    std::uint32_t round = 0;                   ///< of the pattern
    std::array<Choice, choices_ahead> choices; ///< a ring of the next frames'
    std::size_t next_choice = 0;
    std::size_t size = 0;       ///< place of the next frame's
    std::size_t first_size = 0; ///< that of this set of as many frames as there are senders
    std::size_t of_set = 0;     ///< frames done of it
  };

  void deal_senders();
  void deal_quota();
  void require_flows_of_one_worker() const;
  void set_paces();
  void send(QueuePair& queue_pair, link::Port& port, TimeNs now);
  void compose(const QueuePair& queue_pair, Choice choice, std::byte* frame, std::uint32_t length,
               TimeNs intended);
  /// The oldest of the choices made ahead, for which a new one is made.
  Choice take_choice(QueuePair& queue_pair);
  Choice choose(QueuePair& queue_pair) const;
  void next_turn(QueuePair& queue_pair) const;
  void next_size(QueuePair& queue_pair) const;
  void next_time(QueuePair& queue_pair, std::uint32_t length) const;

  const StreamPlan& plan_;
  std::vector<QueuePair> queue_pairs_;
  std::vector<std::uint64_t> sequences_; ///< by flow: the next one
  TimeNs begin_;
  TimeNs last_intended_;
  TimeNs next_due_ = never;
  bool running_ = false;
  std::size_t untaken_ = 0;
  std::size_t senders_ = 0; ///< of all queue pairs, those of other workers, too
  std::uint64_t quota_ = 0;
  std::uint64_t composed_ = 0;
  std::uint64_t too_long_ = 0;
  std::uint64_t behind_ = 0;
  measure::Volume sent_;
};

} // namespace tributary::pktgen::traffic
