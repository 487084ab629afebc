#include "pktgen/traffic/flow_checker.hpp"

#include <algorithm>

namespace tributary::pktgen::traffic {

FlowChecker::FlowChecker(std::size_t flows, Begin begin, std::size_t memory_bytes)
    : flows_(flows), epoch_(begin == Begin::at_start ? 0 : 1) {
  const auto bytes_with = [flows](std::size_t ring) {
    return flows * (bits + ring) * sizeof(std::uint64_t);
  };
  while (ring_ < largest_ring && bytes_with(ring_ * 2) <= memory_bytes) {
    ring_ *= 2;
  }
  stride_ = bits + ring_;
  words_.resize(flows * stride_);
}

void FlowChecker::begin_again() {
  ended_ = false;
  if (epoch_ != 0) {
    ++epoch_;
    missing_ = 0;
  }
}

/// The words between the largest sequence and this larger one are new: none of them has arrived.
void FlowChecker::make_room(std::uint64_t* flow, std::uint64_t sequence) const {
  const std::uint64_t from = flow[next] == 0 ? 0 : (flow[next] - 1) / word_bits + 1;
  const std::uint64_t to = sequence / word_bits;
  if (to >= from + ring_) {
    std::fill_n(flow + bits, ring_, 0);
    return;
  }
  for (std::uint64_t word = from; word <= to; ++word) {
    flow[bits + (word & (ring_ - 1))] = 0;
  }
}

FlowChecker::Arrival FlowChecker::arrived(std::size_t flow_number, std::uint64_t sequence) {
  std::uint64_t* const flow = &words_[flow_number * stride_];
  if (flow[epoch] != epoch_) {
    if (ended_) {
      return {Order::in_order, false};
    }
    flow[epoch] = epoch_;
    flow[first] = flow[next] == 0 ? sequence : flow[next];
  }
  std::uint64_t& word = flow[bits + (sequence / word_bits & (ring_ - 1))];
  const std::uint64_t bit = std::uint64_t{1} << sequence % word_bits;

  if (sequence >= flow[next]) {
    const std::uint64_t expected = std::max(flow[next], flow[first]);
    if (sequence - expected >= largest_jump) {
      return {Order::absurd, false};
    }
    if (ended_) {
      return {Order::in_order, false};
    }
    make_room(flow, sequence);
    missing_ += sequence - expected;
    flow[next] = sequence + 1;
    word |= bit;
    return {Order::in_order, true};
  }
  const bool counts = sequence >= flow[first];
  if (sequence / word_bits + ring_ <= (flow[next] - 1) / word_bits) {
    return {Order::too_old, counts};
  }
  if ((word & bit) != 0) {
    return {Order::duplicate, counts};
  }
  word |= bit;
  missing_ -= counts ? 1 : 0;
  return {Order::reordered, counts};
}

} // namespace tributary::pktgen::traffic
