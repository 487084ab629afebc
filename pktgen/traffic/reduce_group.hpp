// What all members of a reduce traffic share: which operations are due, whose results are right,
// and the accounting. One of it in each traffic; reduce_port.hpp holds the members.
//
// Operation g of the open loop, over all trees, is meant for start + g / rate and goes to tree
// g mod T. The closed loop has no such times: an operation begins as soon as its tree's window has
// room for it.
#pragma once

#include "pktgen/measure/tally.hpp"
#include "pktgen/scenario/scenario.hpp"
#include "pktgen/traffic/reduce_operands.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/result_code.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tributary::pktgen::traffic {

/// What a measurement counts; all of it begins at 0 with the measurement.
struct ReduceAccounts {
  measure::Volume sent;
  measure::Volume received;
  std::uint64_t operations = 0; ///< finished at the root
  std::uint64_t operations_at_leaves = 0;
  // Completed at the root. Each counts with all its frames or not at all: a reduction that was in
  // flight when the measurement began is not counted.
  std::uint64_t pieces = 0;
  std::uint64_t pieces_by_one_frame = 0;
  std::uint64_t pieces_by_several_frames = 0;
  std::uint64_t pieces_by_single_contributions = 0;
  std::uint64_t frames_of_pieces = 0; ///< that completed them, repetitions not counted
  std::uint64_t payload_bytes = 0;    ///< of their elements, as stored in a member's memory
  std::uint64_t payload_bytes_at_leaves = 0;
  std::uint64_t results_checked = 0; ///< at all members
  std::uint64_t wrong_results = 0;
  std::uint64_t mismatches_reported = 0; ///< pieces that ended as they must after a wrong opcode
  measure::Volume contributions;         ///< frames out of leaf ports
  measure::Volume root_frames;           ///< frames into the root's port
  std::uint64_t overruns = 0;            ///< frames that arrived faster than members could take
                                         ///< them
  statistics::Histogram at_root;
  statistics::Histogram at_leaves;
  std::vector<std::string> remarks;

  /// `element_bytes`: of its elements.
  void add_piece(const collective::Completion& completion, std::uint32_t element_bytes) {
    ++pieces;
    payload_bytes += element_bytes;
    frames_of_pieces += completion.frames;
    if (completion.frames == 1) {
      ++pieces_by_one_frame;
    } else if (completion.largest_frame > 1) {
      ++pieces_by_several_frames;
    } else {
      ++pieces_by_single_contributions;
    }
  }
};

class ReduceGroup {
public:
  static constexpr std::uint64_t no_end = ~std::uint64_t{0};

  ReduceGroup(const scenario::Reduce& reduce, std::uint64_t seed);

  [[nodiscard]] const scenario::Reduce& settings() const { return reduce_; }
  [[nodiscard]] std::uint32_t trees() const { return reduce_.trees; }
  [[nodiscard]] bool is_open_loop() const { return reduce_.rate > 0; }
  [[nodiscard]] ReduceOperands& operands() { return operands_; }
  [[nodiscard]] const ReduceOperands& operands() const { return operands_; }

  /// Whether all members are here, so that this process alone determines the results.
  void set_alone(bool alone) { alone_ = alone; }

  // Which operations may begin.

  /// Begins, or continues after `end` with the operations behind those that ended.
  void start(TimeNs now);
  /// Open loop: takes up the operations that are due; calls `f(tree)` for each tree that got
  /// some. Its time depends on the number of trees, not of operations (a rate may be far above what
  /// is possible).
  template <typename F> void take_up_due(TimeNs now, F&& f) {
    if (next_due_ > now) {
      return;
    }
    const std::uint64_t first = std::exchange(nth_, std::min(first_after(now), last_));
    const std::uint64_t count = nth_ - first;
    next_due_ = nth_ == last_ ? never : time_of(nth_);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, trees()); ++i) {
      const auto tree = static_cast<std::uint32_t>((first + i) % trees());
      due_[tree] += count / trees() + (i < count % trees() ? 1 : 0);
      limits_[tree] = due_[tree];
      f(tree);
    }
  }
  /// When `take_up_due` has something to do.
  [[nodiscard]] TimeNs next_due() const { return next_due_; }
  /// The first operation of a tree that may not begin yet.
  [[nodiscard]] std::uint64_t limit(std::uint32_t tree) const { return limits_[tree]; }
  /// When the open loop wants an operation to begin.
  [[nodiscard]] TimeNs intended(std::uint32_t tree, std::uint64_t operation) const {
    // Some members may still have to begin what others began before the measurement.
    return operation < base_[tree] ? started_ : time_of((operation - base_[tree]) * trees() + tree);
  }
  /// From now on only operations begin that some member has scheduled already: `scheduled` is their
  /// number by tree. Earlier operations of the open loop that no member took up are missed.
  void end(TimeNs now, const std::vector<std::uint64_t>& scheduled);
  [[nodiscard]] bool ended() const { return ended_; }

  // Accounting.

  /// Limits the operations of the next measurement, dealt to the trees in turn; `no_end`: no limit.
  void set_quota(std::uint64_t operations) { quota_ = operations; }
  /// What begins from now on is measured: operations that no member has scheduled yet, `scheduled`
  /// by tree. All members agree on which those are, whenever each begins them. The schedule of the
  /// open loop restarts with them: otherwise, at a rate far above what is possible, the backlog of
  /// the warm-up would leave no time for what is measured.
  void begin_measuring(TimeNs now, const std::vector<std::uint64_t>& scheduled);
  [[nodiscard]] bool is_measured(std::uint32_t tree, std::uint64_t operation) const {
    return operation >= first_measured_[tree];
  }
  /// Whether frames that pass now are counted.
  [[nodiscard]] bool is_counting() const { return !ended_; }
  [[nodiscard]] ReduceAccounts& accounts() { return accounts_; }
  [[nodiscard]] const ReduceAccounts& accounts() const { return accounts_; }
  [[nodiscard]] std::uint64_t missed() const { return missed_; }

  /// The piece in flight in this reduction was contributed to with a wrong opcode.
  void expect_mismatch(std::uint32_t tree, ReductionId id) {
    mismatches_[std::size_t{tree} * reduce_.slots + id.value].expected = true;
  }
  /// The result in a frame, and the outcome of comparing it: a frame that many leaves receive is
  /// compared once, as long as they assign it to the same row.
  struct Arrived {
    static constexpr std::uint32_t no_row = ~std::uint32_t{0};
    collective::WideView vector;
    std::uint32_t row = no_row; ///< that its bits were compared with
    bool right = false;         ///< whether they were that row's
  };
  /// Whether that is the row's result, found so before.
  [[nodiscard]] static bool is_known_right(const ReduceOperands::Place& place,
                                           const collective::Completion& completion,
                                           const Arrived& arrived) {
    return arrived.row == place.row && arrived.right &&
           completion.rc != wire::ResultCode::op_mismatch;
  }
  /// Checks the result of a member. Every piece completes at the root first, which decides whether
  /// it may end as a mismatch.
  void check(std::uint32_t tree, std::uint32_t rank, const ReduceOperands::Place& place,
             const collective::Completion& completion, Arrived& arrived) {
    if (rank != 0 && is_known_right(place, completion, arrived)) [[likely]] {
      accounts_.results_checked += is_measured(tree, place.operation) ? 1 : 0;
      return;
    }
    check_new(tree, rank, place, completion, arrived);
  }

private:
  void check_new(std::uint32_t tree, std::uint32_t rank, const ReduceOperands::Place& place,
                 const collective::Completion& completion, Arrived& arrived);
  [[nodiscard]] bool is_right(std::uint32_t row, const collective::Completion& completion,
                              Arrived& arrived);
  /// State of one reduction id. A leaf may be at the next piece while another still has to check
  /// the last.
  struct Mismatch {
    bool expected = false; ///< of the piece in flight at the root
    bool reported = false; ///< by the result that the root sent last
  };
  [[nodiscard]] bool may_mismatch(Mismatch& state, bool at_root, bool mismatch) const;
  [[nodiscard]] TimeNs time_of(std::uint64_t nth) const;
  /// The first one of the open loop that is meant for a time after `now`.
  [[nodiscard]] std::uint64_t first_after(TimeNs now) const;

  scenario::Reduce reduce_;
  ReduceOperands operands_;
  std::vector<std::uint64_t> limits_; ///< by tree
  std::vector<std::uint64_t> due_;    ///< by tree; open loop: operations taken up
  std::vector<std::uint64_t> base_;   ///< by tree: the first operation of the schedule
  TimeNs started_;
  TimeNs next_due_ = never;
  std::uint64_t nth_ = 0; ///< of the schedule: the next one
  std::uint64_t quota_ = no_end;
  std::uint64_t last_ = no_end; ///< where the measured schedule ends
  bool ended_ = true;
  bool alone_ = true;
  std::vector<std::uint64_t> first_measured_; ///< by tree
  std::uint64_t missed_ = 0;
  std::vector<Mismatch> mismatches_; ///< by tree and reduction id
  ReduceAccounts accounts_;
};

} // namespace tributary::pktgen::traffic
