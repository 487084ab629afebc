// State of the switch next to a root for a tree with in-switch results (in_switch_decide.hpp), per
// reduction id:
//
//   the last arm    its first 50 bytes, which are those of the results made by this switch, and
//                   its traffic class, in which they leave
//   the last result as sent, until the id's next one, for a root that missed it. The vector of a
//                   wide one is in slot memory, after the slots of the tree's place
//                   (slot_place.hpp)
//
// A tree has its records from the snapshot that sets `in_switch` to the one that changes it; other
// trees have none. Owned by the core's worker.
#pragma once

#include "dataplane/core/descriptor.hpp"
#include "dataplane/core/tables.hpp"
#include "dataplane/core/wide_shape.hpp"
#include "tributary/traffic_class.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace tributary::core {

/// The sequence that no result has: the result number of an arm before the first result.
inline constexpr SequenceNumber no_result{1023};

/// The sequence that the switch opens after another. The numbers are those that hosts use.
constexpr SequenceNumber in_switch_successor(SequenceNumber s) {
  return SequenceNumber{(std::uint32_t{s.value()} + 1) % usable_sequences};
}

struct InSwitchRecord {
  std::array<std::byte, saved_frame_bytes> arm_header{};
  TrafficClass arm_class;
  /// When the descriptor was last armed, by a frame of the root or by its own result.
  TimeNs armed_at{};
  /// The descriptor was armed by its own result since its timer was started.
  bool armed_itself = false;
  /// The result is to be sent again, at the next timer check.
  bool replay_due = false;
  /// Length of the last result; 0: none is kept.
  std::uint32_t kept_bytes = 0;
  /// Its first bytes: all of it, or the headers of a wide one.
  std::array<std::byte, wire::reduction_frame_bytes> kept{};

  [[nodiscard]] const std::byte* kept_portals() const {
    return kept.data() + wire::ethernet_header_bytes;
  }
  [[nodiscard]] std::size_t kept_payload_bytes() const {
    return kept_bytes > wire::reduction_frame_bytes ? kept_bytes - wire::wide_header_bytes : 0;
  }
  /// The group of the kept result, and the sequence that it opened. Requires a kept result.
  [[nodiscard]] MatchWord kept_match() const {
    return {wire::cookie_of(kept_portals()), wire::vni_of(kept_portals()),
            wire::load_be<std::uint64_t>(kept_portals() + wire::reduction_offset::word)};
  }
  [[nodiscard]] bool keeps_one_of(MatchWord group) const {
    return kept_bytes != 0 && kept_match().same_group(group);
  }
  [[nodiscard]] SequenceNumber kept_result() const { return wire::load_word(kept_portals()).resno; }
  /// Whether a root that sent this frame missed the kept result.
  [[nodiscard]] bool is_missed_by(MatchWord group, SequenceNumber last_result) const {
    return keeps_one_of(group) &&
           (last_result == no_result || last_result.older_than(kept_result()));
  }
};

class InSwitchRecords {
public:
  /// Makes the records of trees that have in-switch results from now on, and discards those of
  /// trees that changed.
  void adopt(const Tables& before, const Tables& now) {
    if (!before.any_in_switch() && !now.any_in_switch()) {
      return;
    }
    trees_.resize(max_trees);
    for (std::size_t t = 0; t < max_trees; ++t) {
      const TreeNumber tree{static_cast<std::uint16_t>(t)};
      const MulticastEntry& entry = now.tree(tree);
      if (!entry.in_switch) {
        trees_[t].reset();
      } else if (trees_[t] == nullptr || !before.has_same(now, tree)) {
        trees_[t] = std::make_unique<InSwitchRecord[]>(entry.slots());
      }
    }
  }
  /// Requires a tree with in-switch results, and an id that it has.
  [[nodiscard]] InSwitchRecord& operator[](ReductionKey key) {
    return trees_[key.tree().value][key.reduction().value];
  }
  [[nodiscard]] const InSwitchRecord& operator[](ReductionKey key) const {
    return trees_[key.tree().value][key.reduction().value];
  }

private:
  std::vector<std::unique_ptr<InSwitchRecord[]>> trees_; ///< by number; empty if unused so far
};

/// Gives a frame, whose first 50 bytes are those of an arm, the lengths, the form and the checksum
/// of a result of `bytes` bytes.
inline void set_result_shape(std::byte* frame, std::size_t bytes, wire::Form form) {
  std::byte* p = frame + wire::ethernet_header_bytes;
  const bool wide = bytes > wire::reduction_frame_bytes;
  const std::uint16_t request =
      wide ? static_cast<std::uint16_t>(wire::wide_request_length(bytes - wire::wide_header_bytes))
           : static_cast<std::uint16_t>(wire::reduction_request_length);
  wire::store_be<std::uint16_t>(p + wire::portals_offset::total_length,
                                static_cast<std::uint16_t>(bytes - wire::ethernet_header_bytes));
  wire::store_be<std::uint16_t>(p + wire::portals_offset::request_length, request);
  p[wire::portals_offset::form] = wide ? static_cast<std::byte>(form) : std::byte{0};
  wire::write_fabric_header_checksum(p);
}

} // namespace tributary::core
