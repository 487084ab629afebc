// The root: opens sequences under the ids of windows, gathers acknowledgements where no switch
// does, asks again, and finds out whom a window waits for. Sequences, in-switch results and
// notices are those of endpoint/collective/root.hpp; what is left out is what only exactly-once
// needs.
//
//   event                              does
//   a window opens, nothing armed or   opens a sequence (retry frame)
//     the arm is half its time old
//   all have acknowledged              the AND is the result: opens the next sequence with it
//   the switch next to it sends it     follows to the sequence that it opened
//   a result of two windows, or one    refuses it: opens a sequence, up to 16 times a window at
//     that counts a member twice         once, then by the timer
//   retry timer                        opens a sequence; the question carries the last result
//   request of a leaf                  the same, at most once per retry interval
//   the 5th, 7th ... retry, and each   a roll call: each member answers by itself, past the
//     16th result with holes             engines: what its call is, and what it lacks. All receive
//                                        who does not answer, or lacks most; a call that differs
//                                        ends the group, and so does a member time-out without
//                                        progress
#include "endpoint/reliable_multicast/acknowledgement.hpp"
#include "endpoint/reliable_multicast/member.hpp"

#include "endpoint/collective/notice.hpp"
#include "tributary/wire/opcode.hpp"

#include <algorithm>

namespace tributary::reliable_multicast {

using collective::TreeIndex;

std::uint64_t Member::interval_ns(const Question& question) const {
  const std::uint64_t retry = channel_.parameters.retry_ns;
  const std::uint64_t first = std::max(retry, 4 * window_ns_);
  const std::uint32_t doublings = std::min(question.retries, 16U);
  return std::min(first << doublings, std::max(first, collective::retry_backoff_limit * retry));
}

void Member::begin_window(Slot& slot, TimeNs now) {
  const collective::GroupParameters& group = channel_.parameters;
  Question& question = question_of(slot);
  question.progress_at = now;
  question.lacking = slot.count + 1;
  arm_pieces(slot, ChunkSet::first(slot.count), now);
  if (!question.armed || question.arm_void || question.calls_roll ||
      elapsed_ns(now, question.armed_at) >= group.collective_timeout_ns / 2) {
    ++statistics_.armed;
    ask(slot, now);
  } else {
    question.retry_at = now + interval_ns(question);
  }
}

void Member::advance(Question& question, TimeNs now) const {
  const collective::GroupParameters& group = channel_.parameters;
  SequenceNumber next =
      question.armed ? collective::successor(question.sequence) : group.first_sequence;
  if (question.armed && group.in_switch) {
    next = collective::successor(next); // the switch uses the one in between
  }
  if (next == question.last.resno) {
    next = collective::successor(next);
  }
  question.armed = true;
  question.arm_void = false;
  follow(question, next, now);
}

void Member::follow(Question& question, SequenceNumber sequence, TimeNs now) const {
  question.sequence = sequence;
  question.armed_at = now;
  question.gathered = {};
  question.calls_roll = false;
}

void Member::open_sequence(const Slot& slot, bool arm, bool retry, std::uint64_t flag) {
  const Question& question = question_of(slot);
  wire::ReductionWord word = question.last;
  word.seqno = question.sequence;
  word.arm = arm;
  word.pad = retry ? wire::pad_retry : std::uint8_t{0};
  channel_.send_on_all(id_of(slot), word, question.last_bits, flag);
}

void Member::hear_own(Slot& slot, TimeNs now) {
  for (TreeIndex tree = 0; tree < channel_.tree_count(); ++tree) {
    hear(slot, question_of(slot).sequence, tree, now);
  }
}

void Member::ask(Slot& slot, TimeNs now) {
  Question& question = question_of(slot);
  advance(question, now);
  question.asked_at = now;
  open_sequence(slot, channel_.parameters.armed, true);
  hear_own(slot, now);
  if (slot.state != WindowState::absent) {
    question.retry_at = now + interval_ns(question);
    consider(slot, now);
  }
}

void Member::retry(Slot& slot, TimeNs now) {
  Question& question = question_of(slot);
  ++statistics_.retried;
  ++question.retries;
  slot.measured = false;
  if (question.calls_roll) {
    conclude_roll_call(slot, now);
    if (failure_) {
      return;
    }
  }
  if (is_roll_call_due(slot)) {
    call_roll(slot, now);
  } else {
    ask(slot, now);
  }
}

void Member::record(Question& question, const wire::Payload& bits, SequenceNumber resno,
                    ContributionCount count) {
  question.last = {.seqno = {},
                   .op = static_cast<std::uint8_t>(wire::Opcode::bit_and),
                   .count = count,
                   .resno = resno};
  question.last_bits = bits;
}

void Member::receive_from_below(const wire::ReductionFrame& frame, TreeIndex tree, TimeNs now) {
  const wire::ReductionWord& word = frame.word;
  if (word.arm) {
    if (frame.source_nid == channel_.parameters.nid) {
      receive_in_switch(frame, now);
    } else {
      ++statistics_.misdirected;
    }
    return;
  }
  if (failure_) {
    if (elapsed_ns(now, failure_notified_at_) >= channel_.parameters.retry_ns) {
      notify_failure(now);
    }
    return;
  }
  Slot& slot = slots_[channel_.place_of(frame.reduction)];
  Question& question = question_of(slot);
  if (word.count == 0) {
    if (word.retry()) {
      answer_request(slot, word.resno, now);
    } else {
      ++statistics_.late;
    }
    return;
  }
  if (!question.armed || word.resno != question.sequence) {
    ++statistics_.late;
    return;
  }
  if (word.opcode() != wire::Opcode::bit_and || word.rc != 0) {
    ++statistics_.malformed;
    return;
  }
  if (question.calls_roll) {
    hear_roll(slot, frame, now);
  } else {
    count_in(slot, tree, frame.payload, word.count, frame.signature, now);
  }
}

void Member::count_in(Slot& slot, TreeIndex tree, const wire::Payload& bits,
                      ContributionCount count, std::uint64_t signature, TimeNs now) {
  Question& question = question_of(slot);
  Question::Gathered& gathered = question.gathered[tree];
  for (std::size_t i = 0; i < bits.size(); ++i) {
    gathered.bits[i] = gathered.count == 0 ? bits[i] : gathered.bits[i] & bits[i];
  }
  gathered.count += count;
  gathered.signatures = (gathered.signatures + signature) & wire::signature_mask;
  if (gathered.count < channel_.parameters.size) {
    return;
  }
  const wire::Payload all = gathered.bits;
  const auto window = window_of_result(slot, all, gathered.count, gathered.signatures, true);
  if (!window) {
    refuse(slot, now);
    return;
  }
  const SequenceNumber resno = question.sequence;
  record(question, all, resno, channel_.parameters.size);
  advance(question, now);
  open_sequence(slot, channel_.parameters.armed, false);
  hear_own(slot, now);
  finish_round(slot, all, resno, *window, now);
}

void Member::receive_in_switch(const wire::ReductionFrame& frame, TimeNs now) {
  const wire::ReductionWord& word = frame.word;
  Slot& slot = slots_[channel_.place_of(frame.reduction)];
  Question& question = question_of(slot);
  if (failure_ || word.count == 0 || !question.armed) {
    ++statistics_.late;
    return;
  }
  const bool is_known = word.resno == question.last.resno;
  if (!is_known && question.last.resno != collective::no_sequence &&
      !collective::is_newer(word.resno, question.last.resno)) {
    ++statistics_.late;
    return;
  }
  const auto window = window_of_result(slot, frame.payload, word.count, frame.signature, true);
  if (!is_known && window) {
    record(question, frame.payload, word.resno, word.count);
  } else {
    // Also one that is refused: its number says to the switch that the root has seen it.
    question.last.resno = word.resno;
  }
  const bool follows = collective::is_newer(word.seqno, question.sequence);
  if (follows) { // else the root has asked meanwhile, and the switch answers that
    follow(question, word.seqno, now);
    hear_own(slot, now);
  }
  if (is_known) {
    if (follows && slot.state != WindowState::absent) {
      question.retry_at = now + interval_ns(question);
      consider(slot, now);
    }
  } else if (!window) {
    refuse(slot, now);
  } else {
    finish_round(slot, frame.payload, word.resno, *window, now);
  }
}

void Member::finish_round(Slot& slot, const wire::Payload& bits, SequenceNumber resno,
                          std::uint64_t window, TimeNs now) {
  Question& question = question_of(slot);
  if (slot.state == WindowState::absent || slot.window != window) {
    consider(slot, now);
    return;
  }
  const std::uint32_t holes = holes_in(bits, most_window_chunks).size();
  if (holes < question.lacking) {
    question.lacking = holes;
    question.progress_at = now;
  }
  question.holes += holes == 0 ? 0 : 1;
  question.retry_at = now + interval_ns(question);
  take_result(slot, bits, resno, now);
  if (slot.state == WindowState::absent || slot.window != window) {
    return; // complete
  }
  arm_pieces(slot, holes_in(bits, slot.count), now);
  if (holes != 0 && question.holes % holes_before_roll_call == 0 && is_oldest(slot)) {
    call_roll(slot, now);
  } else {
    consider(slot, now);
  }
}

void Member::refuse(Slot& slot, TimeNs now) {
  ++statistics_.refused;
  if (++question_of(slot).refused <= immediate_retries) {
    ask(slot, now);
  } // else it is left to the timer
}

void Member::answer_request(Slot& slot, SequenceNumber wanted, TimeNs now) {
  ++statistics_.requests_received;
  Question& question = question_of(slot);
  if (!question.armed || wanted == question.sequence ||
      elapsed_ns(now, question.asked_at) < channel_.parameters.retry_ns) {
    return;
  }
  ++statistics_.replayed;
  ask(slot, now);
}

void Member::call_roll(Slot& slot, TimeNs now) {
  Question& question = question_of(slot);
  ++statistics_.roll_calls;
  slot.measured = false;
  roll_call_.call(slot.window, channel_.parameters.rank);
  heard_in_roll_ = 0;
  slowest_.reset();
  if (!slot.missing.empty()) {
    slowest_ = {.what = Verdict::What::lacks_chunks,
                .rank = channel_.parameters.rank,
                .owner = slot.chunks[slot.missing.lowest()].owner,
                .chunks = slot.missing.size()};
  }
  advance(question, now);
  question.calls_roll = true;
  question.asked_at = now;
  open_sequence(slot, false, true, calls_roll);
  hear_own(slot, now);
  hear_roll_call(slot);
  question.retry_at = now + interval_ns(question);
}

bool Member::is_roll_call_due(const Slot& slot) const {
  const std::uint32_t retries = question_of(slot).retries;
  if (retries < first_roll_call || (retries - first_roll_call) % 2 != 0) {
    return false;
  }
  return is_oldest(slot);
}

/// Later windows wait for the same members.
bool Member::is_oldest(const Slot& slot) const {
  return std::ranges::none_of(slots_, [&](const Slot& other) {
    return other.state != WindowState::absent && other.window < slot.window;
  });
}

void Member::hear_roll(Slot& slot, const wire::ReductionFrame& frame, TimeNs now) {
  const collective::GroupParameters& group = channel_.parameters;
  const bool is_own_window =
      roll_call_.is_about(slot.window) && frame.payload[3] == window_word(slot.window);
  const bool is_signed =
      !group.checks() ||
      frame.signature == collective::signature_of_piece(
                             collective::signature_base(group.cookie, frame.rank), slot.window);
  if (frame.word.count != 1 || frame.rank >= group.size || !is_own_window || !is_signed) {
    ++statistics_.late;
    return;
  }
  const RollAnswer answer = roll_answer_in(frame.payload);
  if (answer.call && *answer.call != slot.call) {
    fail({.what = Verdict::What::calls_differ,
          .group_ended = true,
          .rank = frame.rank,
          .root_call = slot.call,
          .other_call = *answer.call},
         now);
    return;
  }
  roll_call_.hear(frame.rank);
  if (answer.missing > (slowest_ ? slowest_->chunks : 0) && answer.first_missing < slot.count) {
    slowest_ = {.what = Verdict::What::lacks_chunks,
                .rank = frame.rank,
                .owner = slot.chunks[answer.first_missing].owner,
                .chunks = answer.missing};
  }
  if (++heard_in_roll_ >= group.size - 1 && roll_call_.missing_now().empty()) {
    conclude_roll_call(slot, now);
    if (!failure_) {
      ask(slot, now);
    }
  }
}

void Member::conclude_roll_call(Slot& slot, TimeNs now) {
  if (!roll_call_.is_about(slot.window)) {
    return;
  }
  roll_call_.conclude();
  const std::uint64_t limit = channel_.parameters.member_timeout_ns;
  const TimeNs since = question_of(slot).progress_at;
  Verdict verdict{.what = Verdict::What::not_acknowledging, .missing = roll_call_.missing()};
  if (verdict.missing.empty() && slowest_) {
    verdict = *slowest_;
  } else if (verdict.missing.empty()) {
    suspicion_.reset();
    return;
  }
  if (limit > 0 && elapsed_ns(now, since) >= limit &&
      roll_call_.concluded() >= roll_calls_before_the_end) {
    fail(verdict, now);
    return;
  }
  suspicion_ = verdict;
  notify(slot, verdict);
}

void Member::notify(const Slot& slot, const Verdict& verdict) {
  channel_.send_on_all(id_of(slot), collective::notice_word(), payload_of(verdict));
}

void Member::notify_failure(TimeNs now) {
  if (channel_.parameters.size == 1) {
    return;
  }
  failure_notified_at_ = now;
  for (const Slot& slot : slots_) {
    notify(slot, *failure_);
  }
}

} // namespace tributary::reliable_multicast
