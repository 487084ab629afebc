#include "tools/simulator/allreduce/windows_run.hpp"

#include "lib/virtual_time/timeline.hpp"
#include "tools/simulator/allreduce/job_tree.hpp"

#include <algorithm>
#include <vector>

namespace tributary::simulator::allreduce {
namespace {

constexpr std::uint32_t most_windows = 4;
constexpr std::uint32_t most_chunks_outstanding = 256;
constexpr std::uint64_t eager_bytes = 64U << 10U;
constexpr std::uint64_t short_payload = 32; ///< of an acknowledgement, and of an arm
constexpr std::uint64_t least_payload = 40;
constexpr std::uint32_t nobody = 0xFFFFFFFF;

/// A switch of the tree.
struct Node {
  std::uint32_t parent = JobTree::no_node;
  std::vector<std::uint32_t> children;
  std::uint32_t members = 0; ///< hosts here, with the root
  std::uint32_t wanted = 0;  ///< frames that complete a reduction
  double cores_free = 0;
  double worked = 0;
  double up_free = 0;      ///< the link to the parent
  double down_free = 0;    ///< the link from the parent
  double members_free = 0; ///< the links to its hosts, which are alike
};

/// The hosts of a switch, which are alike.
struct Hosts {
  double processor_free = 0;
  double wire_free = 0;
  std::uint64_t opened = 0;                ///< windows
  std::vector<std::uint64_t> received;     ///< chunks of each window in flight, by slot
  std::vector<std::uint64_t> expected;     ///< of these
  std::vector<std::uint32_t> acknowledged; ///< frames for each window in flight, at the switch
  std::vector<std::uint32_t> contributed;  ///< frames for each piece in flight, at the switch
};

enum class Arrives : std::uint8_t {
  data,         ///< a chunk at a switch: `from` a child, its own hosts (`self`) or its parent
  data_at_host, ///
  contribution, ///
  result,       ///< of a piece, on its way down to node `to`
  result_at_host,
  arm, ///< of a window, at a switch
  arm_at_host,
  acknowledgement,
  complete, ///< a window is, at a switch
  complete_at_host,
};

struct Event {
  Arrives what = Arrives::data;
  std::uint32_t node = 0;
  std::uint32_t frames = 0;
  std::uint32_t from = nobody;
  std::uint64_t window = 0;
  std::uint32_t piece = 0; ///< of the window
};

class WindowsRun {
public:
  WindowsRun(Call call, const Paths& paths, std::span<const topology::HostId> ranks,
             std::uint64_t vector_bytes, const Costs& costs, std::uint64_t seed)
      : call_(call), costs_(costs), bytes_(vector_bytes),
        ranks_(static_cast<std::uint32_t>(ranks.size())) {
    const JobTree tree = plan_tree(paths, ranks, seed);
    node_of_ = tree.node_of;
    height_ = tree.height;
    for (const JobTree::Node& planned : tree.nodes) {
      Node& node = nodes_.emplace_back();
      node.parent = planned.parent;
      node.children = planned.children;
      node.members = planned.members;
    }
    ++nodes_.front().members; // the root
    for (Node& node : nodes_) {
      node.wanted = node.members + static_cast<std::uint32_t>(node.children.size());
    }
    cut();
  }

  TreeTiming run(const std::function<bool()>& stop) {
    hosts_.resize(nodes_.size());
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      Hosts& hosts = hosts_[n];
      hosts.received.resize(windows_in_flight_);
      hosts.expected.resize(windows_in_flight_);
      hosts.acknowledged.resize(windows_in_flight_);
      hosts.contributed.resize(std::size_t{windows_in_flight_} * window_chunks_);
      hosts.processor_free = costs_.send_message.value;
    }
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      open_windows(n, windows_in_flight_);
    }
    for (std::uint64_t events = 0; !timeline_.empty(); ++events) {
      if (events % 4096 == 0 && stop()) {
        break;
      }
      take(timeline_.pop());
    }
    TreeTiming timing;
    timing.ns = ends_;
    timing.pieces = chunks_;
    timing.messages = messages_;
    timing.bytes = reduces() ? bytes_ * ranks_ : bytes_;
    timing.most_sent =
        reduces() || call_ == Call::broadcast ? bytes_ : (chunks_ + ranks_ - 1) / ranks_ * payload_;
    timing.switches = static_cast<std::uint32_t>(nodes_.size());
    timing.height = height_;
    for (const Node& node : nodes_) {
      timing.busiest_switch = std::max(timing.busiest_switch, node.worked / ends_);
    }
    return timing;
  }

private:
  [[nodiscard]] bool reduces() const { return call_ == Call::reduce_scatter; }
  /// Chunks and windows. All chunks but that of a vector shorter than one have the whole payload.
  void cut() {
    const std::uint64_t owners = call_ == Call::broadcast ? 1 : ranks_;
    const std::uint64_t block = std::max<std::uint64_t>((bytes_ + owners - 1) / owners, 1);
    const std::uint64_t whole = costs_.payload / 8 * 8;
    payload_ = std::max(std::min(block, whole), least_payload);
    chunks_ = owners * ((block + whole - 1) / whole);
    windows_in_flight_ = most_windows;
    window_chunks_ = reduces() ? std::max(costs_.slots / 2 / most_windows, 2U) - 1
                               : most_chunks_outstanding / most_windows;
    windows_ = (chunks_ + window_chunks_ - 1) / window_chunks_;
  }
  [[nodiscard]] std::uint64_t chunks_of(std::uint64_t window) const {
    return std::min<std::uint64_t>(window_chunks_, chunks_ - window * window_chunks_);
  }
  [[nodiscard]] std::uint32_t owner_of(std::uint64_t chunk) const {
    return call_ == Call::broadcast ? 0 : static_cast<std::uint32_t>(chunk % ranks_);
  }
  [[nodiscard]] std::size_t slot_of(std::uint64_t window) const {
    return static_cast<std::size_t>(window % windows_in_flight_);
  }
  [[nodiscard]] double wire_ns(std::uint64_t payload) const {
    return static_cast<double>(payload + Costs::frame_overhead) * costs_.ns_per_byte();
  }
  [[nodiscard]] double bytes_ns(double each) const { return static_cast<double>(payload_) * each; }
  /// The time at which the cores finish this work.
  double work(Node& node, double ns) {
    const double each = ns / costs_.switch_cores;
    node.cores_free = std::max(node.cores_free, timeline_.now()) + each;
    node.worked += each;
    return node.cores_free;
  }
  /// The time at which frames that are ready at `at` have left by a link.
  static double leave(double& link_free, double at, double ns) {
    return link_free = std::max(link_free, at) + ns;
  }

  // Hosts.

  /// Windows before `end` may begin.
  void open_windows(std::uint32_t n, std::uint64_t end) {
    Hosts& hosts = hosts_[n];
    for (; hosts.opened < std::min(end, windows_); ++hosts.opened) {
      const std::uint64_t window = hosts.opened;
      const std::size_t slot = slot_of(window);
      hosts.received[slot] = 0;
      hosts.expected[slot] = reduces() ? own_results(n, window) : chunks_of(window);
      if (!reduces()) {
        send_chunks(n, window);
      } else {
        if (n == 0) {
          send_arm(window);
          contribute(n, window);
        }
        if (hosts.expected[slot] == 0) {
          acknowledge(n, window);
        }
      }
    }
  }
  /// Results that the hosts of a switch get, those of one host counted as often as there are hosts.
  [[nodiscard]] std::uint64_t own_results(std::uint32_t n, std::uint64_t window) const {
    std::uint64_t results = 0;
    for (std::uint64_t c = 0; c < chunks_of(window); ++c) {
      results += node_of_[owner_of(window * window_chunks_ + c)] == n ? 1 : 0;
    }
    return results;
  }
  /// What each host of the switch sends first, then what it sends second, and so on: the hosts send
  /// at the same time.
  void send_chunks(std::uint32_t n, std::uint64_t window) {
    std::vector<std::uint32_t> senders; ///< by the number of their chunk
    std::vector<std::uint32_t> sent(ranks_ <= window_chunks_ ? ranks_ : 0);
    for (std::uint64_t c = 0; c < chunks_of(window); ++c) {
      const std::uint32_t owner = owner_of(window * window_chunks_ + c);
      if (node_of_[owner] != n) {
        continue;
      }
      const std::size_t number =
          sent.empty() ? (call_ == Call::broadcast ? senders.size() : 0) : sent[owner]++;
      senders.resize(std::max(senders.size(), number + 1));
      ++senders[number];
    }
    for (const std::uint32_t frames : senders) {
      leave_host(n, payload_, {Arrives::data, n, frames, n, window, 0}, frames);
    }
  }
  /// A frame of each of some hosts of the switch, which reaches it.
  void leave_host(std::uint32_t n, std::uint64_t payload, const Event& event,
                  std::uint32_t frames) {
    Hosts& hosts = hosts_[n];
    hosts.processor_free = std::max(hosts.processor_free, timeline_.now()) +
                           costs_.send_frame.value +
                           static_cast<double>(payload) * costs_.send_byte.value;
    const double left = leave(hosts.wire_free, hosts.processor_free, wire_ns(payload));
    timeline_.schedule(left + costs_.host_link_latency.value, event);
    messages_ += frames;
  }
  void contribute(std::uint32_t n, std::uint64_t window) {
    for (std::uint32_t piece = 0; piece < chunks_of(window); ++piece) {
      leave_host(n, payload_, {Arrives::contribution, n, nodes_[n].members, nobody, window, piece},
                 nodes_[n].members);
    }
  }
  void send_arm(std::uint64_t window) {
    leave_host(0, short_payload, {Arrives::arm, 0, 1, nobody, window, 0}, 1);
  }
  void acknowledge(std::uint32_t n, std::uint64_t window) {
    leave_host(n, short_payload,
               {Arrives::acknowledgement, n, nodes_[n].members, nobody, window, 0},
               nodes_[n].members);
  }
  /// Begins the hosts' work on frames.
  void receive(Hosts& hosts, double frames, double byte_ns) {
    const double now = timeline_.now();
    if (now >= hosts.processor_free) {
      hosts.processor_free = now + costs_.host_wake.value + costs_.receive_message.value;
    }
    hosts.processor_free += frames * (costs_.receive_frame.value + byte_ns);
  }
  void receive_data(const Event& event) {
    if (const std::uint32_t frames = received_by_each(event); frames != 0) {
      receive(hosts_[event.node], frames, bytes_ns(costs_.receive_byte.value));
    }
    count_in(event.node, event.window, event.frames);
  }
  /// Frames of a batch that a host of the switch gets: it has its own one.
  [[nodiscard]] std::uint32_t received_by_each(const Event& event) const {
    const bool each_sent_one =
        event.from == event.node && event.frames >= nodes_[event.node].members;
    return event.frames - (each_sent_one ? 1U : 0U);
  }
  void count_in(std::uint32_t n, std::uint64_t window, std::uint64_t chunks) {
    Hosts& hosts = hosts_[n];
    const std::size_t slot = slot_of(window);
    hosts.received[slot] += chunks;
    if (hosts.received[slot] == hosts.expected[slot]) {
      ends_ = std::max(ends_, hosts.processor_free);
      acknowledge(n, window);
    }
  }
  void complete_at_hosts(const Event& event) {
    Hosts& hosts = hosts_[event.node];
    receive(hosts, 1, 0);
    // All but short broadcasts return with the last window.
    if (event.window + 1 == windows_ && (reduces() || bytes_ > eager_bytes)) {
      ends_ = std::max(ends_, hosts.processor_free);
    }
    open_windows(event.node, event.window + 1 + windows_in_flight_);
  }

  // Switches.

  void take(const Event& event) {
    switch (event.what) {
    case Arrives::data: return copy_data(event);
    case Arrives::data_at_host: return receive_data(event);
    case Arrives::contribution: return reduce(event);
    case Arrives::result: return pass_result(event);
    case Arrives::result_at_host:
      receive(hosts_[event.node], 1.0 / nodes_[event.node].members,
              bytes_ns(costs_.receive_byte.value));
      return count_in(event.node, event.window, 1);
    case Arrives::arm:
    case Arrives::complete: return multicast(event);
    case Arrives::arm_at_host:
      receive(hosts_[event.node], 1, 0);
      return contribute(event.node, event.window);
    case Arrives::acknowledgement: return reduce_acknowledgement(event);
    case Arrives::complete_at_host: return complete_at_hosts(event);
    }
  }

  /// Copies chunks to all ports but that by which they came.
  void copy_data(const Event& event) {
    Node& node = nodes_[event.node];
    const bool of_parent = event.from == node.parent && node.parent != JobTree::no_node;
    const double ready = work(node, event.frames * (node.wanted * costs_.switch_copy.value)) +
                         costs_.switch_latency.value;
    const double all = event.frames * wire_ns(payload_);
    Event next = event;
    next.what = Arrives::data_at_host;
    if (node.members != 0) {
      const double there =
          leave(node.members_free, ready, received_by_each(event) * wire_ns(payload_));
      timeline_.schedule(there + costs_.host_link_latency.value, next);
    }
    next.what = Arrives::data;
    next.from = event.node;
    for (const std::uint32_t child : node.children) {
      if (child != event.from) {
        next.node = child;
        timeline_.schedule(leave(nodes_[child].down_free, ready, all) + costs_.link_latency.value,
                           next);
      }
    }
    if (node.parent != JobTree::no_node && !of_parent) {
      next.node = node.parent;
      timeline_.schedule(leave(node.up_free, ready, all) + costs_.link_latency.value, next);
    }
  }

  void reduce(const Event& event) {
    Node& node = nodes_[event.node];
    const double done = work(node, event.frames * (costs_.switch_contribute.value +
                                                   bytes_ns(costs_.switch_contribute_byte.value)));
    std::uint32_t& there =
        hosts_[event.node].contributed[slot_of(event.window) * window_chunks_ + event.piece];
    there += event.frames;
    if (there < node.wanted) {
      return;
    }
    there = 0;
    Event next = event;
    next.frames = 1;
    if (node.parent != JobTree::no_node) {
      next.node = node.parent;
      const double left =
          leave(node.up_free, done + costs_.switch_latency.value, wire_ns(payload_));
      timeline_.schedule(left + costs_.link_latency.value, next);
      return;
    }
    next.what = Arrives::result;
    timeline_.schedule(done, next);
  }

  /// A result goes down to its owner alone.
  void pass_result(const Event& event) {
    Node& node = nodes_[event.node];
    const std::uint32_t to = node_of_[owner_of(event.window * window_chunks_ + event.piece)];
    const double ready = work(node, costs_.switch_copy.value) + costs_.switch_latency.value;
    Event next = event;
    if (to == event.node) {
      next.what = Arrives::result_at_host;
      // The hosts take turns as owners, each on its own link.
      const double share = wire_ns(payload_) / node.members;
      const double left = leave(node.members_free, ready, share) - share + wire_ns(payload_);
      timeline_.schedule(left + costs_.host_link_latency.value, next);
      return;
    }
    std::uint32_t below = to;
    while (nodes_[below].parent != event.node) {
      below = nodes_[below].parent;
    }
    next.node = below;
    timeline_.schedule(
        leave(nodes_[below].down_free, ready, wire_ns(payload_)) + costs_.link_latency.value, next);
  }

  /// An arm of a window, or the result of its acknowledgements.
  void multicast(const Event& event) {
    Node& node = nodes_[event.node];
    const double ready =
        work(node, node.wanted * costs_.switch_copy.value) + costs_.switch_latency.value;
    Event next = event;
    for (const std::uint32_t child : node.children) {
      next.node = child;
      timeline_.schedule(leave(nodes_[child].down_free, ready, wire_ns(short_payload)) +
                             costs_.link_latency.value,
                         next);
    }
    next.node = event.node;
    next.what = event.what == Arrives::arm ? Arrives::arm_at_host : Arrives::complete_at_host;
    // The root knows what it arms, and the other hosts of its switch are like it.
    if (node.members != 0 && !(event.what == Arrives::arm && event.node == 0)) {
      timeline_.schedule(leave(node.members_free, ready, wire_ns(short_payload)) +
                             costs_.host_link_latency.value,
                         next);
    }
  }

  void reduce_acknowledgement(const Event& event) {
    Node& node = nodes_[event.node];
    const double done = work(node, event.frames * costs_.switch_contribute.value);
    std::uint32_t& there = hosts_[event.node].acknowledged[slot_of(event.window)];
    there += event.frames;
    if (there < node.wanted) {
      return;
    }
    there = 0;
    Event next = event;
    next.frames = 1;
    if (node.parent != JobTree::no_node) {
      next.node = node.parent;
      const double left =
          leave(node.up_free, done + costs_.switch_latency.value, wire_ns(short_payload));
      timeline_.schedule(left + costs_.link_latency.value, next);
      return;
    }
    next.what = Arrives::complete;
    timeline_.schedule(done, next);
  }

  Call call_;
  const Costs& costs_;
  std::uint64_t bytes_;
  std::uint32_t ranks_;
  std::vector<std::uint32_t> node_of_;
  std::uint32_t height_ = 0;
  std::uint64_t payload_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint32_t windows_in_flight_ = 0;
  std::uint32_t window_chunks_ = 0;
  std::uint64_t windows_ = 0;
  std::uint64_t messages_ = 0;
  std::vector<Node> nodes_; ///< the one next to the root host first
  std::vector<Hosts> hosts_;
  virtual_time::Timeline<Event, double> timeline_; ///< nanoseconds
  double ends_ = 0;
};

} // namespace

TreeTiming run_in_windows(Call call, const Paths& paths, std::span<const topology::HostId> ranks,
                          std::uint64_t vector_bytes, const Costs& costs, std::uint64_t seed,
                          const std::function<bool()>& stop) {
  return WindowsRun(call, paths, ranks, vector_bytes, costs, seed).run(stop);
}

} // namespace tributary::simulator::allreduce
