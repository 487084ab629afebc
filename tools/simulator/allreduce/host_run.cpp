#include "tools/simulator/allreduce/host_run.hpp"

#include "tools/simulator/allreduce/fair_rates.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace tributary::simulator::allreduce {
namespace {

constexpr std::uint32_t element_bytes = 8;

/// The network's effect on a message of a rank.
struct Way {
  double rate = 0; ///< bytes on the wire a nanosecond
  double links = 0;
  double latency = 0; ///< propagation and switches
};

class Ways {
public:
  Ways(const Paths& paths, std::span<const topology::HostId> ranks, const Costs& costs)
      : paths_(paths), ranks_(ranks), costs_(costs) {}

  /// By sender, for a step whose largest frame has this payload.
  const std::vector<Way>& ways(const Schedule& schedule, std::uint32_t step,
                               std::uint64_t frame_payload) {
    auto& known = known_[{schedule.pairing(step), frame_payload}];
    if (known.empty()) {
      known = find(schedule, step, frame_payload);
    }
    return known;
  }
  [[nodiscard]] double slowest() const { return slowest_; }

private:
  std::vector<Way> find(const Schedule& schedule, std::uint32_t step, std::uint64_t frame_payload) {
    const double link = 1 / costs_.ns_per_byte();
    std::vector<double> capacities(paths_.links() + paths_.switches(), link);
    const double switch_rate =
        costs_.switch_forward.value == 0
            ? 1e18
            : costs_.switch_cores * static_cast<double>(frame_payload + Costs::frame_overhead) /
                  costs_.switch_forward.value;
    std::fill(capacities.begin() + paths_.links(), capacities.end(), switch_rate);
    std::vector<Way> ways(ranks_.size());
    std::vector<std::vector<std::uint32_t>> flows;
    std::vector<std::uint32_t> senders;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      if (const auto sent = schedule.sent(step, rank)) {
        const Path path = paths_.between(ranks_[rank], ranks_[sent->peer]);
        ways[rank].links = static_cast<double>(path.links.size());
        ways[rank].latency =
            2 * costs_.host_link_latency.value +
            static_cast<double>(path.links.size() - 2) * costs_.link_latency.value +
            static_cast<double>(path.switches.size()) *
                (costs_.switch_latency.value + costs_.switch_forward.value);
        flows.push_back(path.links);
        for (const std::uint32_t s : path.switches) {
          flows.back().push_back(paths_.links() + s);
        }
        senders.push_back(rank);
      }
    }
    const std::vector<double> rates = fair_rates(flows, capacities);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      ways[senders[f]].rate = rates[f];
      slowest_ = std::min(slowest_, rates[f] / link);
    }
    return ways;
  }

  const Paths& paths_;
  std::span<const topology::HostId> ranks_;
  const Costs& costs_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<Way>> known_;
  double slowest_ = 1;
};

/// A message on its way.
struct Message {
  std::uint64_t bytes = 0;
  double first_arrives = 0; ///< when its first frame is complete
  double last_arrives = 0;
};

double as_double(std::uint64_t n) { return static_cast<double>(n); }

} // namespace

HostTiming run_host_algorithm(HostAlgorithm algorithm, const Paths& paths,
                              std::span<const topology::HostId> ranks, std::uint64_t vector_bytes,
                              const Costs& costs, const std::function<bool()>& stop) {
  const Schedule schedule(algorithm, static_cast<std::uint32_t>(ranks.size()));
  Ways network(paths, ranks, costs);
  const std::size_t n = ranks.size();
  const std::uint64_t elements = vector_bytes / element_bytes;
  const double per_byte = costs.ns_per_byte();
  std::vector<double> ready(n);     // has done the last step
  std::vector<double> sent_at(n);   // its processor has done with this step's message
  std::vector<double> wire_free(n); // its link has sent all
  std::vector<std::uint64_t> sent_bytes(n);
  std::vector<Message> messages(n); // by sender
  HostTiming timing;

  const auto payload_of_frame = [&](std::uint64_t bytes) {
    return std::min<std::uint64_t>(bytes, costs.payload);
  };
  const auto last_payload = [&](std::uint64_t bytes) {
    return bytes - (costs.frames(bytes) - 1) * costs.payload;
  };
  const auto wire_ns = [&](std::uint64_t payload) {
    return as_double(payload + Costs::frame_overhead) * per_byte;
  };
  for (std::uint32_t step = 0; step < schedule.steps() && !stop(); ++step) {
    std::uint64_t largest = 0;
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      const auto sent = schedule.sent(step, rank);
      messages[rank].bytes = sent ? schedule.bytes(*sent, elements, element_bytes) : 0;
      largest = std::max(largest, messages[rank].bytes);
    }
    const std::vector<Way>& ways = network.ways(schedule, step, payload_of_frame(largest));
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      sent_at[rank] = ready[rank];
      if (ways[rank].links == 0) {
        continue;
      }
      Message& message = messages[rank];
      const std::uint64_t bytes = message.bytes;
      const double begin = ready[rank] + costs.send_message.value;
      const double first_sent = begin + costs.send_frame.value +
                                as_double(payload_of_frame(bytes)) * costs.send_byte.value;
      sent_at[rank] = begin + as_double(costs.frames(bytes)) * costs.send_frame.value +
                      as_double(bytes) * costs.send_byte.value;
      const double on_wire = std::max(first_sent, wire_free[rank]);
      const double last_ns = wire_ns(last_payload(bytes));
      wire_free[rank] = std::max(on_wire + as_double(costs.wire_bytes(bytes)) / ways[rank].rate,
                                 sent_at[rank] + last_ns);
      message.first_arrives =
          on_wire + wire_ns(payload_of_frame(bytes)) * ways[rank].links + ways[rank].latency;
      message.last_arrives =
          wire_free[rank] + last_ns * (ways[rank].links - 1) + ways[rank].latency;
      ++timing.messages;
      timing.bytes += bytes;
      sent_bytes[rank] += bytes;
    }
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      const auto received = schedule.received(step, rank);
      ready[rank] = sent_at[rank];
      if (!received) {
        continue;
      }
      const Message& message = messages[received->peer];
      const double byte_ns = costs.receive_byte.value + (received->adds ? costs.add_byte.value : 0);
      const bool waited = message.first_arrives > sent_at[rank];
      const double begin = waited ? message.first_arrives + costs.host_wake.value : sent_at[rank];
      const double all = as_double(costs.frames(message.bytes)) * costs.receive_frame.value +
                         as_double(message.bytes) * byte_ns;
      const double last =
          costs.receive_frame.value + as_double(last_payload(message.bytes)) * byte_ns;
      ready[rank] =
          costs.receive_message.value +
          std::max(begin + all, message.last_arrives + last + (waited ? costs.host_wake.value : 0));
    }
  }
  timing.ns = *std::ranges::max_element(ready);
  timing.most_sent = *std::ranges::max_element(sent_bytes);
  timing.slowest_share = network.slowest();
  return timing;
}

} // namespace tributary::simulator::allreduce
