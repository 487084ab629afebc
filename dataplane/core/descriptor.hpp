// One reduction in flight in one switch, as memory holds it.
//
// Each reduction key (tree, reduction id) has an entry of its own in two tables, so that a frame's
// destination address is the descriptor's address: no look-up is needed, and the cache line can be
// fetched before anything else is known about the frame. The number of entries in use at the same
// time is limited by counting (engine.hpp), not by their position.
//
//   Descriptor        64 bytes, all that a contribution in the middle of a reduction touches
//   DescriptorRecord  64 bytes, touched by its beginning and its end
//   CountedPorts      16 bytes, touched by arms and by contributions from ports with one endpoint,
//                     and not at all in a switch without such ports
//
// All zero means: not armed, nothing ended. Owned by the engines of one worker.
#pragma once

#include "dataplane/core/frame_view.hpp"
#include "tributary/reduce/accumulator.hpp"
#include "tributary/traffic_class.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/reduction.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::core {

/// The value whose bytes in memory are `value`'s in wire order, and the reverse.
template <typename T> constexpr T as_on_the_wire(T value) {
  return std::endian::native == std::endian::big ? value : wire::swap_bytes(value);
}

/// Everything a frame must have in common with a descriptor to be reduced with its data, in one
/// word, so that one comparison decides.
///
///     bits 63:32  cookie, as the frame's bytes lie in memory
///          31:16  VNI, in the same way
///             15  holding: armed, with a contribution
///             14  waiting: armed, without a contribution
///             13  wide: a slot holds the data (wide_holding.hpp); never set in a frame's own
///             10  arm bit; never set in a descriptor, so that an arm never compares equal
///            9:0  sequence
///
/// All zero in a free descriptor. A frame's own word has `holding` set: it compares equal where it
/// can be combined without further checks.
class MatchWord {
public:
  constexpr MatchWord() = default;
  /// From a frame: its cookie, its VNI and the low half of its reduction word.
  constexpr MatchWord(Cookie cookie, Vni vni, std::uint64_t reduction_word)
      : MatchWord(as_on_the_wire(cookie.value), as_on_the_wire(vni.value), reduction_word) {}
  /// From the same fields as in memory.
  constexpr MatchWord(std::uint32_t cookie_bytes, std::uint16_t vni_bytes,
                      std::uint64_t reduction_word)
      : bits_(std::uint64_t{cookie_bytes} << 32 | std::uint64_t{vni_bytes} << 16 | holding_bit |
              (reduction_word & (arm_bit | sequence_mask))) {}

  /// From the gathered bytes of a frame of this operation (frame_image.hpp): they hold the
  /// operation's low bits where a descriptor has its state.
  static constexpr MatchWord of_frame_bytes(std::uint64_t bytes, wire::Opcode op) {
    return of_differing_bytes(bytes ^ bytes_of_state(op));
  }
  /// From what differs between them and `bytes_of_state`.
  static constexpr MatchWord of_differing_bytes(std::uint64_t bytes) { return MatchWord(bytes); }
  static constexpr std::uint64_t bytes_of_state(wire::Opcode op) {
    return (std::uint64_t{static_cast<std::uint8_t>(op)} << 11 & 0xF800U) ^ holding_bit;
  }

  /// The state after an arm with these bytes.
  static constexpr MatchWord waiting_for(std::uint64_t bytes) {
    return MatchWord((bytes & ~std::uint64_t{0xFFFF ^ sequence_mask}) | waiting_bit);
  }
  /// Whether they are an arm's.
  static constexpr bool arms(std::uint64_t bytes) { return (bytes & arm_bit) != 0; }

  /// The state after an arm with this word.
  [[nodiscard]] constexpr MatchWord waiting() const {
    return MatchWord((bits_ & ~(holding_bit | wide_bit | arm_bit)) | waiting_bit);
  }
  /// The state after the first contribution.
  [[nodiscard]] constexpr MatchWord holding() const {
    return MatchWord((bits_ & ~waiting_bit) | holding_bit);
  }
  /// The state after a first contribution that is wide.
  [[nodiscard]] constexpr MatchWord wide() const { return MatchWord(holding().bits_ | wide_bit); }
  [[nodiscard]] constexpr MatchWord narrow() const { return MatchWord(bits_ & ~wide_bit); }
  [[nodiscard]] constexpr bool is_wide() const { return (bits_ & wide_bit) != 0; }
  [[nodiscard]] constexpr bool armed() const { return (bits_ & (waiting_bit | holding_bit)) != 0; }
  [[nodiscard]] constexpr bool has_data() const { return (bits_ & holding_bit) != 0; }
  [[nodiscard]] constexpr Cookie cookie() const {
    return Cookie{as_on_the_wire(static_cast<std::uint32_t>(bits_ >> 32))};
  }
  [[nodiscard]] constexpr Vni vni() const {
    return Vni{as_on_the_wire(static_cast<std::uint16_t>(bits_ >> 16))};
  }
  [[nodiscard]] constexpr SequenceNumber sequence() const {
    return SequenceNumber{static_cast<std::uint32_t>(bits_ & sequence_mask)};
  }
  /// Whether both belong to one group: VNI and cookie.
  [[nodiscard]] constexpr bool same_group(MatchWord other) const {
    return (bits_ ^ other.bits_) >> 16 == 0;
  }
  friend constexpr bool operator==(MatchWord, MatchWord) = default;

private:
  static constexpr std::uint64_t holding_bit = 1U << 15;
  static constexpr std::uint64_t waiting_bit = 1U << 14;
  static constexpr std::uint64_t wide_bit = 1U << 13;
  static constexpr std::uint64_t arm_bit = 1U << 10;
  static constexpr std::uint64_t sequence_mask = 0x3FF;
  constexpr explicit MatchWord(std::uint64_t bits) : bits_(bits) {}

  std::uint64_t bits_ = 0;
};

struct alignas(64) Descriptor {
  /// Valid if `match.has_data()`; its `contributions` always are.
  reduce::Accumulator accumulator;
  MatchWord match;
  /// Sum modulo 2^56 of the contributions' signatures; the top byte is not part of it.
  std::uint64_t signature = 0;
};
static_assert(sizeof(Descriptor) == 64);

/// Bytes of the first contribution's frame that an engine keeps.
inline constexpr std::size_t saved_frame_bytes =
    wire::ethernet_header_bytes + wire::saved_header_bytes;

struct alignas(64) DescriptorRecord {
  /// From the first contribution: the Ethernet header, the fabric header, the command, the rank.
  std::array<std::byte, saved_frame_bytes> header{};
  /// Class of the first contribution. A partial result leaves in it.
  TrafficClass traffic_class;
  SequenceNumber ended;   ///< of the last reduction that was emitted or timed out
  bool has_ended = false; ///< whether any has ended

  /// A frame becomes the first contribution.
  void keep(const FrameView& frame) {
    std::memcpy(header.data(), frame.data, saved_frame_bytes);
    traffic_class = TrafficClass{frame.traffic_class};
  }
};
static_assert(sizeof(DescriptorRecord) == 64);

/// The child ports with one endpoint behind them that have contributed. Eight keys of a tree share
/// two cache lines, and an arm touches them, so a contribution may always prefetch its own.
struct CountedPorts {
  PortSet ports;
  /// The reduction: the one that a frame from the parent opened last, armed or not, marked as
  /// waiting; before the first such frame, the first one that passed through, marked as holding.
  MatchWord of;

  /// Whether it is for this reduction, however that was learned.
  [[nodiscard]] bool is_of(MatchWord carried) const { return of.waiting() == carried.waiting(); }
  /// An arm. Contributions that passed through before it stay counted: a switch above may have been
  /// armed by then.
  void arm(MatchWord waiting) {
    ports = PortSet(of == waiting.holding() ? ports.bits() : 0);
    of = waiting;
  }
  /// Another frame from the parent. Contributions counted for the same sequence stay counted.
  void open(MatchWord waiting) {
    ports = PortSet(is_of(waiting) ? ports.bits() : 0);
    of = waiting;
  }
};
static_assert(sizeof(CountedPorts) == 16);

} // namespace tributary::core
