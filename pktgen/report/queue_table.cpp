#include "pktgen/report/queue_table.hpp"

#include "lib/terminal/table.hpp"
#include "lib/terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tributary::pktgen::report {

using result::Measurement;
using result::Result;

namespace {

using terminal::share_text;
using terminal::Style;
using terminal::Table;
using terminal::Align::right;
using Worker = Measurement::WorkerFigures;

std::string name_of(const Worker::Queue& queue) {
  return fmt::format("port {} queue {}", queue.port, queue.queue);
}

/// Frames of all repeats.
template <typename Count> std::uint64_t over_all(const Result& result, Count&& count) {
  std::uint64_t frames = 0;
  for (const Measurement& m : result.repeats) {
    frames += count(m);
  }
  return frames;
}

/// What one queue has of its port's frames, and which share that is.
std::string part_text(std::uint64_t frames, std::uint64_t of) {
  return of == 0 ? std::to_string(frames)
                 : fmt::format("{} ({})", frames,
                               share_text(static_cast<double>(frames) / static_cast<double>(of)));
}

std::string queues_text(const Result& result, const terminal::Display& display) {
  Table table({{"QUEUE"}, {"WORKER", right}, {"SENT", right}, {"RECEIVED", right}});
  const std::vector<Worker>& workers = result.repeats.front().workers;
  const std::size_t ports = result.repeats.front().ports.size();
  for (std::size_t port = 0; port < ports; ++port) {
    const std::size_t queues = result.repeats.front().ports[port].queues.size();
    const auto sum = [&](measure::Volume Measurement::PortFigures::*volume) {
      return over_all(result, [&](const Measurement& m) { return (m.ports[port].*volume).frames; });
    };
    for (std::size_t queue = 0; queue < queues; ++queue) {
      const auto of_queue = [&](measure::Volume Measurement::PortFigures::QueueFigures::*volume) {
        return over_all(result, [&](const Measurement& m) {
          return (m.ports[port].queues[queue].*volume).frames;
        });
      };
      const auto drives = std::ranges::find_if(workers, [&](const Worker& worker) {
        return std::ranges::any_of(worker.queues, [&](const Worker::Queue& one) {
          return one.port == port && one.queue == queue;
        });
      });
      using Port = Measurement::PortFigures;
      table.add({{name_of({port, queue})},
                 {std::to_string(drives - workers.begin())},
                 {part_text(of_queue(&Port::QueueFigures::sent), sum(&Port::sent))},
                 {part_text(of_queue(&Port::QueueFigures::received), sum(&Port::received))}});
    }
  }
  return '\n' + table.text(display);
}

std::string workers_text(const Result& result, const terminal::Display& display) {
  Table table({{"WORKER"},
               {"CORE", right},
               {"BUSY", right},
               {"RECEIVED", right},
               {"HANDED ON", right},
               {"TAKEN OVER", right},
               {"NOT TAKEN", right}});
  const std::vector<Worker>& first = result.repeats.front().workers;
  for (std::size_t w = 0; w < first.size(); ++w) {
    const auto sum = [&](std::uint64_t Worker::*count) {
      return std::to_string(
          over_all(result, [&](const Measurement& m) { return m.workers[w].*count; }));
    };
    double busy = 0;
    for (const Measurement& m : result.repeats) {
      busy += m.workers[w].busy_share / static_cast<double>(result.repeats.size());
    }
    const std::string drops = sum(&Worker::hand_off_drops);
    table.add({{std::to_string(w)},
               {first[w].core ? std::to_string(*first[w].core) : "any"},
               {share_text(busy)},
               {sum(&Worker::received_frames)},
               {sum(&Worker::handed_on)},
               {sum(&Worker::taken_over)},
               {drops, drops == "0" ? Style::plain : Style::warning}});
  }
  return '\n' + table.text(display);
}

} // namespace

std::string queue_tables(const Result& result, const terminal::Display& display) {
  if (result.repeats.empty()) {
    return "";
  }
  const Measurement& first = result.repeats.front();
  const bool has_queues =
      std::ranges::any_of(first.ports, [](const auto& port) { return port.queues.size() > 1; });
  return (has_queues ? queues_text(result, display) : "") +
         (first.workers.size() > 1 ? workers_text(result, display) : "");
}

} // namespace tributary::pktgen::report
