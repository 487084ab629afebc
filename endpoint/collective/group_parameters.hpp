// Everything the members of one reduction group must know before the first frame. All but `rank`,
// `nid` and the two MAC addresses must be the same at every member.
#pragma once

#include "endpoint/collective/trees.hpp"
#include "tributary/reduce/accumulator.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/ethernet.hpp"
#include "tributary/wire/reduction.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tributary::collective {

/// The dialect of a group: spoken with peers of its own kind, or with a public libfabric `cxi`
/// host, which knows neither contribution signatures nor the leaving handshake, fixes the cookie by
/// a pattern, and announces an arm with a pre-arm (sequence 1022).
enum class Dialect : std::uint8_t { native, cxi };

struct GroupParameters {
  TreeNumber tree;
  /// The second tree of a group that reduces on two trees at the same time (trees.hpp), with the
  /// same root, VNI and cookie.
  std::optional<TreeNumber> twin;
  Vni vni;
  /// Ignored in the `cxi` dialect, which computes one for each reduction id.
  Cookie cookie;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t root_rank = 0;

  /// NID of this host, the source address of its frames.
  Nid nid;
  /// The root's host. A leaf that knows it ignores frames from above with any other source.
  std::optional<Nid> root_nid;
  std::uint16_t ethertype = wire::default_ethertype;
  wire::MacAddress destination{}; ///< destination address of every frame sent: the switch port's
  wire::MacAddress source{};

  /// The root arms the engines of the tree. Without, every contribution reaches the root
  /// uncombined. Read at the root alone.
  bool armed = true;
  Dialect dialect = Dialect::native;
  /// Contributions carry a signature and the root verifies their sum, so that a duplicate is never
  /// taken for a missing contribution. Always off in the `cxi` dialect.
  bool check_contributions = true;
  reduce::NanMode nan_mode = reduce::NanMode::associative;

  /// The root's first wait for contributions before it asks again under a new sequence; doubles
  /// with each retry of one reduction up to `retry_backoff_limit` times this.
  std::uint64_t retry_ns = 32'000'000;
  /// How long an engine may hold a reduction. The root arms again at half of it; a leaf that
  /// received nothing for all of it waits for the next arm instead of sending into engines that let
  /// go.
  std::uint64_t collective_timeout_ns = 20'000'000'000;
  /// The longest a leaf that waits for a result stays silent. It sends its first request after
  /// `first_request_retries` times `retry_ns`; the wait then doubles up to this.
  std::uint64_t result_timeout_ns = 1'600'000'000;
  /// The longest that leaving may wait for the others.
  std::uint64_t leave_timeout_ns = 20'000'000'000;
  /// The longest that a root that left still answers requests for the last result; it ends early
  /// once every leaf has sent its leave frame.
  std::uint64_t leave_grace_ns = 4'800'000'000;
  /// How long the group waits for a member that does not contribute, before it ends with the names
  /// of those that are missing; 0: forever. At the root from inject on; a leaf that waits and
  /// receives nothing from the root for this long takes the root for missing.
  std::uint64_t member_timeout_ns = 0;
  /// Whether the members' contributions carry the mark of their call (call_mark.hpp). At the root:
  /// it announces this to the leaves, which then send marks.
  bool sends_marks = false;
  /// First sequence of the root, 0 to 1021.
  SequenceNumber first_sequence{0};
  /// Reductions in flight: the ids of the group's trees that its members use, a power of two. All
  /// of them, which are S: 8, or up to 128 where the trees have as many slots; or a range that
  /// others do not use (a context), down to one id.
  std::uint32_t slots = reductions_per_tree;
  /// The first id of the range.
  ReductionId first_id{0};
  /// S of the trees where the members use a range of their ids; 0: S is `slots`.
  std::uint32_t tree_slots = 0;
  /// How many pieces this member may have in flight, at most S: fewer where it cannot receive that
  /// many in one burst. At least 1.
  std::uint32_t window = most_reductions_per_tree;
  /// P, the longest payload of the group's frames; more than 32 where they may be wide.
  std::uint32_t payload = sizeof(wire::Payload);

  /// In-switch results: the switch next to the root sends the result itself. The root contributes
  /// like a leaf, and every member verifies by the signatures that a result includes every member
  /// once (root_in_switch.cpp).
  bool in_switch = false;

  /// Any member may multicast on the trees (endpoint/reliable_multicast).
  bool shared = false;

  [[nodiscard]] std::size_t tree_count() const { return twin ? 2 : 1; }
  /// S of the trees.
  [[nodiscard]] std::uint32_t ids_of_tree() const { return tree_slots == 0 ? slots : tree_slots; }
  [[nodiscard]] TreeNumber tree_at(TreeIndex index) const { return index == 0 ? tree : *twin; }
  /// Whether vectors travel in wide frames.
  [[nodiscard]] bool is_wide() const { return payload > sizeof(wire::Payload); }
  [[nodiscard]] bool is_root() const { return rank == root_rank; }
  [[nodiscard]] bool checks() const { return check_contributions && dialect == Dialect::native; }
  [[nodiscard]] bool marks_calls() const { return sends_marks && checks(); }
  /// The cookie of the frames of one reduction id.
  [[nodiscard]] Cookie cookie_of(ReductionId id) const {
    return dialect == Dialect::cxi
               ? Cookie{0x677D0000U | std::uint32_t{id.value} << 13 | tree.value}
               : cookie;
  }
};

inline constexpr std::uint64_t retry_backoff_limit = 32;
inline constexpr std::uint64_t first_request_retries = 4;
/// Least member time-out, in retry intervals: a root that waits sends once per longest retry
/// interval, so with a shorter one a leaf would take it for missing.
inline constexpr std::uint64_t least_member_timeout_retries = 2 * retry_backoff_limit;

/// A message for people about what is wrong with these parameters, or an empty string.
[[nodiscard]] std::string fault_of(const GroupParameters& parameters);

} // namespace tributary::collective
