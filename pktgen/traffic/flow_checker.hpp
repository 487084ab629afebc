// Which frames of many flows arrived, by their sequence numbers: once, again, out of order, or not
// at all.
//
//   in_order   the sequence is larger than all before it; what it skips is missing for now
//   reordered  first copy, but a larger sequence came before (RFC 4737, 3.3)
//   duplicate  came before
//   too_old    so far behind the largest that it is no longer known whether it came before. It
//              counts as neither: `missing` may be too large by their number
//   absurd     2^32 or more ahead of the largest: no sequence number of ours
//
// For each flow the checker keeps the next sequence, and one bit for each of the last `window()`
// and some more sequences before it. All memory is allocated at construction.
//
//   per flow   next | first | epoch | bits (a ring of words)
//
// Two ways of counting what is missing:
//
//   from the start     flows begin with sequence 0, and what precedes the first frame is missing.
//                      For callers that know what was sent, and so can subtract.
//   from what is seen  flows begin with whatever arrives first, and at `begin_again` with the
//                      sequence after the largest so far. For receivers that know nothing of the
//                      sender: losses at the end of a flow, and flows lost whole, are not seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::pktgen::traffic {

enum class Order : std::uint8_t { in_order, reordered, duplicate, too_old, absurd };

class FlowChecker {
public:
  enum class Begin : std::uint8_t { at_start, where_seen };

  /// Takes `memory_bytes` and no more, unless even the smallest window takes more: 40 bytes a flow.
  FlowChecker(std::size_t flows, Begin begin, std::size_t memory_bytes = std::size_t{32} << 20);

  struct Arrival {
    Order order = Order::in_order;
    /// Whether it belongs to what is counted since `begin_again`; always with Begin::at_start.
    bool counts = true;
  };
  /// A frame of flow `flow < flows()` arrived.
  Arrival arrived(std::size_t flow, std::uint64_t sequence);

  /// Nothing is missing now. With Begin::where_seen, sequences up to the largest seen do not count
  /// any more.
  void begin_again();
  /// Sequences that arrive after this and are larger than any before do not count and are
  /// forgotten; missing ones below may still arrive. Ends with `begin_again`.
  void end() { ended_ = true; }

  /// Number of sequences that were skipped and have not arrived since: with Begin::where_seen among
  /// those that count, with Begin::at_start since construction.
  [[nodiscard]] std::uint64_t missing() const { return missing_; }
  [[nodiscard]] std::size_t flows() const { return flows_; }
  /// At least this many sequences before the largest are remembered.
  [[nodiscard]] std::size_t window() const { return (ring_ - 1) * word_bits; }

private:
  static constexpr std::size_t word_bits = 64;
  static constexpr std::size_t smallest_ring = 2;
  static constexpr std::size_t largest_ring = 1024;
  static constexpr std::uint64_t largest_jump = std::uint64_t{1} << 32;
  enum Place : std::uint8_t { next, first, epoch, bits };

  void make_room(std::uint64_t* flow, std::uint64_t sequence) const;

  std::size_t flows_;
  std::size_t ring_ = smallest_ring; ///< words of bits, a power of two
  std::size_t stride_;
  std::vector<std::uint64_t> words_;
  /// Flows whose epoch is another one have not been counted yet. 0 with Begin::at_start.
  std::uint64_t epoch_;
  std::uint64_t missing_ = 0;
  bool ended_ = false;
};

} // namespace tributary::pktgen::traffic
