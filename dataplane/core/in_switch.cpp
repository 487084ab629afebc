// In-switch results: the actions of a switch for trees with `in_switch`; in_switch_decide.hpp has
// the checks of their frames.

#include "dataplane/core/switch_core.hpp"

#include <cstring>
#include <utility>

namespace tributary::core {

bool SwitchCore::only_reads(PortNumber in, FrameView frame) const {
  const MulticastEntry* const entry = reduction_of(in, frame);
  return entry == nullptr ||
         !(entry->children.contains(in) || (entry->in_switch && entry->parent == in));
}

/// The frame becomes the result, arms the descriptor, and is kept.
void SwitchCore::make_in_switch_result(ReductionKey key, const MulticastEntry& entry,
                                       std::byte* frame, std::size_t bytes) {
  InSwitchRecord& record = in_switch_[key];
  const Descriptor& d = engines_.descriptor(key);
  const MatchWord match = d.match;
  const bool wide = match.is_wide();
  if (wide) {
    engines_.write_headers(key, entry.wait_count, frame);
  } else {
    engines_.write_result(key, entry.wait_count, frame);
  }
  const wire::Form form = wide ? held_shape(d).form() : wire::Form::words;
  std::memcpy(frame, record.arm_header.data(), record.arm_header.size());
  set_result_shape(frame, bytes, form);
  std::byte* const p = frame + wire::ethernet_header_bytes;
  wire::store_signature(p, d.signature);
  wire::ReductionWord word = wire::load_word(p);
  word.seqno = in_switch_successor(match.sequence());
  word.arm = true;
  wire::store_word(p, word);

  record.kept_bytes = static_cast<std::uint32_t>(bytes);
  std::memcpy(record.kept.data(), frame,
              wide ? std::size_t{wire::wide_header_bytes} : record.kept.size());
  if (wide) {
    const SlotPlace& place = tables_->slot_place(key.tree());
    std::memcpy(wide_.memory().slot(place.kept_line_of(key.reduction())),
                frame + wire::wide_header_bytes, record.kept_payload_bytes());
  }
  record.armed_itself = true;
  record.armed_at = now_;
  record.replay_due = false;
  engines_.end_with_arm(key, record.kept_match());
  counters_->engines[entry.parent.value].in_switch.add();
}

/// Writes the kept result as a frame that opens this sequence.
void SwitchCore::write_kept(ReductionKey key, SequenceNumber opens, std::byte* frame) const {
  const InSwitchRecord& record = in_switch_[key];
  const std::size_t payload = record.kept_payload_bytes();
  if (payload == 0) {
    std::memcpy(frame, record.kept.data(), record.kept.size());
  } else {
    const SlotPlace& place = tables_->slot_place(key.tree());
    std::memcpy(frame, record.kept.data(), wire::wide_header_bytes);
    std::memcpy(frame + wire::wide_header_bytes,
                wide_.memory().slot(place.kept_line_of(key.reduction())), payload);
  }
  std::byte* const p = frame + wire::ethernet_header_bytes;
  wire::ReductionWord word = wire::load_word(p);
  word.seqno = opens;
  word.pad |= wire::pad_retry;
  wire::store_word(p, word);
}

/// Arms the descriptor for the sequence that the kept result opens now. True if the frame, which
/// came from the root, has become that result; otherwise it leaves at the next timer check.
bool SwitchCore::replay(ReductionKey key, const MulticastEntry& entry, const FrameView& frame,
                        SequenceNumber opens, TimeNs now) {
  InSwitchRecord& record = in_switch_[key];
  wire::ReductionWord word = wire::load_word(record.kept_portals());
  word.seqno = opens;
  wire::store_word(record.kept.data() + wire::ethernet_header_bytes, word);
  record.armed_itself = false;
  record.armed_at = now;
  // If no descriptor is free, on a tree without slots, it is sent all the same.
  engines_.arm(key, entry, record.kept_match(), now);
  counters_->engines[entry.parent.value].replayed.add();
  if (record.kept_bytes <= frame.length) {
    write_kept(key, opens, frame.data);
    return true;
  }
  if (!std::exchange(record.replay_due, true)) {
    replays_due_.push_back(key);
  }
  engines_.deadlines().hasten();
  return false;
}

void SwitchCore::send_replays(Emission& emission) {
  for (const ReductionKey key : std::exchange(replays_due_, {})) {
    const MulticastEntry& entry = tables_->tree(key.tree());
    if (!entry.in_switch || key.reduction().value >= entry.slots() ||
        !std::exchange(in_switch_[key].replay_due, false) || in_switch_[key].kept_bytes == 0) {
      continue; // the tree was replaced, or the id has its next result
    }
    const InSwitchRecord& record = in_switch_[key];
    PortSet ports = entry.children;
    ports.insert(entry.parent);
    ports.for_each([&](PortNumber port) {
      if (!up_.contains(port)) {
        counters_->drop(port, DropReason::port_down);
        return;
      }
      std::byte* const frame = emission.buffer(port, record.kept_bytes, record.arm_class);
      if (frame == nullptr) {
        counters_->drop(port, DropReason::no_buffer);
        return;
      }
      write_kept(key, wire::load_word(record.kept_portals()).seqno, frame);
    });
  }
}

DescriptorView SwitchCore::view(ReductionKey key) const {
  const MulticastEntry& entry = tables_->tree(key.tree());
  DescriptorView view = engines_.view(key, entry);
  if (entry.in_switch) {
    // The timer continues when a result arms, and is restarted when it expires (expire_in_switch).
    const InSwitchRecord& record = in_switch_[key];
    const std::uint64_t timer = elapsed_ns(view.deadline, view.armed_at);
    view.deadline = view.deadline + (record.armed_itself ? timer : 0);
    view.armed_at = record.armed_at;
  }
  return view;
}

/// Whether the timer of a reduction continues, because a result armed it since the timer was
/// started.
bool SwitchCore::expire_in_switch(ReductionKey key, const MulticastEntry& entry, TimeNs now) {
  if (!std::exchange(in_switch_[key].armed_itself, false)) {
    return false;
  }
  engines_.restart_timer(key, entry, now);
  return true;
}

} // namespace tributary::core
