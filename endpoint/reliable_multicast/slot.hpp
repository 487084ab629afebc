// The state of one window of a member, and of the acknowledgements under its id. A member has S of
// them: window w has slot w mod S.
//
//   absent --call entered, w - S complete--> open --all chunks here--> full --result all ones-->
//      |                                                                        absent, of w + S
//      | data: kept in the slot's memory until it opens
//
// The slot's memory, K chunks, is allocated with its first use. It holds what arrives before the
// window opens, and from then on what the member has yet to send again after its call returned: the
// two never overlap in time, for data of w + S says that w is complete.
#pragma once

#include "endpoint/collective/sequence.hpp"
#include "endpoint/collective/trees.hpp"
#include "endpoint/reliable_multicast/chunk_set.hpp"
#include "endpoint/reliable_multicast/operation.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/reduction.hpp"
#include "tributary/wire/shared.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tributary::reliable_multicast {

enum class WindowState : std::uint8_t { absent, open, full };

/// A chunk as it is named in a frame.
struct NamedChunk {
  std::uint32_t rank = 0;
  std::uint32_t bytes = 0;
};

struct Slot {
  explicit Slot(std::uint64_t first, std::uint32_t window_chunks)
      : window(first), chunks(window_chunks), contributed_to(window_chunks), kept(window_chunks) {}

  WindowState state = WindowState::absent;
  std::uint64_t window; ///< the one that is open or full, or the next one
  /// Whose memory it uses; null if none does: the call has returned, or the window is absent.
  Operation* operation = nullptr;
  CallShape call; ///< unless absent
  std::uint32_t count = 0;
  std::vector<Chunk> chunks; ///< the first `count`
  ChunkSet missing;          ///< not here
  ChunkSet lost;             ///< of these: what was sent later has overtaken them
  ChunkSet own;
  ChunkSet unsent; ///< of its own
  ChunkSet resend; ///< of its own
  bool resend_last_twice = false;

  // Of windows that are reduced (pieces.cpp).
  std::optional<SequenceNumber> pieces_heard; ///< the newest one that opened pieces under its ids
  ChunkSet opened_early;                      ///< pieces that it opened before the window was here
  ChunkSet contributed;                       ///< pieces that this member has contributed to
  std::vector<SequenceNumber> contributed_to; ///< the sequence of each of these
  std::uint32_t resends = 0;                  ///< rounds of them: which tree they take
  std::uint8_t round = wire::first_round;     ///< of the last result with holes

  std::unique_ptr<std::byte[]> memory; ///< K chunks; null before the first use
  ChunkSet early;                      ///< chunks in it that wait for the window to open
  std::vector<NamedChunk> kept;        ///< of these

  // The acknowledgement.
  std::optional<SequenceNumber> heard; ///< the newest sequence that was opened, on any tree
  collective::TreeSet heard_on;
  TimeNs heard_at;
  bool acknowledged = false; ///< under that sequence
  collective::TreeSet acknowledged_on;
  bool acknowledged_full = false;       ///< this window, as full
  std::optional<SequenceNumber> result; ///< the last one of this window
  TimeNs opened_at;
  TimeNs gap_since;      ///< last new chunk, opening, or end of a gap
  bool has_data = false; ///< a chunk of another rank has come
  std::uint64_t gap_ns = 0;
  bool measured = false; ///< no timer and no hole since it opened
  TimeNs request_at = never;
  std::uint64_t request_interval_ns = 0;
};

/// The root's part: the sequences of one id.
struct Question {
  struct Gathered {
    wire::Payload bits{};
    ContributionCount count = 0;
    std::uint64_t signatures = 0;
  };

  bool armed = false;    ///< a sequence was opened
  bool arm_void = false; ///< on trees that the group has left
  SequenceNumber sequence;
  TimeNs armed_at;
  std::array<Gathered, collective::max_group_trees> gathered{}; ///< by tree
  /// The last result.
  wire::ReductionWord last{.seqno = {}, .resno = collective::no_sequence};
  wire::Payload last_bits{};
  TimeNs asked_at;
  TimeNs retry_at = never;
  std::uint32_t retries = 0; ///< of this window
  std::uint32_t refused = 0;
  std::uint32_t holes = 0;              ///< results with holes of this window
  std::uint32_t lacking = 0;            ///< holes of the last one of these
  std::optional<SequenceNumber> pieces; ///< of a window that is reduced: the last one opened
  TimeNs progress_at;                   ///< when the window opened, or its holes became fewer
  bool calls_roll = false;
};

} // namespace tributary::reliable_multicast
