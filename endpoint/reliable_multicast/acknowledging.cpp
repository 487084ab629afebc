// Every member: sequences that it hears, its acknowledgements, and their results.
#include "endpoint/reliable_multicast/acknowledgement.hpp"
#include "endpoint/reliable_multicast/member.hpp"

#include "endpoint/collective/notice.hpp"
#include "tributary/wire/opcode.hpp"

#include <algorithm>

namespace tributary::reliable_multicast {

using collective::TreeIndex;

namespace {

/// Whether the remote offset of a frame from above is the sum of acknowledgements' signatures, and
/// not a flag of the root.
bool is_sum(std::uint64_t signature) { return signature > calls_roll; }

} // namespace

void Member::receive_from_above(const wire::ReductionFrame& frame, TreeIndex tree, TimeNs now) {
  const collective::GroupParameters& group = channel_.parameters;
  const wire::ReductionWord& word = frame.word;
  if (group.root_nid && frame.source_nid != *group.root_nid) {
    ++statistics_.foreign;
    return;
  }
  root_heard_at_ = now;
  if (word.seqno == pre_arm_sequence) {
    take_verdict(frame);
    return;
  }
  if (failure_) {
    return;
  }
  Slot& slot = slots_[channel_.place_of(frame.reduction)];
  if (word.count > 0) {
    const bool is_signed = group.in_switch && is_sum(frame.signature);
    const auto window =
        window_of_result(slot, frame.payload, word.count, frame.signature, is_signed);
    if (window == slot.window) {
      take_result(slot, frame.payload, word.resno, now);
    } else if (!window && !word.retry()) {
      ++statistics_.refused;
    }
  }
  if (!believes(slot, word.seqno, tree, now)) {
    ++statistics_.reordered;
    return;
  }
  hear(slot, word.seqno, tree, now);
  const bool of_former = word.retry() && waits_for_former(slot, frame);
  if (frame.signature == calls_roll) {
    answer_roll_call(slot, of_former);
  } else if (of_former) {
    acknowledge(slot, slot.window - slots_.size(), {}, now);
  } else {
    consider(slot, now);
  }
}

std::optional<std::uint64_t> Member::window_of_result(const Slot& slot, const wire::Payload& bits,
                                                      ContributionCount count,
                                                      std::uint64_t signatures,
                                                      bool is_signed) const {
  const auto named = window_in(bits);
  if (count != channel_.parameters.size || !named) {
    return std::nullopt;
  }
  const std::uint64_t former = slot.window - std::min<std::uint64_t>(slot.window, slots_.size());
  for (const std::uint64_t window : {slot.window, former}) {
    if (static_cast<std::uint32_t>(window) == *named) {
      const bool all_once = !is_signed || !channel_.parameters.checks() ||
                            all_members_.expected(window) == signatures;
      return all_once ? std::optional(window) : std::nullopt;
    }
  }
  return std::nullopt;
}

bool Member::waits_for_former(const Slot& slot, const wire::ReductionFrame& frame) const {
  if (slot.window < slots_.size()) {
    return false;
  }
  const std::uint64_t former = slot.window - slots_.size();
  if (frame.word.count == 0) {
    return frame.word.resno == collective::no_sequence && former < slots_.size();
  }
  const auto named = window_in(frame.payload);
  if (!named) {
    return false;
  }
  const bool complete = holes_in(frame.payload, most_window_chunks).empty();
  const std::uint64_t waited = *named + (complete ? slots_.size() : 0);
  return static_cast<std::uint32_t>(waited) == static_cast<std::uint32_t>(former);
}

bool Member::believes(const Slot& slot, SequenceNumber sequence, TreeIndex tree, TimeNs now) const {
  if (!slot.heard || collective::is_newer(sequence, *slot.heard)) {
    return true;
  }
  if (sequence == *slot.heard) {
    return !slot.heard_on.contains(tree);
  }
  return elapsed_ns(now, slot.heard_at) >= channel_.parameters.result_timeout_ns;
}

void Member::hear(Slot& slot, SequenceNumber sequence, TreeIndex tree, TimeNs now) {
  if (slot.heard != sequence) {
    slot.heard = sequence;
    slot.heard_on.clear();
    slot.acknowledged_on.clear();
    slot.acknowledged = false;
  }
  slot.heard_on.insert(tree);
  slot.heard_at = now;
}

bool Member::may_acknowledge(const Slot& slot) const {
  for (TreeIndex tree = 0; tree < channel_.tree_count(); ++tree) {
    if (slot.heard_on.contains(tree) && !slot.acknowledged_on.contains(tree)) {
      return slot.state != WindowState::absent;
    }
  }
  return false;
}

TimeNs Member::gap_ends_at(const Slot& slot) const {
  if (slot.state != WindowState::open || slot.acknowledged || !may_acknowledge(slot)) {
    return never;
  }
  return slot.gap_since + slot.gap_ns;
}

void Member::consider(Slot& slot, TimeNs now) {
  if (!may_acknowledge(slot)) {
    return;
  }
  const collective::GroupParameters& group = channel_.parameters;
  if (elapsed_ns(now, slot.heard_at) >= group.collective_timeout_ns) {
    slot.heard_on.clear(); // the engines have let go: wait for the next arm
    return;
  }
  if (slot.state == WindowState::open && !slot.acknowledged) {
    if ((slot.missing - slot.lost).empty()) {
      ++statistics_.overtaken;
    } else if (now >= gap_ends_at(slot)) {
      ++statistics_.gaps;
      slot.gap_since = now;
      slot.gap_ns = std::max(
          slot.gap_ns, std::min(2 * slot.gap_ns, collective::retry_backoff_limit * group.retry_ns));
    } else {
      return;
    }
    slot.measured = false;
    ++statistics_.with_holes;
  }
  acknowledge(slot, slot.window, slot.missing, now);
}

void Member::acknowledge(Slot& slot, std::uint64_t window, const ChunkSet& missing, TimeNs now) {
  const wire::Payload payload = acknowledgement(window, missing);
  const SequenceNumber sequence = *slot.heard;
  slot.acknowledged = true;
  slot.acknowledged_full |= window == slot.window && missing.empty();
  if (!is_root() && slot.state != WindowState::absent) {
    restart_request(slot, now);
  }
  ++statistics_.acknowledged;
  for (TreeIndex tree = 0; tree < channel_.tree_count(); ++tree) {
    // At the root the last acknowledgement completes a round, and opens another sequence.
    if (slot.heard != sequence) {
      break;
    }
    if (slot.heard_on.contains(tree) && !slot.acknowledged_on.contains(tree)) {
      slot.acknowledged_on.insert(tree);
      send_up(slot, tree, window, payload);
      if (is_root()) {
        count_in(slot, tree, payload, 1, collective::signature_of_piece(signature_base_, window),
                 now);
      }
    }
  }
  if (slot.window == window && slot.operation != nullptr) {
    settle(*slot.operation);
  }
}

void Member::send_up(const Slot& slot, TreeIndex tree, std::uint64_t window,
                     const wire::Payload& payload) {
  const collective::GroupParameters& group = channel_.parameters;
  if (is_root() && !(group.in_switch && group.armed)) {
    return; // its own is counted here
  }
  const std::uint64_t signature =
      signature_base_ == 0 ? 0 : collective::signature_of_piece(signature_base_, window);
  channel_.send(tree, id_of(slot),
                {.seqno = *slot.heard,
                 .op = static_cast<std::uint8_t>(wire::Opcode::bit_and),
                 .count = 1,
                 .resno = *slot.heard},
                payload, signature);
}

void Member::hear_roll_call(Slot& slot) {
  slot.acknowledged = true;
  for (TreeIndex tree = 0; tree < channel_.tree_count(); ++tree) {
    slot.acknowledged_on.insert(tree);
  }
}

void Member::answer_roll_call(Slot& slot, bool of_former) {
  hear_roll_call(slot);
  RollAnswer answer;
  std::uint64_t window = slot.window;
  if (of_former) {
    window -= slots_.size();
  } else if (slot.state == WindowState::absent) {
    return; // not in the call: the roll call is there to find that
  } else {
    answer = {.missing = slot.missing.size(),
              .first_missing = slot.missing.empty() ? 0 : slot.missing.lowest(),
              .call = slot.call};
  }
  for (TreeIndex tree = 0; tree < channel_.tree_count(); ++tree) {
    if (slot.heard_on.contains(tree)) {
      send_up(slot, tree, window, payload_of(answer, window));
    }
  }
}

void Member::take_result(Slot& slot, const wire::Payload& bits, SequenceNumber resno, TimeNs now) {
  if (slot.state == WindowState::absent) {
    return;
  }
  // Also beyond its own last chunk: a member whose call has more lacks those.
  const ChunkSet holes = holes_in(bits, most_window_chunks);
  if (holes.empty()) {
    if (slot.acknowledged_full) {
      ++statistics_.rounds;
      complete(slot, now);
    } else {
      ++statistics_.refused; // this member's bitmap is not among them
    }
    return;
  }
  if (slot.result && !collective::is_newer(resno, *slot.result)) {
    return;
  }
  ++statistics_.rounds;
  ++statistics_.rounds_with_holes;
  slot.result = resno;
  slot.round = wire::round_of(resno);
  slot.lost = {};
  slot.measured = false;
  const ChunkSet again = holes & (slot.own - slot.unsent);
  if (!again.empty() && !parameters_.reduces) { // else the root opens those pieces again
    slot.resend = slot.resend | again;
    slot.resend_last_twice = true;
    ++slot.resends;
  }
}

void Member::restart_request(Slot& slot, TimeNs now) {
  if (slot.request_interval_ns == 0) {
    slot.request_interval_ns =
        collective::first_request_retries * std::max(channel_.parameters.retry_ns, 4 * window_ns_);
  }
  slot.request_at = now + slot.request_interval_ns;
}

void Member::request_result(Slot& slot, TimeNs now) {
  const collective::GroupParameters& group = channel_.parameters;
  slot.request_interval_ns = std::max(
      slot.request_interval_ns, std::min(2 * slot.request_interval_ns, group.result_timeout_ns));
  slot.request_at = now + slot.request_interval_ns;
  // Else it waits for data, and not for a result. It may have acknowledged on trees that the group
  // has left since, and the root may have the result.
  if (!slot.acknowledged && !slot.acknowledged_full) {
    return;
  }
  ++statistics_.requests_sent;
  slot.measured = false;
  channel_.send_on_all(id_of(slot),
                       {.seqno = *slot.heard, .resno = *slot.heard, .pad = wire::pad_retry},
                       wire::Payload{});
}

void Member::take_verdict(const wire::ReductionFrame& frame) {
  if (frame.word != collective::notice_word()) {
    return; // a pre-arm
  }
  const auto verdict = verdict_in(frame.payload);
  if (!verdict) {
    return;
  }
  if (verdict->group_ended) {
    fail(*verdict, TimeNs{});
  } else {
    suspicion_ = verdict;
  }
}

TimeNs Member::root_missing_at() const {
  const std::uint64_t limit = channel_.parameters.member_timeout_ns;
  if (limit == 0 || is_root() || failure_) {
    return never;
  }
  std::optional<TimeNs> since;
  for (const Slot& slot : slots_) {
    if (slot.state != WindowState::absent) {
      since = std::min(since.value_or(slot.opened_at), slot.opened_at);
    }
  }
  return since ? std::max(*since, root_heard_at_.value_or(*since)) + limit : never;
}

} // namespace tributary::reliable_multicast
