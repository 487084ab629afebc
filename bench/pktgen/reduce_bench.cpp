// The generator's cost of virtual leaves per contribution: nanoseconds on one thread, without ports
// and switch. A simulated root sends each leaf the right result and arms the next reduction; the
// leaves' answers go to a port that takes everything.
//
//   contribute/LEAVES         one tree, frames of 84 bytes, eight in flight
//   contribute_trees/TREES    sixteen leaves of each
#include "pktgen/scenario/reduce_frames.hpp"
#include "pktgen/traffic/reduce.hpp"
#include "tributary/wire/reduction.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tributary::pktgen::traffic {

using scenario::Reduce;

namespace {

constexpr std::uint64_t seed = 1;

/// Takes everything and keeps nothing.
class Void : public link::Port {
public:
  [[nodiscard]] std::uint32_t longest_frame() const override { return room; }
  [[nodiscard]] wire::MacAddress address() const override { return {}; }
  [[nodiscard]] std::string description() const override { return "void"; }

private:
  static constexpr std::uint32_t room = 2048;
  std::size_t transmit(std::span<Slot> slots) override { return slots.size(); }
  std::size_t replenish(std::span<Slot> slots) override {
    for (Slot& slot : slots) {
      slot.data = buffers_[next_++ % buffers_.size()].data();
    }
    return slots.size();
  }
  std::size_t take(std::span<FrameView>) override { return 0; }

  std::array<std::array<std::byte, room>, 2 * burst> buffers_{};
  std::size_t next_ = 0;
};

/// The leaves of all trees on one port, and the frames they receive from above.
class LeavesOfARoot {
public:
  explicit LeavesOfARoot(const Reduce& reduce)
      : reduce_(scenario::resolved(reduce)), operands_(reduce_, seed), sequences_(reduce_.slots),
        traffic_(reduce, one_port(), seed) {
    traffic_.start(now_);
    traffic_.begin_measuring(now_);
    for (std::uint8_t id = 0; id < reduce_.slots; ++id) {
      wire::ReductionWord first;
      first.resno = SequenceNumber{1023};
      first.pad = wire::pad_retry;
      arm(ReductionId{id}, first, {});
    }
  }
  /// All leaves of all trees get the next result, and contribute to the reduction behind it.
  void go_on() {
    const ReduceOperands::Place place = operands_.place_of(piece_);
    const ReductionId id = collective::reduction_of(piece_++, reduce_.slots);
    SequenceNumber& sequence = sequences_[id.value];
    wire::ReductionWord word;
    word.op = static_cast<std::uint8_t>(wire::Opcode::int_sum);
    word.count = reduce_.leaves + 1;
    word.resno = sequence;
    sequence = SequenceNumber{(sequence.value() + 1U) % usable_sequences};
    arm(id, word, sum_of(place.row));
  }
  [[nodiscard]] measure::Tally tally() const { return traffic_.tally(now_); }

private:
  static Placement one_port() {
    Placement placement;
    placement.ports.resize(1);
    return placement;
  }
  const wire::Payload& sum_of(std::uint32_t row) {
    sums_.resize(std::max<std::size_t>(sums_.size(), row + 1));
    if (!sums_[row]) {
      sums_[row].emplace();
      for (std::uint32_t rank = 0; rank <= reduce_.leaves; ++rank) {
        for (std::size_t word = 0; word < sums_[row]->size(); ++word) {
          (*sums_[row])[word] += operands_.operand(row, rank).payload[word];
        }
      }
    }
    return *sums_[row];
  }
  void arm(ReductionId id, wire::ReductionWord word, const wire::Payload& payload) {
    word.arm = true;
    word.seqno = sequences_[id.value];
    wire::ReductionFrame frame;
    frame.dscp = wire::dscp_root;
    frame.vni = Vni{reduce_.vni};
    frame.source_nid = Nid{Placement{}.first_nid};
    frame.reduction = id;
    frame.cookie = Cookie{reduce_.cookie};
    frame.word = word;
    frame.payload = payload;
    for (std::uint32_t tree = 0; tree < reduce_.trees; ++tree) {
      frame.tree = TreeNumber{static_cast<std::uint16_t>(tree)};
      std::array<std::byte, wire::reduction_frame_bytes> bytes;
      wire::encode(frame, bytes);
      traffic_.receive(0, {bytes.data(), static_cast<std::uint32_t>(bytes.size())}, now_);
    }
    const std::array<link::Port*, 1> ports{&port_};
    do {
      now_.value += 100;
      traffic_.generate(ports, now_);
    } while (traffic_.next_due() <= now_);
  }

  Reduce reduce_;
  ReduceOperands operands_;
  std::vector<std::optional<wire::Payload>> sums_; ///< by row
  std::vector<SequenceNumber> sequences_;          ///< by reduction id
  collective::PieceNumber piece_ = 0;
  TimeNs now_{1'000};
  Void port_;
  ReduceTraffic traffic_;
};

void contribute(benchmark::State& state, std::uint32_t leaves, std::uint32_t trees) {
  Reduce reduce;
  reduce.role = scenario::Role::leaves;
  reduce.leaves = leaves;
  reduce.trees = trees;
  reduce.retry = std::chrono::hours(1);
  LeavesOfARoot rig(reduce);
  for (int i = 0; i < 104; ++i) { // each result once for each reduction id
    rig.go_on();
  }
  for (auto _ : state) {
    rig.go_on();
  }
  const std::uint64_t contributions =
      static_cast<std::uint64_t>(state.iterations()) * leaves * trees;
  state.SetItemsProcessed(static_cast<std::int64_t>(contributions));
  const measure::Tally tally = rig.tally();
  if (tally.sum(measure::Figure::Meaning::fault) != 0 || tally.figure("results_requested") != 0 ||
      tally.figure("operations_at_leaves") < contributions) {
    state.SkipWithError("leaves did not get the results that they should");
  }
}

void contribute(benchmark::State& state) {
  contribute(state, static_cast<std::uint32_t>(state.range(0)), 1);
}
BENCHMARK(contribute)->Arg(16)->Arg(1'024)->Arg(16'384);

void contribute_trees(benchmark::State& state) {
  contribute(state, 16, static_cast<std::uint32_t>(state.range(0)));
}
BENCHMARK(contribute_trees)->Arg(64)->Arg(1'024);

} // namespace
} // namespace tributary::pktgen::traffic
