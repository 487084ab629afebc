// Figures of one queue of a port, as `tributaryctl show queues` prints them.
#pragma once

#include "dataplane/egress/drop_reason.hpp"
#include "dataplane/egress/queue_settings.hpp"
#include "lib/statistics/counter_info.hpp"
#include "tributary/traffic_class.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>

namespace tributary::egress {

/// What the queue itself counts. `Value`: a counter, or a plain number in reports.
template <typename Value> struct QueueFigures {
  Value frames{};
  Value bytes{};
  Value trimmed{};
  Value trimmed_bytes{};
  std::array<Value, queue_drop_reasons.size()> drops{}; ///< as queue_drop_reasons

  static constexpr statistics::CounterRow<QueueFigures, Value QueueFigures::*> rows[] = {
      {&QueueFigures::frames, {"frames", "Frames sent.", "queue_sent_frames", {"TX FRAMES", 1}}},
      {&QueueFigures::bytes, {"bytes", "Bytes sent.", "queue_sent_bytes", {"TX BYTES", 7}}},
      {&QueueFigures::trimmed,
       {"trimmed_frames",
        "RDMA data frames trimmed to their headers instead of being dropped.",
        "queue_trimmed_frames",
        {"TRIMMED", 3}}},
      {&QueueFigures::trimmed_bytes, {"trimmed_bytes", "Bytes removed by trimming."}},
  };
};

struct QueueSnapshot : QueueFigures<std::uint64_t> {
  TrafficClass traffic_class{};
  Depth waiting;
  Depth highest; ///< the highest amounts that waited at any time, each on its own
  Depth limit;
  std::uint32_t trimmed_waiting = 0; ///< frames, trimmed here or before, beside `waiting`
  std::uint32_t trimmed_limit = 0;   ///< of `trimmed_waiting`; 0: the class does not trim

  // Pauses received from the neighbour.
  std::uint64_t pauses_received = 0;
  std::uint64_t pauses_ignored = 0;
  std::uint64_t paused_ns = 0;
  std::uint64_t given_up_times = 0; ///< by the watchdog
  // Pauses sent to the neighbour; PauseSender counts them, not the queues.
  std::uint64_t pauses_sent = 0;
  std::uint64_t resumes_sent = 0;
  bool paused = false;
  bool given_up = false;

  /// Whether any figure is worth reporting.
  [[nodiscard]] bool used() const {
    return frames != 0 || trimmed_waiting != 0 || highest.frames != 0 || pauses_received != 0 ||
           pauses_ignored != 0 || pauses_sent != 0 ||
           std::ranges::any_of(drops, [](std::uint64_t n) { return n != 0; });
  }
  /// Adds another queue of the same port and class, which no neighbour pauses.
  void add(const QueueSnapshot& other) {
    for (const auto& row : rows) {
      this->*row.access += other.*row.access;
    }
    waiting = waiting + other.waiting;
    highest = highest + other.highest;
    limit = limit + other.limit;
    std::ranges::transform(drops, other.drops, drops.begin(), std::plus{});
    trimmed_waiting += other.trimmed_waiting;
    trimmed_limit += other.trimmed_limit;
  }
  [[nodiscard]] std::uint64_t dropped(DropReason reason) const {
    return drops[queue_drop_index(reason)];
  }
};
static_assert(sizeof(QueueFigures<std::uint64_t>) ==
              (std::size(QueueSnapshot::rows) + queue_drop_reasons.size()) * sizeof(std::uint64_t));

/// What waits, as a table beside QueueFigures::rows.
inline constexpr statistics::CounterRow<QueueSnapshot, std::uint64_t (*)(const QueueSnapshot&)>
    queue_depth_rows[] = {
        {[](const QueueSnapshot& q) { return std::uint64_t{q.waiting.frames}; },
         {.name = "frames_waiting",
          .help = "Frames that wait.",
          .metric = "queue_waiting_frames",
          .type = statistics::MetricType::gauge}},
        {[](const QueueSnapshot& q) { return std::uint64_t{q.waiting.bytes}; },
         {"bytes_waiting",
          "Bytes that wait.",
          "queue_waiting_bytes",
          {"BYTES", 8},
          statistics::MetricType::gauge}},
        {[](const QueueSnapshot& q) { return std::uint64_t{q.highest.frames}; },
         {"most_frames",
          "The most frames that waited at any time.",
          "queue_highest_frames",
          {"HIGHEST", 4},
          statistics::MetricType::gauge}},
        {[](const QueueSnapshot& q) { return std::uint64_t{q.highest.bytes}; },
         {.name = "most_bytes", .help = "The most bytes that waited at any time."}},
        {[](const QueueSnapshot& q) { return std::uint64_t{q.trimmed_waiting}; },
         {.name = "trimmed_waiting", .help = "Trimmed frames that wait."}},
};

/// Pauses, which PauseReceiver, PauseWatchdog and PauseSender count.
inline constexpr statistics::CounterRow<QueueSnapshot> queue_pause_rows[] = {
    {&QueueSnapshot::pauses_received,
     {"pauses_received",
      "Pauses that the neighbour requested.",
      "queue_pauses_received",
      {"PAUSES", 5}}},
    {&QueueSnapshot::pauses_ignored,
     {"pauses_ignored", "Pauses of the neighbour for a class that does not obey them."}},
    {&QueueSnapshot::paused_ns,
     {"paused_us",
      "Time for which the neighbour had the class paused.",
      "queue_paused_seconds",
      {"PAUSED", 6},
      statistics::MetricType::counter,
      statistics::Unit::nanoseconds}},
    {&QueueSnapshot::pauses_sent,
     {"pauses_sent", "Pauses requested from the neighbour.", "queue_pauses_sent", {"SENT", 9}}},
    {&QueueSnapshot::resumes_sent, {"resumes_sent", "Ends of pauses sent to the neighbour."}},
    {&QueueSnapshot::given_up_times,
     {"given_up_times", "Times that the class was paused for longer than its watchdog allows.",
      "queue_given_up"}},
};

} // namespace tributary::egress
