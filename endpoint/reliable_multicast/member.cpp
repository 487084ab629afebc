// Every member: calls, windows, what is sent next, and time.
#include "endpoint/reliable_multicast/member.hpp"

#include "endpoint/collective/received_frame.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

namespace tributary::reliable_multicast {

namespace {

constexpr Nid unknown_nid{~std::uint32_t{0}};

const Parameters& checked(const Parameters& parameters) {
  if (const std::string fault = fault_of(parameters); !fault.empty()) {
    throw std::invalid_argument(fault);
  }
  return parameters;
}

std::uint64_t signature_base_of(const collective::GroupParameters& group) {
  return group.checks() ? collective::signature_base(group.cookie, group.rank) : 0;
}
collective::SignatureSum all_members_of(const collective::GroupParameters& group) {
  return {group.cookie, group.checks() ? group.size : 0};
}

} // namespace

Member::Member(const Parameters& parameters)
    : parameters_(checked(parameters)), channel_(parameters.group),
      signature_base_(signature_base_of(parameters.group)),
      all_members_(all_members_of(parameters.group)), nids_(parameters.nids),
      questions_(parameters.group.is_root() ? parameters.windows() : 0),
      roll_call_(parameters.group.is_root() ? parameters.group.size : 0) {
  const collective::GroupParameters& group = parameters_.group;
  slots_.reserve(parameters_.windows());
  for (std::uint32_t i = 0; i < parameters_.windows(); ++i) {
    slots_.emplace_back(i, parameters_.window_chunks);
  }
  if (nids_.empty()) {
    nids_.assign(group.size, unknown_nid);
    if (group.root_nid) {
      nids_[group.root_rank] = *group.root_nid;
    }
  }
}

void Member::start(Operation& operation, TimeNs now) {
  assert(!failure_);
  ++statistics_.operations;
  if (channel_.parameters.size == 1) {
    if (operation.result_ != nullptr && operation.shape_.bytes != 0) {
      std::memcpy(operation.result_, operation.data_, operation.shape_.bytes);
    }
    operation.opened_ = operation.windows_;
    operation.unfinished_ = 0;
    return;
  }
  (newest_ == nullptr ? opening_ : newest_->next_) = &operation;
  newest_ = &operation;
  ++unfinished_;
  open_windows(now);
}

void Member::open_windows(TimeNs now) {
  while (opening_ != nullptr) {
    Slot& slot = slot_of(next_window_);
    if (slot.state != WindowState::absent || slot.window != next_window_) {
      return;
    }
    Operation& operation = *opening_;
    ++next_window_;
    if (++operation.opened_ == operation.windows_) {
      opening_ = operation.next_;
      newest_ = opening_ == nullptr ? nullptr : newest_;
    }
    open(slot, operation, now); // last: it may complete windows, and so open further ones
  }
}

void Member::open(Slot& slot, Operation& operation, TimeNs now) {
  const std::uint32_t rank = channel_.parameters.rank;
  slot.operation = &operation;
  slot.call = operation.shape_;
  slot.count = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(operation.walk_.left(), parameters_.window_chunks));
  slot.own = {};
  for (std::uint32_t c = 0; c < slot.count; ++c) {
    slot.chunks[c] = operation.walk_.next();
    if (slot.chunks[c].owner == rank) {
      slot.own.insert(c);
    }
  }
  if (parameters_.reduces) { // it lacks the results of its own ones, and contributes when asked
    slot.missing = slot.own;
    slot.contributed = slot.unsent = {};
  } else {
    slot.missing = ChunkSet::first(slot.count) - slot.own;
    slot.unsent = slot.own;
  }
  slot.opened_at = slot.gap_since = now;
  slot.has_data = false;
  slot.measured = true;
  slot.request_interval_ns = 0;
  slot.early.for_each([&](std::uint32_t c) {
    const NamedChunk& kept = slot.kept[c];
    if (c >= slot.count || kept.bytes != slot.chunks[c].bytes) {
      ++statistics_.wrong_length;
    } else if (kept.rank != slot.chunks[c].owner) {
      ++statistics_.wrong_owner;
    } else {
      std::memcpy(operation.data_ + slot.chunks[c].offset, memory_of(slot, c), kept.bytes);
      ++statistics_.chunks_received;
      slot.missing.erase(c);
      slot.has_data = true;
    }
  });
  for (const Slot& later : slots_) { // what was kept shows what it has overtaken
    later.early.for_each([&](std::uint32_t c) {
      if (later.window >= slot.window) {
        mark_lost(slot, wire::first_round, later.kept[c].rank, later.window, c);
      }
    });
  }
  slot.early = {};
  slot.gap_ns = least_gap_ns() * (slot.has_data ? 1 : gap_before_data);
  slot.state = slot.missing.empty() ? WindowState::full : WindowState::open;
  if (parameters_.reduces) {
    open_pieces(slot, std::exchange(slot.opened_early, {}));
  }
  if (is_root()) {
    begin_window(slot, now);
  } else if (slot.acknowledged) {
    restart_request(slot, now); // nothing is armed: the result was lost
  }
  consider(slot, now);
  settle(operation);
}

void Member::complete(Slot& slot, TimeNs now) {
  ++statistics_.windows;
  if (slot.measured) {
    // A member that is late makes a window long, which says nothing about the network.
    const std::uint64_t time =
        std::min(elapsed_ns(now, slot.opened_at), 2 * window_ns_ + channel_.parameters.retry_ns);
    window_ns_ = window_ns_ == 0 ? time : (7 * window_ns_ + time) / 8;
  }
  suspicion_.reset();
  if (is_root()) {
    Question& question = question_of(slot);
    question.retry_at = never;
    question.retries = question.refused = question.holes = 0;
    if (roll_call_.is_about(slot.window)) {
      roll_call_.end();
    }
  }
  Operation* const operation = slot.operation;
  detach(slot);
  slot.state = WindowState::absent;
  slot.window += slots_.size();
  slot.count = 0;
  slot.missing = slot.lost = slot.own = slot.unsent = slot.resend = slot.opened_early = {};
  slot.resends = 0;
  slot.round = wire::first_round;
  slot.acknowledged_full = false;
  slot.result.reset();
  slot.request_at = never;
  open_windows(now);
  if (operation != nullptr) {
    settle(*operation); // what is left of it may be little enough now
  }
}

void Member::detach(Slot& slot) {
  if (slot.operation == nullptr) {
    return;
  }
  if (--slot.operation->unfinished_ == 0) {
    --unfinished_;
  }
  slot.operation = nullptr;
}

bool Member::may_copy_rest(const Operation& operation) const {
  std::uint64_t rest = 0;
  for (const Slot& slot : slots_) {
    if (slot.operation == &operation) {
      if (!slot.unsent.empty()) {
        return false;
      }
      rest += std::uint64_t{slot.own.size()} * parameters_.chunk_bytes;
    }
  }
  return operation.opened_ == operation.windows_ && rest <= parameters_.eager_bytes;
}

bool Member::has_memory(Slot& slot) const {
  if (slot.memory == nullptr) {
    slot.memory.reset(new (
        std::nothrow) std::byte[std::size_t{parameters_.window_chunks} * parameters_.chunk_bytes]);
  }
  return slot.memory != nullptr;
}

void Member::settle(Operation& operation) {
  const bool copies = may_copy_rest(operation);
  for (Slot& slot : slots_) {
    if (slot.operation != &operation || slot.state != WindowState::full) {
      continue;
    }
    const bool receives = slot.own.size() != slot.count || slot.count == 0;
    if (parameters_.reduces || // until all have their results: it may be asked again
        (receives && !slot.acknowledged_full) ||
        (!slot.own.empty() && !(copies && has_memory(slot)))) {
      continue;
    }
    slot.own.for_each([&](std::uint32_t c) {
      std::memcpy(memory_of(slot, c), operation.data_ + slot.chunks[c].offset,
                  slot.chunks[c].bytes);
    });
    detach(slot);
  }
}

template <typename F> Slot* Member::oldest(F&& f) {
  Slot* found = nullptr;
  for (Slot& slot : slots_) {
    if (f(slot) && (found == nullptr || slot.window < found->window)) {
      found = &slot;
    }
  }
  return found;
}

bool Member::has_to_send() const {
  return !channel_.outbox.empty() ||
         (!failure_ && std::ranges::any_of(slots_, [](const Slot& slot) {
           return !slot.resend.empty() || !slot.unsent.empty();
         }));
}

std::size_t Member::next_frame_bytes() const {
  return channel_.outbox.empty() ? wire::shared_header_bytes + parameters_.chunk_bytes
                                 : channel_.outbox.front_bytes();
}

Member::Begun Member::take_frame(std::byte* room) {
  if (!channel_.outbox.empty()) {
    const std::size_t bytes = channel_.outbox.write_front(room);
    channel_.outbox.pop();
    return {.bytes = bytes};
  }
  if (Slot* const slot = oldest([](const Slot& s) { return !s.resend.empty(); })) {
    const std::uint32_t chunk = slot->resend.lowest();
    if (slot->resend.size() == 1 && slot->resend_last_twice) {
      slot->resend_last_twice = false;
    } else {
      slot->resend.erase(chunk);
    }
    ++statistics_.chunks_resent;
    return write_chunk(*slot, chunk, slot->round, slot->resends, room);
  }
  Slot& slot = *oldest([](const Slot& s) { return !s.unsent.empty(); });
  const std::uint32_t chunk = slot.unsent.lowest();
  slot.unsent.erase(chunk);
  if (parameters_.reduces) {
    return write_contribution(slot, chunk, room);
  }
  ++statistics_.chunks_sent;
  const Begun begun = write_chunk(slot, chunk, wire::first_round, 0, room);
  if (slot.unsent.empty() && slot.operation != nullptr) {
    settle(*slot.operation);
  }
  return begun;
}

bool Member::receive(std::span<const std::byte> bytes, TimeNs now) {
  const collective::GroupParameters& group = channel_.parameters;
  wire::SharedFrame shared;
  if (!parameters_.reduces &&
      wire::decode(bytes, group.ethertype, shared) == wire::DecodeError::none) {
    receive_data(shared, wire::chunk_of(bytes, shared), now);
    return true;
  }
  collective::ReceivedFrame read;
  const std::size_t payload = parameters_.reduces ? parameters_.chunk_bytes : sizeof(wire::Payload);
  if (!collective::read_frame(bytes, group.ethertype, group.ids_of_tree(), payload, read)) {
    ++statistics_.malformed;
    return false;
  }
  if (parameters_.reduces && receive_piece(read, now)) {
    return true;
  }
  if (read.vector.form != wire::Form::words) { // an acknowledgement is none
    ++statistics_.malformed;
    return false;
  }
  const bool in_switch = is_root() && group.in_switch;
  if (const auto tree = channel_.admit(read.frame, in_switch)) {
    if (is_root()) {
      receive_from_below(read.frame, *tree, now);
    } else {
      receive_from_above(read.frame, *tree, now);
    }
  }
  return true;
}

void Member::poll(TimeNs now) {
  if (failure_) {
    if (now >= notify_failure_at_) {
      notify_failure(now);
      notify_failure_at_ = now >= notify_failure_until_ ? never
                                                        : now + collective::retry_backoff_limit *
                                                                    channel_.parameters.retry_ns;
    }
    return;
  }
  if (now >= root_missing_at()) {
    Verdict verdict{.what = Verdict::What::not_acknowledging, .group_ended = true};
    verdict.missing.add(channel_.parameters.root_rank);
    fail(verdict, now);
    return;
  }
  for (Slot& slot : slots_) {
    if (now >= gap_ends_at(slot)) {
      consider(slot, now);
    }
    if (is_root()) {
      if (now >= question_of(slot).retry_at) {
        retry(slot, now);
      }
    } else if (now >= slot.request_at) {
      request_result(slot, now);
    }
    if (failure_) {
      return;
    }
  }
}

TimeNs Member::next_deadline() const {
  if (failure_) {
    return notify_failure_at_;
  }
  TimeNs deadline = root_missing_at();
  for (const Slot& slot : slots_) {
    deadline = std::min(
        {deadline, gap_ends_at(slot), is_root() ? question_of(slot).retry_at : slot.request_at});
  }
  return deadline;
}

bool Member::is_complete() const {
  return is_idle() && channel_.outbox.empty() && std::ranges::all_of(slots_, [](const Slot& slot) {
           return slot.state == WindowState::absent;
         });
}

void Member::move_to(const collective::GroupParameters& group, TimeNs now) {
  Parameters moved = parameters_;
  moved.group = group;
  const collective::GroupParameters& before = channel_.parameters;
  if (group.rank != before.rank || group.size != before.size ||
      group.root_rank != before.root_rank || group.nid != before.nid ||
      group.slots != before.slots || group.first_id != before.first_id ||
      group.ids_of_tree() != before.ids_of_tree()) {
    throw std::invalid_argument("a group moves with its members and its root, or not at all");
  }
  parameters_ = checked(moved);
  channel_.move_to(group);
  signature_base_ = signature_base_of(group);
  all_members_ = all_members_of(group);
  for (Slot& slot : slots_) {
    slot.heard_on.clear();
    slot.acknowledged_on.clear();
    slot.acknowledged = false;
    slot.measured = false;
  }
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    Question& question = questions_[i];
    question.gathered = {};
    question.arm_void = question.armed;
    if (slots_[i].state != WindowState::absent && !failure_) {
      ++statistics_.armed;
      arm_pieces(slots_[i], ChunkSet::first(slots_[i].count), now);
      ask(slots_[i], now);
    }
  }
}

void Member::fail(const Verdict& verdict, TimeNs now) {
  if (failure_) {
    return;
  }
  failure_ = verdict;
  failure_->group_ended = true;
  for (Slot& slot : slots_) {
    slot.operation = nullptr;
    slot.unsent = slot.resend = {};
  }
  opening_ = newest_ = nullptr;
  unfinished_ = 0;
  if (is_root()) {
    roll_call_.end();
    notify_failure(now);
    notify_failure_at_ = now + collective::retry_backoff_limit * channel_.parameters.retry_ns;
    notify_failure_until_ = now + channel_.parameters.leave_grace_ns;
  }
}

Statistics Member::statistics() const {
  Statistics all = statistics_;
  const collective::Statistics& of_acknowledgements = channel_.statistics;
  all.foreign += of_acknowledgements.foreign;
  all.misdirected += of_acknowledgements.misdirected;
  all.malformed += of_acknowledgements.malformed;
  all.outbox_full += of_acknowledgements.outbox_full;
  return all;
}

Status Member::status() const {
  const Slot* found = nullptr;
  for (const Slot& slot : slots_) {
    if (slot.state != WindowState::absent && (found == nullptr || slot.window < found->window)) {
      found = &slot;
    }
  }
  if (found == nullptr) {
    return {};
  }
  return {.state = found->state,
          .window = found->window,
          .since = found->opened_at,
          .missing = found->missing.size(),
          .owner = found->missing.empty() ? 0 : found->chunks[found->missing.lowest()].owner,
          .is_armed = found->acknowledged || may_acknowledge(*found),
          .retries = is_root() ? question_of(*found).retries : 0};
}

} // namespace tributary::reliable_multicast
