// What a frame is, from its own bytes and the policy of its ingress port.
//
// One pass, in this order; the first check that fails names the drop:
//
//   1  runt               34 bytes: an Ethernet and a fabric header
//      too_long           the process's longest frame
//   2  foreign_ethertype  the port's EtherType; or LLDP, if the port accepts it; or any other, if
//                         the port forwards foreign frames, which are checked no further, except
//                         for
//      link_local         an address that no bridge forwards
//   3  bad_version        0x45; or a hello, which has checks of its own:
//        bad_hello        wire/hello.hpp
//        link_hello_from_host   edge ports with a source guard
//   4  bad_checksum       if the port verifies; from here on, the fields are what the sender wrote
//   5  source_guard       edge ports: the SFA's NID is the port's own
//   6  vni_not_permitted  edge ports: the VNI is on the port's list
//   7  by destination address:
//        unicast          bad_length      20 <= total length <= bytes present
//        multicast        bad_action      the action is 7
//
// The other checks of a multicast frame depend on its tree (`refusal_on`):
//
//        reduction tree   bad_length        total length 80; or a wide frame's, as far as the tree
//                                           allows
//                         truncated         94 bytes present, or all of a wide frame; further
//                                           ones are ignored
//                         bad_request       request length 49, or that of the vector; the opcode in
//                                           byte 20 may be any
//                         bad_form          of a wide frame: wide_shape.hpp
//                         bad_reduction_id  one that the tree has
//        ordinary tree    bad_length      20 <= total length <= bytes present
//
// Pure functions. `classify` is on the hot path: it reads words, not fields, and does not yet look
// at any table.
#pragma once

#include "dataplane/core/descriptor.hpp"
#include "dataplane/core/drop_reason.hpp"
#include "dataplane/core/frame_image.hpp"
#include "dataplane/core/frame_view.hpp"
#include "dataplane/core/tables.hpp"
#include "dataplane/core/wide_shape.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/reduction.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

namespace tributary::core {

/// The shortest frame that can be examined.
inline constexpr std::uint32_t shortest_frame_bytes =
    wire::ethernet_header_bytes + wire::fabric_header_bytes;

enum class FrameKind : std::uint8_t {
  reduction, ///< multicast, valid for any reduction tree: 84 bytes, an id below 8
  wide,      ///< multicast, possibly valid only for trees with wide frames: such a frame, or one of
             ///< 84 bytes with a higher id; its tree decides
  multicast, ///< any other multicast
  unicast,
  hello,   ///< for the switch's agent
  lldp,    ///< for the switch's LLDP station
  foreign, ///< not of the fabric, forwarded unchanged
  refused,
};

/// The answer, packed into a word. Default construction leaves it uninitialised, so that an array
/// for a burst costs nothing to make.
class Classified {
public:
  Classified() = default;
  static constexpr Classified refused(DropReason reason) {
    return Classified(FrameKind::refused, static_cast<std::uint32_t>(reason));
  }
  static constexpr Classified multicast(ReductionKey key, bool suits_reductions) {
    return Classified(suits_reductions ? FrameKind::reduction : FrameKind::multicast, key.index());
  }
  static constexpr Classified wide(ReductionKey key) {
    return Classified(FrameKind::wide, key.index());
  }
  static constexpr Classified unicast(Nid destination) {
    return Classified(FrameKind::unicast, destination.value);
  }

  static constexpr Classified hello() { return Classified(FrameKind::hello, 0); }
  static constexpr Classified lldp() { return Classified(FrameKind::lldp, 0); }
  static constexpr Classified foreign(PortNumber to) {
    return Classified(FrameKind::foreign, to.value);
  }

  [[nodiscard]] constexpr FrameKind kind() const {
    return static_cast<FrameKind>(bits_ >> value_bits);
  }
  /// Drop reason of a `refused` frame.
  [[nodiscard]] constexpr DropReason reason() const { return static_cast<DropReason>(value()); }
  /// Whether an engine may be involved.
  [[nodiscard]] constexpr bool may_reduce() const { return kind() <= FrameKind::wide; }
  /// Key of a `reduction`, `wide` or `multicast` frame; for `multicast` always with an id below 8.
  /// Unspecified for other kinds.
  [[nodiscard]] constexpr ReductionKey key() const {
    return ReductionKey::from_index(value() & (all_reduction_keys - 1));
  }
  /// Egress port of a `foreign` frame.
  [[nodiscard]] constexpr PortNumber foreign_to() const {
    return PortNumber{static_cast<std::uint8_t>(value())};
  }
  /// Destination of a `unicast` frame.
  [[nodiscard]] constexpr Nid destination() const { return Nid{value()}; }

private:
  static constexpr unsigned value_bits = 24;
  constexpr Classified(FrameKind kind, std::uint32_t value)
      : bits_(static_cast<std::uint32_t>(kind) << value_bits | value) {}
  [[nodiscard]] constexpr std::uint32_t value() const { return bits_ & ((1U << value_bits) - 1); }

  std::uint32_t bits_;
};

/// Whether the frame is at least as long as its header says. Requires a header.
inline bool has_its_length(const FrameView& frame) {
  const std::uint32_t total = wire::total_length_of(frame.data + wire::ethernet_header_bytes);
  // One comparison for both limits.
  return total - wire::fabric_header_bytes <= frame.length - shortest_frame_bytes;
}

/// A port's policy, prepared for comparisons. Prepared once per policy, as it costs a good part of
/// what a frame does. Refers to the policy.
class IngressCheck {
public:
  explicit IngressCheck(const PortPolicy& policy)
      : most_bytes_behind_(policy.longest_frame - shortest_frame_bytes),
        reduction_lengths_(policy.longest_frame < wire::reduction_frame_bytes
                               ? 0
                               : policy.longest_frame + 1 -
                                     static_cast<std::uint32_t>(wire::reduction_frame_bytes)),
        ethertype_(policy.ethertype), verify_checksum_(policy.verify_checksum), lldp_(policy.lldp),
        foreign_to_(policy.foreign_to),
        guard_mask_(policy.nid ? ~wire::FabricAddress::unicast(Nid{0}, 0xFFF).value : 0),
        guarded_source_(policy.nid ? wire::FabricAddress::unicast(*policy.nid).value : 0),
        vnis_(policy.vnis.get()),
        head_(as_on_the_wire(std::uint64_t{policy.ethertype} << 48 |
                             std::uint64_t{wire::portals_version_ihl} << 40 |
                             std::uint64_t{wire::reduction_packet_bytes} << 16)),
        addresses_(as_on_the_wire(std::uint64_t{guarded_source_} << 32 | reduction_address_bits)),
        addresses_mask_(as_on_the_wire(std::uint64_t{guard_mask_} << 32 | reduction_address_bits |
                                       upper_id_bits)) {
    using At = FrameImage;
    At::lay<std::uint8_t>(image_.head, At::version_at, wire::portals_version_ihl, 0xFF);
    At::lay<std::uint16_t>(image_.head, At::total_length_at, wire::reduction_packet_bytes, 0xFFFF);
    At::lay<std::uint16_t>(image_.head, At::ethertype_at, policy.ethertype, 0xFFFF);
    At::lay<std::uint32_t>(image_.head, At::source_at, guarded_source_, guard_mask_);
    At::lay<std::uint32_t>(image_.middle, At::destination_at, reduction_address_bits,
                           reduction_address_bits | upper_id_bits);
    At::lay<std::uint16_t>(image_.middle, At::request_length_at, wire::reduction_request_length,
                           request_length_bits);
  }

  /// Whether the checksum is the only check beside the comparisons, as at most ports.
  [[nodiscard]] bool has_default_policy() const { return verify_checksum_ && vnis_ == nullptr; }

  // `usual`: it is known that the port has the default policy. Callers with many frames ask once.

  template <bool usual = false> [[nodiscard]] Classified classify(const FrameView& frame) const {
    // Multicast in two comparisons, of which a unicast frame fails only the destination address;
    // all else is checked field by field.
    if (has_possible_length(frame)) [[likely]] {
      const std::byte* p = frame.data + wire::ethernet_header_bytes;
      const auto head = load<std::uint64_t>(frame.data + ethertype_offset);
      const std::uint64_t differing =
          ((head ^ head_) & head_mask) |
          ((load<std::uint64_t>(p + wire::portals_offset::sfa) ^ addresses_) & addresses_mask_);
      if ((differing & ~destination_mask) == 0 && passes<usual>(frame)) [[likely]] {
        const wire::FabricAddress dfa = wire::dfa_of(p);
        if (differing == 0) [[likely]] {
          const ReductionKey key(dfa.tree(), dfa.reduction());
          const bool suits = suits_reductions(frame, head);
          return suits ? Classified::multicast(key, true) : classify_other_length(frame, key);
        }
        if (!dfa.is_multicast() && has_its_length(frame)) {
          return Classified::unicast(dfa.nid());
        }
        if ((differing & ~upper_id_mask) == 0) {
          return classify_upper_id(frame);
        }
      }
    }
    return classify_by_field(frame);
  }

  /// Whether a frame passes all checks but those of its destination, which it gives: the fast path
  /// for frames that follow another one. False if the full check is needed.
  template <bool usual = false>
  [[nodiscard]] [[gnu::always_inline]] bool passes_to(const FrameView& frame,
                                                      wire::FabricAddress& destination) const {
    if (!has_possible_length(frame)) [[unlikely]] {
      return false;
    }
    const std::byte* p = frame.data + wire::ethernet_header_bytes;
    const auto addresses = load<std::uint64_t>(p + wire::portals_offset::sfa);
    const std::uint64_t differing =
        ((load<std::uint64_t>(frame.data + ethertype_offset) ^ head_) & head_mask) |
        ((addresses ^ addresses_) & addresses_mask_ & ~destination_mask);
    destination =
        wire::FabricAddress{wire::swap_bytes(static_cast<std::uint32_t>(addresses >> dfa_shift))};
    return differing == 0 && has_its_length(frame) && passes<usual>(frame);
  }
  /// Whether `classify` would return `unicast`, and for which NID.
  template <bool usual = false>
  [[nodiscard]] [[gnu::always_inline]] bool is_unicast(const FrameView& frame,
                                                       Nid& destination) const {
    wire::FabricAddress dfa;
    if (!passes_to<usual>(frame, dfa) || dfa.is_multicast()) [[unlikely]] {
      return false;
    }
    destination = dfa.nid();
    return true;
  }
  /// Whether an address is a tree's, with the action that its frames have.
  [[nodiscard]] static bool is_for_tree(wire::FabricAddress destination) {
    return (destination.value & reduction_address_bits) == reduction_address_bits;
  }

  /// Whether a frame is long enough for a reduction frame of 84 bytes, and not too long for the
  /// port.
  [[nodiscard]] bool may_be_reduction(const FrameView& frame) const {
    return frame.length - static_cast<std::uint32_t>(wire::reduction_frame_bytes) <
           reduction_lengths_;
  }
  /// The checks of a reduction frame before its checksum, prepared as one comparison.
  struct Image {
    ImagePart head;
    ImagePart middle;
    /// All zero if the frame is a reduction frame as far as this compares. Requires
    /// `may_be_reduction`.
    [[nodiscard]] [[gnu::always_inline]] Octets differing(const std::byte* frame) const {
      return head.differing(FrameImage::head(frame)) | middle.differing(FrameImage::middle(frame));
    }
  };
  [[nodiscard]] const Image& image() const { return image_; }
  /// The remaining checks. The checksum first: whether a port verifies it is only asked if it is
  /// wrong.
  template <bool usual = false>
  [[nodiscard]] [[gnu::always_inline]] bool passes(const FrameView& frame) const {
    const std::byte* p = frame.data + wire::ethernet_header_bytes;
    return usual ? checksum_ok(p) : (checksum_ok(p) || !verify_checksum_) && vni_permitted(p);
  }

  /// Whether `classify` would return `reduction`, and for which key.
  template <bool usual = false>
  [[nodiscard]] [[gnu::always_inline]] bool is_reduction(const FrameView& frame,
                                                         ReductionKey& key) const {
    if (!may_be_reduction(frame)) [[unlikely]] {
      return false;
    }
    if (any_bit(image_.differing(frame.data)) || !passes<usual>(frame)) [[unlikely]] {
      return false;
    }
    const wire::FabricAddress dfa = wire::dfa_of(frame.data + wire::ethernet_header_bytes);
    key = ReductionKey(dfa.tree(), dfa.reduction());
    return true;
  }

  /// Whether `classify` would return `wide` for a frame that is not 84 bytes long, and for which
  /// tree and slot.
  template <bool usual = false>
  [[nodiscard]] [[gnu::always_inline]] bool is_wide(const FrameView& frame,
                                                    wire::FabricAddress& dfa) const {
    return passes_to<usual>(frame, dfa) && is_for_tree(dfa) &&
           wire::total_length_of(frame.data + wire::ethernet_header_bytes) !=
               wire::reduction_packet_bytes &&
           !problem_with_wide(frame);
  }

  /// Whether frames must carry the port's own NID as their source.
  [[nodiscard]] bool guarded() const { return guard_mask_ != 0; }

  // The individual checks; each requires a fabric header.

  /// The ones' complement sum is all ones exactly when the plain sum of the words, of whatever
  /// size, is a multiple of 0xFFFF (it is not 0: the version is among them). Folding, swapping and
  /// adding the carry of a 64-bit word at its low end do not change that, and a multiplication
  /// decides it: by the inverse of 0xFFFF, multiples become their quotients, and all others exceed
  /// any quotient. Compilers do so on their own, but not everywhere.
  [[nodiscard]] static bool checksum_ok(const std::byte* portals) {
    static_assert(wire::fabric_header_bytes == 20);
    std::uint64_t sum = 0;
    std::uint64_t middle = load<std::uint32_t>(portals + sizeof sum);
    middle += __builtin_add_overflow(load<std::uint64_t>(portals),
                                     load<std::uint64_t>(portals + wire::portals_offset::sfa), &sum)
                  ? 1U
                  : 0U;
    sum += __builtin_add_overflow(sum, middle, &sum) ? 1U : 0U;
    constexpr std::uint64_t inverse = 0xFFFE'FFFE'FFFE'FFFF;
    static_assert(inverse * 0xFFFF == 1);
    return sum * inverse <= ~std::uint64_t{0} / 0xFFFF;
  }
  [[nodiscard]] bool vni_permitted(const std::byte* portals) const {
    return vnis_ == nullptr || (*vnis_)[wire::vni_of(portals).value];
  }
  [[nodiscard]] bool source_permitted(const std::byte* portals) const {
    return ((wire::sfa_of(portals).value ^ guarded_source_) & guard_mask_) == 0;
  }

private:
  static constexpr std::size_t ethertype_offset = 12;
  static constexpr std::uint32_t multicast_action = 7;
  /// All ones in a DFA of a reduction: the format's and the action's bits.
  static constexpr std::uint32_t reduction_address_bits = 0xFF800000U | multicast_action;
  /// All zero in the DFA of an id below 8. Other ids need a second test.
  static constexpr std::uint32_t upper_id_bits =
      (wire::FabricAddress::multicast(TreeNumber{0}, ReductionId{127}).value ^
       wire::FabricAddress::multicast(TreeNumber{0}, ReductionId{7}).value);

  /// One comparison for both limits.
  [[nodiscard]] bool has_possible_length(const FrameView& frame) const {
    return frame.length - shortest_frame_bytes <= most_bytes_behind_;
  }
  template <typename T> static T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  /// Bytes 12 to 19: EtherType, version/ihl, (DSCP, total length, VNI).
  static constexpr std::uint64_t head_mask = as_on_the_wire(std::uint64_t{0xFFFFFF0000000000});
  /// Position of the DFA in the word with both addresses, as in memory.
  static constexpr unsigned dfa_shift = 32;
  static_assert(std::endian::native == std::endian::little);
  /// The DFA's part of both addresses.
  static constexpr std::uint64_t destination_mask = as_on_the_wire(std::uint64_t{0xFFFFFFFF});
  static_assert((head_mask & destination_mask) == 0, "or what differs would be mistaken for it");
  static constexpr std::uint64_t upper_id_mask = as_on_the_wire(std::uint64_t{upper_id_bits});
  static constexpr std::uint64_t total_length_mask = as_on_the_wire(std::uint64_t{0xFFFF0000});
  static constexpr std::uint16_t request = as_on_the_wire(wire::reduction_request_length);
  static constexpr std::uint16_t request_length_bits = 0x0FFF;
  static constexpr std::uint16_t request_mask = as_on_the_wire(request_length_bits);

  [[nodiscard]] bool suits_reductions(const FrameView& frame, std::uint64_t head) const {
    return frame.length >= wire::reduction_frame_bytes &&
           ((head ^ head_) & total_length_mask) == 0 &&
           ((load<std::uint16_t>(frame.data + wire::ethernet_header_bytes +
                                 wire::portals_offset::request_length) ^
             request) &
            request_mask) == 0;
  }
  [[nodiscard]] Classified classify_by_field(const FrameView& frame) const;
  [[nodiscard]] static Classified classify_upper_id(const FrameView& frame);
  [[nodiscard]] static Classified classify_other_length(const FrameView& frame, ReductionKey key);
  [[nodiscard]] Classified classify_foreign(const FrameView& frame) const;
  [[nodiscard]] Classified classify_other_version(const FrameView& frame) const;

  std::uint32_t most_bytes_behind_; ///< the shortest frame
  std::uint32_t reduction_lengths_; ///< number of possible lengths of a reduction frame
  std::uint16_t ethertype_;
  bool verify_checksum_;
  bool lldp_;
  PortNumber foreign_to_;
  std::uint32_t guard_mask_; ///< 0 without a guard
  std::uint32_t guarded_source_;
  const VniSet* vnis_;
  std::uint64_t head_;
  std::uint64_t addresses_;
  std::uint64_t addresses_mask_;
  Image image_;
};

/// Why a multicast frame is invalid on its tree; empty if it is valid. Requires a `valid` entry,
/// and the place of a tree with wide frames.
[[nodiscard]] std::optional<DropReason> refusal_on(const MulticastEntry& entry, FrameView frame,
                                                   const SlotPlace& place = {});

} // namespace tributary::core
