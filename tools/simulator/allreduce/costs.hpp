// What a frame, a byte and a message cost, and where each figure is from.
//
// Every algorithm is charged by the same figures. A host sends and receives with one processor, and
// a switch works with `switch_cores`; the payload of a frame is the same for all senders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tributary::simulator::allreduce {

/// A figure and its source: a measurement, an assumption, or the command line.
struct Cost {
  double value = 0;
  std::string source;
};

/// Times in nanoseconds; those "a byte" in nanoseconds per byte of payload.
struct Costs {
  Cost link_gbps;              ///< every link, in each direction
  Cost host_link_latency;      ///< propagation, host to switch
  Cost link_latency;           ///< propagation, switch to switch
  Cost switch_latency;         ///< a frame through an idle switch, without its time on the wire
  Cost host_wake;              ///< from a frame's arrival at a waiting host to its processing
  Cost send_message;           ///< the processor's time to send a message of one frame or many
  Cost send_frame;             ///< and for each of its frames
  Cost send_byte;              ///< and for each byte
  Cost receive_message;        ///< the same to receive
  Cost receive_frame;          ///
  Cost receive_byte;           ///
  Cost add_byte;               ///< to add an element of a vector to another
  Cost switch_contribute;      ///< a switch's core: to take a contribution
  Cost switch_contribute_byte; ///< and for each byte
  Cost switch_copy;            ///< to send out one copy of a result
  Cost switch_forward;         ///< to pass a unicast frame on
  std::uint32_t switch_cores = 1;
  std::uint32_t payload = 8192; ///< bytes of the vector in a frame
  std::uint32_t slots = 128;    ///< reductions of a tree in flight

  /// Headers, FCS, preamble and gap of a frame.
  static constexpr std::uint32_t frame_overhead = 62 + 24;

  /// Nanoseconds per payload byte on a link.
  [[nodiscard]] double ns_per_byte() const { return 8 / link_gbps.value; }
  [[nodiscard]] std::uint64_t frames(std::uint64_t bytes) const {
    return bytes <= payload ? 1 : (bytes + payload - 1) / payload;
  }
  [[nodiscard]] std::uint64_t wire_bytes(std::uint64_t bytes) const {
    return bytes + frames(bytes) * frame_overhead;
  }
};

/// The figures measured on the machine of docs/benchmarks/scale.md, and assumptions.
[[nodiscard]] Costs default_costs();

/// Calls `f(name, unit, member)` for each figure, in the order of the table and of the command
/// line; an option has the figure's name, with dashes.
template <typename F> void for_each_cost(F&& f) {
  f("link_gbps", "Gb/s", &Costs::link_gbps);
  f("host_link_latency", "ns", &Costs::host_link_latency);
  f("link_latency", "ns", &Costs::link_latency);
  f("switch_latency", "ns", &Costs::switch_latency);
  f("host_wake", "ns", &Costs::host_wake);
  f("send_message", "ns", &Costs::send_message);
  f("send_frame", "ns", &Costs::send_frame);
  f("send_byte", "ns/B", &Costs::send_byte);
  f("receive_message", "ns", &Costs::receive_message);
  f("receive_frame", "ns", &Costs::receive_frame);
  f("receive_byte", "ns/B", &Costs::receive_byte);
  f("add_byte", "ns/B", &Costs::add_byte);
  f("switch_contribute", "ns", &Costs::switch_contribute);
  f("switch_contribute_byte", "ns/B", &Costs::switch_contribute_byte);
  f("switch_copy", "ns", &Costs::switch_copy);
  f("switch_forward", "ns", &Costs::switch_forward);
}

} // namespace tributary::simulator::allreduce
