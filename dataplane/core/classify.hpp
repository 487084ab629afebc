// What a frame is, from its own bytes and the policy of the port it came in on.
//
// One pass, in this order; the first check that fails names the drop:
//
//   1  runt               34 bytes: an Ethernet and a fabric header
//   2  foreign_ethertype  the port's EtherType
//   3  bad_version        0x45
//   4  bad_checksum       where the port verifies; behind it, the fields are what the sender wrote
//   5  source_guard       edge ports: the SFA's NID is the port's own
//   6  vni_not_permitted  edge ports: the VNI is on the port's list
//   7  by destination address:
//        unicast          bad_length      20 <= total length <= bytes present
//        multicast        bad_action      the action is 7
//
// What else a multicast frame must be depends on its tree (`refusal_on`):
//
//        reduction tree   bad_length      total length 80
//                         truncated       94 bytes present; any behind them are ignored
//                         bad_request     request length 49; the opcode in byte 20 may be any
//        ordinary tree    bad_length      20 <= total length <= bytes present
//
// Pure functions. `classify` is on the hot path: it reads words, not fields, and does not yet look
// at any table.
#pragma once

#include "dataplane/core/drop_reason.hpp"
#include "dataplane/core/frame_view.hpp"
#include "dataplane/core/tables.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/reduction.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

namespace tributary::core {

/// The shortest frame that can be looked at.
inline constexpr std::uint32_t shortest_frame_bytes =
    wire::ethernet_header_bytes + wire::fabric_header_bytes;

enum class FrameKind : std::uint8_t {
  refused,
  reduction, ///< multicast, and has all a reduction tree asks for
  multicast, ///< multicast, and lacks something a reduction tree asks for
  unicast,
};

struct Classified {
  FrameKind kind = FrameKind::refused;
  DropReason reason{}; ///< `refused`
  ReductionKey key{};  ///< `reduction`, `multicast`
  Nid destination{};   ///< `unicast`
};

/// Three bytes and a zero, as a word in memory holds them.
constexpr std::uint32_t word_of_bytes(unsigned a, unsigned b, unsigned c) {
  return std::bit_cast<std::uint32_t>(std::array<std::uint8_t, 4>{
      static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b), static_cast<std::uint8_t>(c), 0});
}

/// A port's policy, made ready for comparisons. Cheap to make: once per burst. Refers to the
/// policy.
class IngressCheck {
public:
  explicit IngressCheck(const PortPolicy& policy)
      : expected_(word_of_bytes(policy.ethertype >> 8, policy.ethertype & 0xFFU,
                                wire::portals_version_ihl)),
        verify_checksum_(policy.verify_checksum),
        guard_mask_(policy.nid ? ~wire::FabricAddress::unicast(Nid{0}, 0xFFF).value : 0),
        guarded_source_(policy.nid ? wire::FabricAddress::unicast(*policy.nid).value : 0),
        vnis_(policy.vnis.get()) {}

  [[nodiscard]] Classified classify(FrameView frame) const {
    if (frame.length < shortest_frame_bytes) [[unlikely]] {
      return refused(DropReason::runt);
    }
    const std::byte* p = frame.data + wire::ethernet_header_bytes;
    // EtherType and version/ihl stand side by side.
    std::uint32_t beginning;
    std::memcpy(&beginning, frame.data + ethertype_offset, sizeof beginning);
    const std::uint32_t sfa = wire::sfa_of(p).value;
    if (((beginning ^ expected_) & beginning_mask) != 0 || (verify_checksum_ && !checksum_ok(p)) ||
        ((sfa ^ guarded_source_) & guard_mask_) != 0 ||
        (vnis_ != nullptr && !(*vnis_)[wire::vni_of(p).value])) [[unlikely]] {
      return refused(refusal_of_header(frame));
    }
    const wire::FabricAddress dfa = wire::dfa_of(p);
    if (!dfa.is_multicast()) {
      if (!fits(frame)) [[unlikely]] {
        return refused(DropReason::bad_length);
      }
      return {.kind = FrameKind::unicast, .destination = dfa.nid()};
    }
    if (dfa.action() != multicast_action) [[unlikely]] {
      return refused(DropReason::bad_action);
    }
    return {.kind = is_reduction(frame) ? FrameKind::reduction : FrameKind::multicast,
            .key = ReductionKey(dfa.tree(), dfa.reduction())};
  }

private:
  static constexpr std::size_t ethertype_offset = 12;
  static constexpr std::uint32_t multicast_action = 7;

  static constexpr Classified refused(DropReason reason) {
    return {.kind = FrameKind::refused, .reason = reason};
  }
  /// The ones' complement sum is all ones exactly when the plain sum of the words is a multiple of
  /// 0xFFFF (it is not 0: the version is among them). A multiplication decides that without
  /// folding.
  static bool checksum_ok(const std::byte* portals) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < wire::fabric_header_bytes; i += 4) {
      std::uint32_t word;
      std::memcpy(&word, portals + i, sizeof word);
      sum += word;
    }
    return sum % 0xFFFF == 0;
  }
  static bool fits(FrameView frame) {
    const std::uint32_t total = wire::total_length_of(frame.data + wire::ethernet_header_bytes);
    return total >= wire::fabric_header_bytes &&
           total + wire::ethernet_header_bytes <= frame.length;
  }
  static bool is_reduction(FrameView frame) {
    const std::byte* p = frame.data + wire::ethernet_header_bytes;
    return frame.length >= wire::reduction_frame_bytes &&
           wire::total_length_of(p) == wire::reduction_packet_bytes &&
           wire::request_length_of(p) == wire::reduction_request_length;
  }
  /// Which check of the header failed. Requires that one did.
  [[nodiscard, gnu::cold]] DropReason refusal_of_header(FrameView frame) const;

  friend std::optional<DropReason> refusal_on(const MulticastEntry& entry, FrameView frame);

  static constexpr std::uint32_t ethertype_mask = word_of_bytes(0xFF, 0xFF, 0);
  static constexpr std::uint32_t beginning_mask = word_of_bytes(0xFF, 0xFF, 0xFF);
  std::uint32_t expected_;
  bool verify_checksum_;
  std::uint32_t guard_mask_;
  std::uint32_t guarded_source_;
  const VniSet* vnis_;
};

/// Why a multicast frame does not suit its tree; nothing if it does. Requires a `valid` entry.
[[nodiscard]] std::optional<DropReason> refusal_on(const MulticastEntry& entry, FrameView frame);

} // namespace tributary::core
