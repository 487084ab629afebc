// The guard: nftables rules on the egress hooks of this node, as text for `nft -f`. They decide
// what a packet socket of the agent may send, by the socket's mark, whatever its program does with
// it.
//
// On the fabric's interface a frame with a mark of the agent must be, all at once:
//
//   offset in the frame   bits   is
//    6                    48     the interface's own address, or 02:00:00 and the NID (source)
//   12                    16     the fabric's EtherType
//   14                     8     0x45: a fabric header, not a hello
//   18                    16     the VNI of the mark, by the set `allowed`
//   26                    20     the host's NID, in the source address of the fabric header
//
// The rules list what is right and drop the rest: a frame sent with PACKET_QDISC_BYPASS matches no
// rule that looks into it. On every other interface all frames with such a mark are dropped. Frames
// with other marks, or none, pass everywhere.
//
// All rules are in one table, which a new text replaces in one transaction; so are its counters,
// whose values are carried over. The set `highest` has the mark given last: an agent that takes
// over the table knows from it which marks were given already. Pure.
#pragma once

#include "endpoint/agent/job.hpp"
#include "tributary/wire/ethernet.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::host_agent {

inline constexpr std::string_view guard_table = "tributary_host";

/// What the counters of the guard count, in the order of the rules.
enum class GuardCounter : std::uint8_t {
  passed,
  wrong_ethertype,
  wrong_source, ///< not the interface's address
  wrong_header, ///< not a fabric header: a hello, or anything else
  wrong_nid,    ///< not this host
  wrong_vni,    ///< not the job's, or the job has ended
  unreadable,   ///< sent with PACKET_QDISC_BYPASS
  other_interface,
};
inline constexpr std::size_t guard_counters = 8;
constexpr std::string_view name_of(GuardCounter counter) {
  constexpr std::array<std::string_view, guard_counters> names = {
      "passed",    "wrong_ethertype", "wrong_source", "wrong_header",
      "wrong_nid", "wrong_vni",       "unreadable",   "other_interface"};
  return names[static_cast<std::size_t>(counter)];
}

struct GuardCount {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const GuardCount&, const GuardCount&) = default;
};
using GuardCounts = std::array<GuardCount, guard_counters>;

/// What is guarded.
struct Guarded {
  std::uint16_t ethertype = wire::default_ethertype;
  std::string interface {}; ///< of the fabric; empty while it does not exist
  wire::MacAddress address{};
  Nid nid{};
  std::vector<std::string> others{}; ///< every other interface of the namespace
  Mark prefix{};                     ///< of all marks

  friend bool operator==(const Guarded&, const Guarded&) = default;
};

/// A mark, and the VNI that its frames may have.
struct Allowance {
  Mark mark{};
  Vni vni{};
};

/// Whether a rule can name the interface: the kernel allows names with characters that nft cannot
/// read, or reads as something else.
[[nodiscard]] bool can_guard(std::string_view interface);

/// The whole table: replaces whatever table of this name there is.
[[nodiscard]] std::string guard_text(const Guarded& guarded, std::span<const Allowance> allowed,
                                     Mark highest, const GuardCounts& carried);
/// Changes of the set of marks, for a table that is there. `highest` is the mark given last.
[[nodiscard]] std::string allow_text(const Allowance& allowance, Mark previous_highest,
                                     Mark highest);
[[nodiscard]] std::string forbid_text(std::span<const Allowance> allowances);

// Answers of `nft --json list table netdev tributary_host`.

/// What a table in force says of itself.
struct GuardState {
  GuardCounts counts{};
  std::optional<Mark> highest{};
  std::size_t allowed = 0; ///< elements of the set
  /// One for each interface; the kernel removes that of an interface that goes away, or keeps it
  /// for the next one of that name. (nft 1.0.6 does not say which interface a chain is for.)
  std::size_t chains = 0;
};
/// Empty if the text is not such an answer.
[[nodiscard]] std::optional<GuardState> guard_state(std::string_view json);

} // namespace tributary::host_agent
