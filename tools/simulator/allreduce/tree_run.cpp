#include "tools/simulator/allreduce/tree_run.hpp"

#include "lib/virtual_time/timeline.hpp"
#include "tools/simulator/allreduce/job_tree.hpp"

#include <algorithm>
#include <vector>

namespace tributary::simulator::allreduce {
namespace {

constexpr std::uint32_t first_window = 32;
constexpr std::uint64_t small_payload = 32; ///< payload of the 84-byte form
constexpr std::uint64_t least_wide = 40;

/// A switch of the tree.
struct Node {
  std::uint32_t parent = JobTree::no_node; ///< node; no_node next to the root host
  std::vector<std::uint32_t> children;
  std::uint32_t members = 0; ///< hosts here except the root
  std::uint32_t wanted = 0;  ///< frames that complete a reduction: of hosts and of children
  double cores_free = 0;
  double worked = 0;
  double up_free = 0;
  double down_free = 0;
  std::vector<std::uint32_t> arrived; ///< frames, by slot
};

/// The processor and link of a host, or of hosts that are alike.
struct Endpoint {
  double processor_free = 0;
  double wire_free = 0;
  std::uint64_t next = 0; ///< piece to send
  std::uint64_t completed = 0;
  std::uint32_t window = 0;
  std::uint32_t since_wider = 0;
};

enum class Arrives : std::uint8_t { contribution, at_root, result, at_hosts };

struct Event {
  Arrives what = Arrives::contribution;
  std::uint32_t node = 0;
  std::uint32_t frames = 0;
  std::uint64_t piece = 0;
};

class TreeRun {
public:
  TreeRun(const Paths& paths, std::span<const topology::HostId> ranks, std::uint64_t vector_bytes,
          const Costs& costs, std::uint64_t seed)
      : costs_(costs), bytes_(vector_bytes), ranks_(static_cast<std::uint32_t>(ranks.size())) {
    const std::uint64_t payload = costs.payload / 8 * 8;
    whole_ = vector_bytes <= small_payload ? small_payload : payload;
    pieces_ = vector_bytes <= small_payload ? 1 : (vector_bytes + payload - 1) / payload;
    const std::uint64_t rest = vector_bytes - (pieces_ - 1) * payload;
    last_ = vector_bytes <= small_payload ? small_payload : std::max(rest, least_wide);
    build(paths, ranks, seed);
  }

  TreeTiming run(const std::function<bool()>& stop) {
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      nodes_[n].arrived.resize(costs_.slots);
      hosts_[n].window = std::min(first_window, costs_.slots);
      if (nodes_[n].members != 0) {
        hosts_[n].processor_free = costs_.send_message.value;
        inject(n);
      }
    }
    // The root's processor waits from the beginning for data to add.
    for (std::uint64_t events = 0; !timeline_.empty(); ++events) {
      if (events % 4096 == 0 && stop()) {
        break;
      }
      const Event event = timeline_.pop();
      switch (event.what) {
      case Arrives::contribution: contribute(event); break;
      case Arrives::at_root: answer(event); break;
      case Arrives::result: replicate(event); break;
      case Arrives::at_hosts: complete(event); break;
      }
    }
    TreeTiming timing;
    timing.ns = ends_;
    timing.pieces = pieces_;
    timing.messages = pieces_ * ranks_;
    timing.bytes = bytes_ * ranks_;
    timing.most_sent = bytes_;
    timing.switches = static_cast<std::uint32_t>(nodes_.size());
    timing.height = height_;
    for (const Node& node : nodes_) {
      timing.busiest_switch = std::max(timing.busiest_switch, node.worked / ends_);
    }
    return timing;
  }

private:
  void build(const Paths& paths, std::span<const topology::HostId> ranks, std::uint64_t seed) {
    const JobTree tree = plan_tree(paths, ranks, seed);
    height_ = tree.height;
    nodes_.resize(tree.nodes.size());
    hosts_.resize(tree.nodes.size());
    for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
      const JobTree::Node& planned = tree.nodes[n];
      nodes_[n].parent = planned.parent;
      nodes_[n].children = planned.children;
      nodes_[n].members = planned.members;
      nodes_[n].wanted = planned.members + static_cast<std::uint32_t>(planned.children.size());
    }
  }

  [[nodiscard]] double payload(std::uint64_t piece) const {
    return static_cast<double>(piece + 1 == pieces_ ? last_ : whole_);
  }
  [[nodiscard]] double wire_ns(std::uint64_t piece) const {
    return (payload(piece) + Costs::frame_overhead) * costs_.ns_per_byte();
  }
  void later(double at, Arrives what, std::uint32_t node, std::uint32_t frames,
             std::uint64_t piece) {
    timeline_.schedule(at, {what, node, frames, piece});
  }
  /// The time at which the cores finish this work.
  double work(Node& node, double ns) {
    const double each = ns / costs_.switch_cores;
    node.cores_free = std::max(node.cores_free, timeline_.now()) + each;
    node.worked += each;
    return node.cores_free;
  }

  /// Sends the pieces that the window allows.
  void inject(std::uint32_t n) {
    Endpoint& host = hosts_[n];
    for (; host.next < pieces_ && host.next < host.completed + host.window; ++host.next) {
      host.processor_free += costs_.send_frame.value + payload(host.next) * costs_.send_byte.value;
      host.wire_free = std::max(host.wire_free, host.processor_free) + wire_ns(host.next);
      later(host.wire_free + costs_.host_link_latency.value, Arrives::contribution, n,
            nodes_[n].members, host.next);
    }
  }

  void contribute(const Event& event) {
    Node& node = nodes_[event.node];
    const double done =
        work(node, event.frames * (costs_.switch_contribute.value +
                                   payload(event.piece) * costs_.switch_contribute_byte.value));
    std::uint32_t& arrived = node.arrived[event.piece % costs_.slots];
    arrived += event.frames;
    if (arrived < node.wanted) {
      return;
    }
    arrived = 0;
    node.up_free =
        std::max(node.up_free, done + costs_.switch_latency.value) + wire_ns(event.piece);
    if (node.parent == JobTree::no_node) {
      later(node.up_free + costs_.host_link_latency.value, Arrives::at_root, 0, 1, event.piece);
    } else {
      later(node.up_free + costs_.link_latency.value, Arrives::contribution, node.parent, 1,
            event.piece);
    }
  }

  /// Begins a host's work on a frame. True: it was idle, so this work is a separate call.
  bool receive(Endpoint& host, std::uint64_t piece, double byte_ns) {
    const double now = timeline_.now();
    const bool idle = now >= host.processor_free;
    host.processor_free =
        idle ? now + costs_.host_wake.value + costs_.receive_message.value : host.processor_free;
    host.processor_free += costs_.receive_frame.value + payload(piece) * byte_ns;
    ends_ = std::max(ends_, host.processor_free);
    return idle;
  }

  void answer(const Event& event) {
    if (receive(root_, event.piece, costs_.receive_byte.value + costs_.add_byte.value)) {
      root_.processor_free += costs_.send_message.value;
    }
    root_.processor_free += costs_.send_frame.value + payload(event.piece) * costs_.send_byte.value;
    root_.wire_free = std::max(root_.wire_free, root_.processor_free) + wire_ns(event.piece);
    ends_ = std::max(ends_, root_.processor_free);
    later(root_.wire_free + costs_.host_link_latency.value, Arrives::result, 0, 1, event.piece);
  }

  void replicate(const Event& event) {
    Node& node = nodes_[event.node];
    const double done = work(node, node.wanted * costs_.switch_copy.value);
    node.down_free =
        std::max(node.down_free, done + costs_.switch_latency.value) + wire_ns(event.piece);
    for (const std::uint32_t child : node.children) {
      later(node.down_free + costs_.link_latency.value, Arrives::result, child, 1, event.piece);
    }
    if (node.members != 0) {
      later(node.down_free + costs_.host_link_latency.value, Arrives::at_hosts, event.node, 1,
            event.piece);
    }
  }

  void complete(const Event& event) {
    Endpoint& host = hosts_[event.node];
    const bool idle = receive(host, event.piece, costs_.receive_byte.value);
    ++host.completed;
    if (++host.since_wider >= host.window) {
      host.since_wider = 0;
      host.window = std::min(host.window + 1, costs_.slots);
    }
    if (host.next < pieces_ && idle) {
      host.processor_free += costs_.send_message.value;
    }
    inject(event.node);
  }

  const Costs& costs_;
  std::uint64_t bytes_;
  std::uint32_t ranks_;
  std::uint64_t pieces_ = 0;
  std::uint64_t whole_ = 0; ///< payload of all pieces but the last
  std::uint64_t last_ = 0;
  std::uint32_t height_ = 0;
  std::vector<Node> nodes_;     ///< the one next to the root host first
  std::vector<Endpoint> hosts_; ///< by node: its members except the root
  Endpoint root_;
  virtual_time::Timeline<Event, double> timeline_; ///< nanoseconds
  double ends_ = 0;
};

} // namespace

TreeTiming run_in_network(const Paths& paths, std::span<const topology::HostId> ranks,
                          std::uint64_t vector_bytes, const Costs& costs, std::uint64_t seed,
                          const std::function<bool()>& stop) {
  return TreeRun(paths, ranks, vector_bytes, costs, seed).run(stop);
}

} // namespace tributary::simulator::allreduce
