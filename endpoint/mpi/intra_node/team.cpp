#include "endpoint/mpi/intra_node/team.hpp"

#include "endpoint/mpi/model/arithmetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tributary::mpi::intra_node {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

/// The node whose mark all nodes get.
std::uint32_t speaker(const Call& call) {
  return call.what == Call::What::broadcast ? call.from_node : 0;
}

/// Elements after those of a step. A speaking node gets no other's mark; if several take themselves
/// for the root's node, their counts differ, which the fabric compares.
std::size_t tail_elements(const Call& call) { return speaker(call) == 0 ? 0 : 1; }

} // namespace

void Team::lead(std::uint32_t node, std::vector<int> ranks, std::unique_ptr<FabricGroup> group,
                milliseconds suspect_after, milliseconds late_after) {
  node_ = node;
  ranks_ = std::move(ranks);
  group_ = std::move(group);
  suspect_after_ = suspect_after;
  late_after_ = late_after;
}

void Team::watch(const Watch::Place& place, Watch::Reporter reporter) {
  watch_ = std::make_unique<Watch>(place, arena_, std::move(reporter));
}

bool Team::enter() {
  if (!arena_.enter(rank_, calls_ + 1)) {
    return false;
  }
  ++calls_;
  return true;
}

bool Team::is_usable() const {
  return !arena_.is_frozen() && !arena_.is_vacated() &&
         (watch_ == nullptr || (!watch_->is_frozen() && watch_->is_connected()));
}

void Team::say_left() {
  arena_.vacate();
  watch_->leave();
}

void Team::run(const Call& call, const node::Idle& idle) {
  rescued_ = false;
  const std::size_t frame_bytes = std::max<std::size_t>(call.plan.frame_bytes, 1);
  const std::size_t mark = mark_elements(call.plan); // in front of the elements of each step
  const std::size_t mark_bytes = mark * frame_bytes;
  const std::size_t tail = tail_elements(call);
  const std::size_t most = (arena_.part_bytes() - mark_bytes) / frame_bytes - tail;
  std::size_t at = 0;
  do {
    const std::size_t count = std::min(most, call.elements - at);
    ++step_;
    if (left_early_) { // its contribution to the previous step may be there still
      arena_.wait_for_result(step_ - 1, idle);
    }
    if (call.in != nullptr) {
      to_frames(call.plan, call.in + at * call.plan.user_bytes, count,
                arena_.part(rank_) + mark_bytes);
    }
    arena_.arrive(rank_, step_, call.terms);
    if (leads()) {
      lead_step(call, mark + count + tail, idle);
    }
    left_early_ = !leads() && call.out == nullptr && call.what != Call::What::barrier;
    if (!left_early_) {
      arena_.wait_for_result(step_, idle);
    }
    const std::size_t first = std::max(at, call.take_from);
    const std::size_t end = std::min(at + count, call.take_from + call.take);
    if (call.out != nullptr && first < end) {
      from_frames(call.plan, arena_.result(step_) + mark_bytes + (first - at) * frame_bytes,
                  end - first, call.out + (first - call.take_from) * call.plan.user_bytes);
    }
    at += count;
  } while (at < call.elements);
  if (call.keeps_ids != 0 && leads() && !group_->keep_ids(call.keeps_ids)) {
    watch_->report_failure(group_->error());
  }
}

void Team::lead_step(const Call& call, std::size_t elements, const node::Idle& idle) {
  wait_for_all(call, idle);
  compare_terms(call);
  add_up(call, elements);
  if (!through_fabric(call, elements, idle)) {
    group_->give_up();
    if (call.what == Call::What::broadcast && call.from_node != node_) {
      fill_zero(arena_.part(0), elements);
    }
    watch_->complete(step_, call.plan, elements, arena_.part(0), arena_.result(step_), idle);
    rescued_ = true;
  }
  check_mark(call);
  arena_.finish(step_);
}

void Team::wait_for_all(const Call& call, const node::Idle& idle) {
  const auto began = steady_clock::now();
  arena_.wait_for_all(step_, [&] {
    idle();
    for (std::uint32_t rank = 0; !said_late_ && rank < arena_.ranks(); ++rank) {
      if (steady_clock::now() - began >= late_after_ && !arena_.has_arrived(rank, step_)) {
        said_late_ = true;
        watch_->say(fmt::format(
            "rank {} has not made a call that rank {} on the same node has waited in for {} s, {}; "
            "it keeps waiting, forever if rank {} has made another call instead",
            ranks_[rank], ranks_[0],
            std::chrono::duration_cast<std::chrono::seconds>(late_after_).count(),
            text_of(call.terms), ranks_[rank]));
      }
    }
  });
}

void Team::compare_terms(const Call& call) {
  for (std::uint32_t rank = 1; rank < arena_.ranks(); ++rank) {
    if (const Terms& theirs = arena_.terms(rank); theirs != call.terms) {
      watch_->disagree(fmt::format("rank {} called {}, and rank {} on the same node {}",
                                   ranks_[rank], text_of(theirs), ranks_[0], text_of(call.terms)));
    }
  }
}

void Team::check_mark(const Call& call) {
  if (mark_elements(call.plan) > 0 &&
      read_mark(call.plan, arena_.result(step_)) != fingerprint(call.terms)) {
    differ_from_other_nodes(call);
  }
}

void Team::differ_from_other_nodes(const Call& call) {
  watch_->disagree(fmt::format("rank {} called {}, and ranks on another node did not", ranks_[0],
                               text_of(call.terms)));
}

void Team::add_up(const Call& call, std::size_t elements) {
  std::byte* const total = arena_.part(0);
  const std::size_t mark = mark_elements(call.plan);
  const std::size_t mark_bytes = mark * call.plan.frame_bytes;
  if (call.what == Call::What::broadcast) {
    if (call.from_node == node_ && call.from_rank != 0) {
      std::memcpy(total + mark_bytes, arena_.part(call.from_rank) + mark_bytes, elements - mark);
    }
  } else {
    for (std::uint32_t rank = 1; rank < arena_.ranks(); ++rank) {
      // A plan's type and operator always exist.
      static_cast<void>(combine(call.plan.type, call.plan.op, total + mark_bytes,
                                arena_.part(rank) + mark_bytes, elements - mark));
    }
  }
  if (mark > 0) {
    write_mark(call.plan, fingerprint(call.terms), speaker(call) == node_, total);
  }
}

bool Team::through_fabric(const Call& call, std::size_t elements, const node::Idle& idle) {
  using Outcome = FabricGroup::Outcome;
  if (!watch_->begin(step_, call.terms)) {
    return false;
  }
  std::byte* const result = arena_.result(step_);
  Outcome outcome = Outcome::failed;
  switch (call.what) {
  case Call::What::reduction:
    outcome = group_->begin_reduction(call.plan, arena_.part(0), result, elements);
    break;
  case Call::What::broadcast:
    if (call.from_node == node_) {
      std::memcpy(result, arena_.part(0), elements);
    }
    outcome = group_->begin_broadcast(result, elements, call.from_node);
    break;
  case Call::What::barrier: outcome = group_->begin_barrier(); break;
  }
  // Checks now and then whether others have found a fault.
  const auto began = steady_clock::now();
  auto next_suspicion = began + suspect_after_;
  for (milliseconds look = node::before_idle; outcome == Outcome::not_yet;
       look = node::between_idle) {
    outcome = group_->wait(look);
    if (outcome != Outcome::not_yet) {
      break;
    }
    if (watch_->is_frozen()) {
      return false;
    }
    idle();
    watch_->progress(group_->pieces());
    if (const auto now = steady_clock::now(); now >= next_suspicion) {
      next_suspicion = now + suspect_after_;
      watch_->suspect(
          step_,
          fmt::format("a reduction to which all nodes have contributed got no result within "
                      "{:.1f} s; a switch or a link is down (node {}: {})",
                      std::chrono::duration<double>(now - began).count(), node_, group_->state()));
    }
  }
  if (outcome == Outcome::differs) {
    differ_from_other_nodes(call);
  }
  if (outcome == Outcome::failed) {
    watch_->report_failure(group_->error());
    return false;
  }
  return watch_->commit(step_, elements * call.plan.frame_bytes);
}

void Team::leave() {
  if (!leads()) {
    return;
  }
  if (watch_ != nullptr && watch_->is_frozen()) {
    group_->give_up();
  } else {
    group_->close();
  }
  watch_.reset();
}

} // namespace tributary::mpi::intra_node
