// Partial aggregates: contributions to one reduction, combined by a worker that does not own the
// reduction's engine, on their way to the worker that does.
//
// If the leaves of a tree are on ports of several workers, most contributions arrive at a worker
// that does not own the engine. Handed over one by one, each costs the engine's worker what it
// costs without other workers, and the transfer of its cache lines besides. So each worker combines
// the contributions that one round of polling brought it for a reduction, and hands them over as
// one: a subtotal.
//
//   frame --> summand()?  --yes-->  SubtotalTable  --end of round-->  take_subtotal()?  --> done
//                | no                                                     | no
//                +--> the frame is handed over alone                       +--> frame by frame
//
// A subtotal is a shortcut and never an answer. The worker that makes it knows nothing of the
// engine: whether it is armed, for which sequence, which ports it has counted. So the frames travel
// along, and if the engine cannot take all of them exactly as it would take one after the other,
// they are processed individually. The conditions:
//
//   at its worker (`summand`)      the frame passes its port's checks, its tree has the port as a
//                                  child, and it is plain (frame_image.hpp); where one endpoint is
//                                  behind the port it counts 1. It may be grouped (grouping.hpp)
//   in its table (`SubtotalTable`) VNI, cookie, sequence and operation are the same; no port twice
//                                  that counts once
//   at the engine's worker         the same tables; the descriptor waits for, or holds, just that;
//   (`take_subtotal`)              the held data may be grouped with it; no port counted before;
//                                  not more contributions than are waited for
//
// Order: frames of one key at one port stay in order, as any frame that is not combined closes the
// key's subtotal first.
#pragma once

#include "dataplane/core/descriptor.hpp"
#include "dataplane/core/frame_view.hpp"
#include "dataplane/core/grouping.hpp"
#include "dataplane/core/switch_core.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tributary::core {

/// A subtotal in progress. Only its worker ever has these cache lines.
struct alignas(64) OpenSubtotal {
  reduce::Accumulator sum;     ///< with `contributions`
  MatchWord match;             ///< as a frame carries it; matches nothing while there is no frame
  std::uint64_t signature = 0; ///< the top byte is not part of it

  ReductionKey key;
  std::uint8_t size = 0; ///< frames
  PortSet once;          ///< ports that count once, among its ingress ports
  FrameView first;
  std::array<PortNumber, most_grouped> in; ///< ingress port of each frame
  std::array<void*, most_grouped> frames;  ///< owned by the shell

  [[nodiscard]] PortNumber last_in() const { return in[size - std::size_t{1}]; }
  void append(void* frame, PortNumber port) {
    in[size] = port;
    frames[size++] = frame;
  }
};
static_assert(offsetof(OpenSubtotal, key) == 64 && offsetof(OpenSubtotal, frames) == 128);

/// A subtotal as handed over: written by the worker that made it, only read by the engine's worker.
///
///   line 0        all that the engine checks
///   line 1        if the subtotal begins a reduction: its first frame
///   line 2 to 5   the single frames: only if they are not taken as a whole, or are traced
class alignas(64) Subtotal {
public:
  /// Requires a subtotal that has frames and may be grouped. False: it does not fit into the lines,
  /// and nothing has changed.
  [[nodiscard]] bool set(const OpenSubtotal& open) {
    const reduce::Accumulator& sum = open.sum;
    if (sum.contributions > max_contributions || sum.rc != wire::ResultCode::success ||
        sum.repsum_overflow || sum.repsum_inexact) [[unlikely]] {
      return false;
    }
    payload_ = sum.payload;
    match_ = open.match;
    signature_and_size_ = (open.signature & wire::signature_mask) | std::uint64_t{open.size}
                                                                        << size_at;
    once_ = open.once;
    rest_ = std::uint64_t{open.key.index()} << key_at |
            std::uint64_t{sum.contributions} << contributions_at |
            std::uint64_t{static_cast<std::uint8_t>(sum.op)} << op_at |
            std::uint64_t{static_cast<std::uint8_t>(sum.m)} << m_at |
            std::uint64_t{sum.overflow_id} << overflow_id_at |
            std::uint64_t{sum.signalling_lanes} << signalling_at;
    first_ = open.first;
    in_ = open.in;
    constexpr std::size_t at_once = 8; // copying more costs less than counting them
    static_assert(most_grouped % at_once == 0);
    for (std::size_t i = 0; i < open.size; i += at_once) {
      std::memcpy(&frames_[i], &open.frames[i], at_once * sizeof frames_[i]);
    }
    return true;
  }

  // The first line.

  [[nodiscard]] const wire::Payload& payload() const { return payload_; }
  [[nodiscard]] MatchWord match() const { return match_; }
  /// The top byte is not part of it.
  [[nodiscard]] std::uint64_t signature() const { return signature_and_size_; }
  [[nodiscard]] std::size_t size() const { return signature_and_size_ >> size_at; }
  [[nodiscard]] PortSet once() const { return once_; }
  [[nodiscard]] ReductionKey key() const {
    return ReductionKey::from_index(static_cast<std::uint32_t>(field(key_at, contributions_at)));
  }
  [[nodiscard]] ContributionCount contributions() const {
    return static_cast<ContributionCount>(field(contributions_at, op_at));
  }
  [[nodiscard]] wire::Opcode op() const { return static_cast<wire::Opcode>(field(op_at, m_at)); }
  [[nodiscard]] std::int8_t m() const {
    return static_cast<std::int8_t>(field(m_at, overflow_id_at));
  }
  [[nodiscard]] std::uint8_t overflow_id() const {
    return static_cast<std::uint8_t>(field(overflow_id_at, signalling_at));
  }
  [[nodiscard]] std::uint8_t signalling_lanes() const {
    return static_cast<std::uint8_t>(rest_ >> signalling_at);
  }

  // The others.

  [[nodiscard]] const FrameView& first() const { return first_; }
  [[nodiscard]] PortNumber in(std::size_t i) const { return in_[i]; }
  [[nodiscard]] void* frame(std::size_t i) const { return frames_[i]; }
  [[nodiscard]] void* const* frames() const { return frames_.data(); }

private:
  static constexpr int size_at = 56;
  static_assert(wire::signature_mask == (std::uint64_t{1} << size_at) - 1);
  static constexpr int key_at = 0;
  static constexpr int contributions_at = 20;
  static constexpr int op_at = 40;
  static constexpr int m_at = 46;
  static constexpr int overflow_id_at = 54;
  static constexpr int signalling_at = 56;
  static_assert(all_reduction_keys <= std::size_t{1} << contributions_at &&
                max_contributions < ContributionCount{1} << (op_at - contributions_at) &&
                wire::opcode_count <= std::size_t{1} << (m_at - op_at));
  [[nodiscard]] std::uint64_t field(int at, int end) const {
    return rest_ >> at & ((std::uint64_t{1} << (end - at)) - 1);
  }

  alignas(16) wire::Payload payload_{};
  MatchWord match_;
  std::uint64_t signature_and_size_ = 0;
  PortSet once_;
  std::uint64_t rest_ = 0;

  alignas(64) FrameView first_;
  std::array<PortNumber, most_grouped> in_{};

  alignas(64) std::array<void*, most_grouped> frames_{};
};
static_assert(sizeof(Subtotal) == 6 * std::size_t{64}, "and no line is another subtotal's");

/// Member by member, as it was written a moment ago: a wider load would wait for those stores.
inline void copy_view(FrameView& to, const FrameView& from) {
  to.data = from.data;
  to.length = from.length;
  to.traffic_class = from.traffic_class;
}

/// Element `i` of an array of the shell's pointers, of whatever type.
inline void* frame_at(const std::byte* frames, std::size_t i) {
  void* one = nullptr;
  std::memcpy(&one, frames + i * sizeof one, sizeof one);
  return one;
}
inline void move_frame(FrameView* views, std::byte* frames, std::size_t from, std::size_t to) {
  std::memcpy(frames + to * sizeof(void*), frames + from * sizeof(void*), sizeof(void*));
  copy_view(views[to], views[from]);
}

/// A burst from one port, and the owners of its engines. Frames whose engines are this core's own
/// are moved to the front.
struct Steering {
  std::span<FrameView> views{};
  std::byte* frames = nullptr;          ///< as many pointers, of the shell's type
  std::uint32_t may_add = 0;            ///< bit i: the shell allows frame i in a subtotal
  const std::uint8_t* owners = nullptr; ///< by port
  std::size_t self = 0;                 ///< an owner
  std::size_t kept = 0;                 ///< number of frames that are this core's own

  /// Keeps frame `i`, which is not kept yet.
  void keep(std::size_t i) { move_frame(views.data(), frames, i, kept++); }
};

/// Subtotals in progress, of one worker and switch. No other worker ever has these cache lines:
/// data that is read repeatedly stays cached, and the engine's worker gets a copy.
///
/// As with descriptors, those of a tree's reductions are contiguous, in a row. Trees share rows: a
/// tree that finds another tree's subtotals there has them closed.
///
///     struct Shell {
///       void cross(void* frame, PortNumber in, std::uint32_t owner);    a single frame
///       void cross(const OpenSubtotal& subtotal, std::uint32_t owner);      with all its frames
///     };
class SubtotalTable {
public:
  /// Adds a contribution that `SwitchCore::summand` accepts.
  template <typename Shell>
  void add(const SwitchCore& core, const Summand& summand, std::uint32_t owner, Shell&& shell) {
    const TreeNumber tree = summand.key.tree();
    if (!may_take_row(tree)) {
      const std::size_t first = row_of(tree) * reductions_per_tree;
      for (std::size_t place = first; place < first + reductions_per_tree; ++place) {
        close(place, shell);
      }
    }
    take_row(tree, owner);
    const std::size_t place = place_of(summand.key);
    OpenSubtotal& open = open_[place];
    if (open.size != 0) {
      if (open.match == summand.match && core.add_to_subtotal(open, summand)) {
        return;
      }
      close(place, shell);
    }
    core.begin_subtotal(open, summand);
    plain_ = PlainWord::of(summand.packed);
    opened(open);
  }
  /// Call before a frame of this key is handed over alone. Closes the subtotals of its reduction id
  /// and of all ids with the same low bits, as a tree may ignore the others.
  template <typename Shell> void close(ReductionKey key, Shell&& shell) {
    if (tree_[row_of(key.tree())] == key.tree()) {
      close(place_of(key), shell);
    }
  }
  /// Call at the end of a round.
  template <typename Shell> void close_all(Shell&& shell) {
    for (std::size_t i = 0; i < listed_count_; ++i) {
      close(std::size_t{listed_[i]}, shell);
    }
    listed_count_ = 0;
    is_listed_ = 0;
    if (added_ < closed_ * worth_copying) {
      pausing_ = pause_bursts;
    }
    closed_ = 0;
    added_ = 0;
  }
  /// Whether to combine the next burst. If a round gathered few contributions per reduction, as
  /// from ports that have one leaf each and are the only ones here, or from leaves that send in
  /// different orders, combining costs more than it saves, and pauses.
  [[nodiscard]] bool adds_up() { return pausing_ == 0 || --pausing_ == 0; }
  [[nodiscard]] bool empty() const { return listed_count_ == 0; }

private:
  friend class SwitchCore; // its fast path adds to open subtotals
  static constexpr std::size_t rows = 8;
  static constexpr std::size_t places = rows * reductions_per_tree;
  /// Number of frames from which on a subtotal moves fewer cache lines than they do, which pays for
  /// its copy.
  static constexpr std::size_t worth_copying = 2;
  static constexpr std::uint32_t pause_bursts = 1024;
  static std::size_t row_of(TreeNumber tree) { return (tree.value ^ tree.value / rows) % rows; }
  static std::size_t place_of(ReductionKey key) {
    return row_of(key.tree()) * reductions_per_tree + key.reduction().value % reductions_per_tree;
  }
  /// Whether no subtotal of another tree is open in the row.
  [[nodiscard]] bool may_take_row(TreeNumber tree) const {
    const std::size_t row = row_of(tree);
    return tree_[row] == tree || (is_open_ >> row * reductions_per_tree & 0xFFU) == 0;
  }
  void take_row(TreeNumber tree, std::uint32_t owner) {
    tree_[row_of(tree)] = tree;
    owners_[row_of(tree)] = static_cast<std::uint8_t>(owner);
  }
  [[nodiscard]] OpenSubtotal* row(TreeNumber tree) {
    return &open_[row_of(tree) * reductions_per_tree];
  }
  /// Registers a subtotal with its first contribution.
  void opened(const OpenSubtotal& open) {
    const auto place = static_cast<std::size_t>(&open - open_.data());
    const std::uint64_t bit = std::uint64_t{1} << place;
    is_open_ |= bit;
    if ((is_listed_ & bit) == 0) {
      is_listed_ |= bit;
      listed_[listed_count_++] = static_cast<std::uint8_t>(place);
    }
  }
  template <typename Shell> void close(std::size_t place, Shell& shell) {
    OpenSubtotal& open = open_[place];
    if (open.size == 0) {
      return;
    }
    const std::uint32_t owner = owners_[place / reductions_per_tree];
    ++closed_;
    added_ += open.size;
    if (open.size < worth_copying) {
      for (std::size_t i = 0; i < open.size; ++i) {
        shell.cross(open.frames[i], open.in[i], owner);
      }
    } else {
      shell.cross(open, owner);
    }
    open.size = 0;
    open.match = {};
    is_open_ &= ~(std::uint64_t{1} << place);
  }

  std::array<OpenSubtotal, places> open_;     ///< those with frames
  std::array<TreeNumber, rows> tree_{};       ///< tree of each row
  std::array<std::uint8_t, rows> owners_{};   ///< owner of that tree's engine
  PlainWord plain_;                           ///< of the subtotal opened last
  std::array<std::uint8_t, places> listed_{}; ///< places that were opened in this round
  std::uint64_t is_listed_ = 0;               ///< bits by place
  std::uint64_t is_open_ = 0;                 ///< the same
  static_assert(places == 64 && reductions_per_tree == 8);
  std::size_t listed_count_ = 0;
  std::size_t closed_ = 0;    ///< in this round
  std::size_t added_ = 0;     ///< frames in closed subtotals
  std::uint32_t pausing_ = 0; ///< remaining bursts of the pause
};

} // namespace tributary::core
