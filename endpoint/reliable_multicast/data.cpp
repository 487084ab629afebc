// Every member: chunks that arrive, and chunks that leave.
#include "endpoint/reliable_multicast/member.hpp"

#include <cstring>
#include <utility>

namespace tributary::reliable_multicast {

bool Member::admits(const wire::SharedFrame& frame) {
  const collective::GroupParameters& group = channel_.parameters;
  const bool on_tree = frame.tree == group.tree || (group.twin && frame.tree == *group.twin);
  if (!on_tree || frame.vni != group.vni || frame.cookie != group.cookie) {
    ++statistics_.foreign;
    return false;
  }
  if (frame.source_nid == group.nid) {
    ++statistics_.misdirected;
    return false;
  }
  if (frame.rank >= group.size || frame.rank == group.rank) {
    ++statistics_.wrong_source;
    return false;
  }
  // Where the NIDs are not known a rank's first frame tells: switches with a source guard vouch for
  // it.
  Nid& nid = nids_[frame.rank];
  if (nid.value > max_nid) {
    nid = frame.source_nid;
  }
  if (nid != frame.source_nid) {
    ++statistics_.wrong_source;
    return false;
  }
  if (frame.chunk >= parameters_.window_chunks || frame.bytes > parameters_.chunk_bytes) {
    ++statistics_.wrong_length;
    return false;
  }
  return true;
}

void Member::receive_data(const wire::SharedFrame& frame, std::span<const std::byte> bytes,
                          TimeNs now) {
  if (failure_ || !admits(frame)) {
    return;
  }
  Slot& slot = slot_of(frame.window);
  if (frame.window > slot.window) {
    // The sender of w + S has the result of w, which includes this member.
    if (frame.window != slot.window + slots_.size() || !slot.acknowledged_full) {
      ++statistics_.beyond_window;
      return;
    }
    ++statistics_.by_data;
    slot.measured = false;
    complete(slot, now);
  } else if (frame.window < slot.window) {
    ++statistics_.stale;
    return;
  }
  if (frame.round == wire::first_round) {
    for (Slot& other : slots_) {
      if (other.state == WindowState::open && other.window < frame.window) {
        mark_lost(other, frame.round, frame.rank, frame.window, frame.chunk);
        consider(other, now);
      }
    }
  }
  if (slot.window != frame.window) {
    ++statistics_.stale; // windows that completed above, at the root, have completed this one, too
    return;
  }
  if (slot.state == WindowState::absent) {
    keep(slot, frame, bytes);
  } else {
    take(slot, frame, bytes, now);
  }
}

void Member::keep(Slot& slot, const wire::SharedFrame& frame, std::span<const std::byte> bytes) {
  if (slot.early.contains(frame.chunk)) {
    ++statistics_.duplicates;
    return;
  }
  if (!has_memory(slot)) {
    ++statistics_.no_memory;
    return;
  }
  std::memcpy(memory_of(slot, frame.chunk), bytes.data(), bytes.size());
  slot.kept[frame.chunk] = {.rank = frame.rank, .bytes = frame.bytes};
  slot.early.insert(frame.chunk);
  ++statistics_.early;
}

void Member::take(Slot& slot, const wire::SharedFrame& frame, std::span<const std::byte> bytes,
                  TimeNs now) {
  const Chunk& chunk = slot.chunks[frame.chunk];
  if (frame.chunk >= slot.count || frame.bytes != chunk.bytes) {
    ++statistics_.wrong_length;
    return;
  }
  if (frame.rank != chunk.owner) {
    ++statistics_.wrong_owner;
    return;
  }
  if (slot.missing.contains(frame.chunk)) {
    // A window that lacks chunks has a call: it is detached when it is full.
    std::memcpy(slot.operation->data_ + chunk.offset, bytes.data(), bytes.size());
    ++statistics_.chunks_received;
    slot.missing.erase(frame.chunk);
    slot.lost.erase(frame.chunk);
    if (!std::exchange(slot.has_data, true)) {
      slot.gap_ns = least_gap_ns();
    }
    slot.gap_since = now;
    slot.state = slot.missing.empty() ? WindowState::full : WindowState::open;
  } else {
    ++statistics_.duplicates;
  }
  mark_lost(slot, frame.round, frame.rank, frame.window, frame.chunk);
  consider(slot, now);
}

void Member::mark_lost(Slot& slot, std::uint8_t round, std::uint32_t rank, std::uint64_t window,
                       std::uint32_t chunk) const {
  if (round != slot.round) {
    return;
  }
  const ChunkSet before = ChunkSet::first(slot.window == window ? chunk : slot.count);
  const bool one_tree = channel_.tree_count() == 1;
  ((slot.missing - slot.lost) & before).for_each([&](std::uint32_t c) {
    const bool same_tree = one_tree || (c & 1U) == (chunk & 1U);
    if (same_tree && slot.chunks[c].owner == rank) {
      slot.lost.insert(c);
    }
  });
}

Member::Begun Member::write_chunk(const Slot& slot, std::uint32_t c, std::uint8_t round,
                                  std::uint32_t transmission, std::byte* room) const {
  const collective::GroupParameters& group = channel_.parameters;
  const Chunk& chunk = slot.chunks[c];
  const wire::SharedFrame frame{.ethertype = group.ethertype,
                                .destination = group.destination,
                                .source = group.source,
                                .vni = group.vni,
                                .source_nid = group.nid,
                                .tree = group.tree_at((c + transmission) % channel_.tree_count()),
                                .window = slot.window & wire::signature_mask,
                                .round = round,
                                .rank = group.rank,
                                .cookie = group.cookie,
                                .chunk = static_cast<std::uint16_t>(c),
                                .bytes = static_cast<std::uint16_t>(chunk.bytes)};
  wire::encode_header(
      frame, std::span<std::byte, wire::shared_header_bytes>(room, wire::shared_header_bytes));
  const std::byte* const from =
      slot.operation != nullptr ? slot.operation->data_ + chunk.offset : memory_of(slot, c);
  const std::size_t padded = wire::padded_chunk(chunk.bytes);
  if (padded == chunk.bytes) {
    return {.bytes = wire::shared_header_bytes, .rest = {from, padded}};
  }
  std::byte* const to = room + wire::shared_header_bytes;
  std::memcpy(to, from, chunk.bytes);
  std::memset(to + chunk.bytes, 0, padded - chunk.bytes);
  return {.bytes = wire::shared_header_bytes + padded};
}

} // namespace tributary::reliable_multicast
