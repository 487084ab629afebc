// The result of a run, as plain data; report/ formats it for people and programs.
#pragma once

#include "pktgen/measure/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tributary::pktgen::result {

/// The generator against itself: the same traffic through a switch core in the generator's own
/// thread, whose cycles are not counted. The figures are for one of the generator's threads.
struct Ceiling {
  double frames_per_second = 0; ///< sent
  double cycles_per_frame = 0;  ///< sent, receiving included; ticks of a timer but on x86
  std::string how;              ///< e.g. "through a raw socket on lo"
  /// For reductions: bytes of vectors that were reduced; 0 where there were none.
  double leaf_payload_bytes_per_second = 0;  ///< of each leaf
  double total_payload_bytes_per_second = 0; ///< of all leaves together
};

/// A counter of the switch under test that rose during a measurement.
struct SwitchCounter {
  std::string name; ///< e.g. "leaf0.port.host0.drop.no_tree"
  std::uint64_t rise = 0;
};

/// What the switch under test did during one measurement, as far as it reports it.
struct SwitchFigures {
  std::uint64_t received_frames = 0;
  std::uint64_t sent_frames = 0;
  /// Busy share of its workers; 0 where unknown.
  double busy_share = 0;
  double cycles_per_frame = 0;
  /// Reductions for which an engine had no descriptor: their contributions were not combined there.
  std::uint64_t arm_failures = 0;
  /// Frames it dropped, and frames its devices dropped before it could take them (rx_missed).
  std::vector<SwitchCounter> drops;
  [[nodiscard]] std::uint64_t dropped_frames() const {
    std::uint64_t frames = 0;
    for (const SwitchCounter& counter : drops) {
      frames += counter.rise;
    }
    return frames;
  }
};

/// One measurement.
struct Measurement {
  double seconds = 0; ///< its duration
  /// It ended early, or before everything in flight had arrived: after a failure, or on request.
  bool cut_short = false;
  double offered_rate = 0; ///< operations a second asked for; 0: as fast as possible
  /// What `offered_rate` counts, done: reductions of vectors, frames sent of a stream.
  std::uint64_t operations = 0;
  measure::Tally tally;
  /// Frames out of and into the generator's ports, by port: {name, counts...}.
  struct PortFigures {
    std::string name;
    measure::Volume sent;
    measure::Volume received;
    std::uint64_t receive_drops = 0;
    /// By queue, so that an uneven distribution is visible. Drops belong to the port, because not
    /// all drivers count them by queue.
    struct QueueFigures {
      measure::Volume sent;
      measure::Volume received;
    };
    std::vector<QueueFigures> queues;
  };
  std::vector<PortFigures> ports;
  /// The generator's threads.
  struct WorkerFigures {
    std::optional<unsigned> core; ///< none: left to the kernel
    struct Queue {
      std::size_t port = 0;
      std::size_t queue = 0;
    };
    std::vector<Queue> queues; ///< that it drives
    double busy_share = 0;
    std::uint64_t received_frames = 0;
    // Frames of reductions that arrived at another worker's queue of the same port.
    std::uint64_t handed_on = 0;      ///< to others, each copy counted
    std::uint64_t taken_over = 0;     ///< from others
    std::uint64_t hand_off_drops = 0; ///< that others had no room for
  };
  std::vector<WorkerFigures> workers;
  std::optional<SwitchFigures> switch_figures;
  /// Share of its time in which the generator had work; 1: it did not keep up.
  double generator_busy = 0;
  /// Within 10 % of the ceiling, or one worker was never idle while the switch was.
  bool generator_bound = false;
  [[nodiscard]] double per_second(std::uint64_t count) const {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
  }
};

/// What the generator itself adds to a latency: how long it may leave its ports unpolled while
/// idle.
struct LatencyFloor {
  std::uint64_t ns = 0; ///< median over its turns without work
  bool rests = false;   ///< it sleeps then, instead of polling
};

/// One measurement at one rate of a search.
struct SearchTry {
  double achieved = 0; ///< operations a second that were done, or begun and lost
  double loss = 0;     ///< share
  bool kept = false;   ///< the rate was offered as meant
  bool passed = false;
};
/// One step of the search for the highest rate: it passes when most of its tries do.
struct SearchStep {
  double rate = 0; ///< operations a second
  std::vector<SearchTry> tries;
  // Medians of the tries.
  double achieved = 0;
  double loss = 0;
  bool kept = false; ///< by most of them
  bool passed = false;
};
struct SearchResult {
  double rate = 0; ///< the highest that passed; 0 when none did
  std::vector<SearchStep> steps;
  /// At 10, 50 and 90 % of it: {share, measurement}.
  std::vector<std::pair<double, Measurement>> at_shares;
  /// The try during which the run ended; it does not count as a step.
  std::optional<Measurement> cut_short;
};

struct Result {
  std::string scenario; ///< its name
  std::string kind;
  /// What was asked for, key by key, as in the file: {"leaves", "10000"}.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::string> port_descriptions;
  std::string version;
  std::string machine; ///< processor and number of cores
  std::uint64_t seed = 0;
  double tsc_hz = 0;
  std::optional<Ceiling> ceiling;
  std::optional<LatencyFloor> latency_floor;
  std::vector<Measurement> repeats;
  std::optional<SearchResult> search;
  /// Set when the run ended early; the measurements until then are kept.
  std::string failure;
  /// Errors beside the traffic's faults, a sentence each: a capture that a full disk ended, no
  /// frame received, more loss than allowed. The run continued; its exit code is 1.
  std::vector<std::string> problems;
  /// Reasons why figures may mislead, a sentence each. They do not affect the exit code.
  std::vector<std::string> warnings;
  /// Figures derived from several counts, per repeat, by name: "root_frames_per_reduction".
  std::vector<std::pair<std::string, std::vector<double>>> derived;
};

} // namespace tributary::pktgen::result
