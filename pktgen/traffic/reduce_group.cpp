#include "pktgen/traffic/reduce_group.hpp"

#include "pktgen/scenario/reduce_frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tributary::pktgen::traffic {
namespace {

/// Operations meant for the last moments before the end are still carried out: they are not missed.
constexpr std::uint64_t grace_ns = 10'000'000;

} // namespace

ReduceGroup::ReduceGroup(const scenario::Reduce& reduce, std::uint64_t seed)
    : reduce_(scenario::resolved(reduce)), operands_(reduce_, seed), limits_(reduce.trees),
      due_(reduce.trees), base_(reduce.trees), first_measured_(reduce.trees),
      mismatches_(std::size_t{reduce.trees} * reduce_.slots) {
  if (reduce_.tampering.wrong_opcode > 0 && !operands_.have_other_opcodes()) {
    throw std::invalid_argument("wrong_opcode: wide frames of reproducible sums have one operator, "
                                "and no wrong one; leave the key out, or give another operation");
  }
}

TimeNs ReduceGroup::time_of(std::uint64_t nth) const {
  // 64 bits of mantissa: exact to the nanosecond for centuries.
  const long double ns = static_cast<long double>(nth) * 1e9L / reduce_.rate;
  constexpr long double latest = 0x1p62L; // at the slowest rates, the next one is beyond any run
  return started_ + static_cast<std::uint64_t>(std::min(ns, latest));
}

std::uint64_t ReduceGroup::first_after(TimeNs now) const {
  const long double ns = static_cast<long double>(elapsed_ns(now, started_)) + 1;
  auto nth = static_cast<std::uint64_t>(ns * reduce_.rate / 1e9L);
  // Rounding may have missed it by one or two.
  while (time_of(nth) <= now) {
    ++nth;
  }
  while (nth > 0 && time_of(nth - 1) > now) {
    --nth;
  }
  return nth;
}

void ReduceGroup::start(TimeNs now) {
  started_ = now;
  ended_ = false;
  missed_ = 0;
  nth_ = 0;
  last_ = no_end;
  for (std::uint32_t tree = 0; tree < trees(); ++tree) {
    base_[tree] = due_[tree];
    limits_[tree] = is_open_loop() ? due_[tree] : no_end;
  }
  next_due_ = is_open_loop() ? now : never;
}

void ReduceGroup::end(TimeNs now, const std::vector<std::uint64_t>& scheduled) {
  ended_ = true;
  next_due_ = never;
  for (std::uint32_t tree = 0; tree < trees(); ++tree) {
    std::uint64_t last = scheduled[tree];
    if (is_open_loop() && last < due_[tree]) {
      if (elapsed_ns(now, intended(tree, last)) <= grace_ns) {
        last = due_[tree];
      } else {
        missed_ += due_[tree] - last;
      }
    }
    limits_[tree] = last;
    due_[tree] = last;
  }
}

void ReduceGroup::begin_measuring(TimeNs now, const std::vector<std::uint64_t>& scheduled) {
  first_measured_ = scheduled;
  if (is_open_loop()) {
    due_ = base_ = limits_ = scheduled;
    started_ = next_due_ = now;
    nth_ = 0;
    last_ = quota_;
  } else if (quota_ != no_end) {
    for (std::uint32_t tree = 0; tree < trees(); ++tree) {
      limits_[tree] = scheduled[tree] + quota_ / trees() + (tree < quota_ % trees() ? 1 : 0);
    }
  }
  missed_ = 0;
  accounts_ = {};
}

bool ReduceGroup::may_mismatch(Mismatch& state, bool at_root, bool mismatch) const {
  if (!alone_) {
    return reduce_.tampering.wrong_opcode > 0; // the member that altered it may be elsewhere
  }
  if (at_root) {
    state.reported = state.expected && mismatch;
    state.expected = false;
  }
  return state.reported;
}

/// Whether it is bit for bit the expected result.
bool ReduceGroup::is_right(std::uint32_t row, const collective::Completion& completion,
                           Arrived& arrived) {
  if (arrived.row != row) {
    arrived.row = row;
    arrived.right = operands_.is_right(row, completion, arrived.vector);
  }
  return arrived.right;
}

void ReduceGroup::check_new(std::uint32_t tree, std::uint32_t rank,
                            const ReduceOperands::Place& place,
                            const collective::Completion& completion, Arrived& arrived) {
  const std::size_t key = std::size_t{tree} * reduce_.slots +
                          collective::reduction_of(completion.piece, reduce_.slots).value;
  const bool mismatch = completion.rc == wire::ResultCode::op_mismatch;
  const bool expected = may_mismatch(mismatches_[key], rank == 0, mismatch);
  const bool right = mismatch ? expected : is_right(place.row, completion, arrived);
  if (!is_measured(tree, place.operation)) {
    return;
  }
  ++accounts_.results_checked;
  accounts_.mismatches_reported += mismatch && right && rank == 0 ? 1 : 0;
  if (!right) {
    ++accounts_.wrong_results;
    if (accounts_.remarks.size() < measure::Tally::most_remarks) {
      accounts_.remarks.push_back(fmt::format(
          "tree {}: rank {} got a wrong result for piece {} of operation {}: {}, count {} of {}",
          reduce_.first_tree + tree, rank, completion.piece, place.operation,
          wire::name_of(completion.rc), completion.count, reduce_.leaves + 1));
    }
  }
}

} // namespace tributary::pktgen::traffic
