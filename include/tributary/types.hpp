// The quantities used in every part of Tributary, each with a type of its own, so that a port
// cannot be passed for a tree, nor a count for a sequence number.
//
// Pure values: no I/O, no clock, no allocation. Sizes and ranges are those of the wire format
// (docs/protocol/wire-format.md).
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace tributary {

/// A value of representation `Rep` that only mixes with values of the same `Tag`. Ordered and
/// hashable through `value`; deliberately without arithmetic.
template <typename Tag, typename Rep> struct Strong {
  using rep = Rep;
  Rep value{};

  constexpr Strong() = default;
  constexpr explicit Strong(Rep v) : value(v) {}
  friend constexpr auto operator<=>(Strong, Strong) = default;
};

/// A port of one switch, 0 to `max_ports - 1`.
using PortNumber = Strong<struct PortNumberTag, std::uint8_t>;
/// A multicast id: one tree of the fabric, 0 to `max_trees - 1`.
using TreeNumber = Strong<struct TreeNumberTag, std::uint16_t>;
/// One of the concurrent reductions of a tree: 0 to 7, in trees with wide frames up to 127.
using ReductionId = Strong<struct ReductionIdTag, std::uint8_t>;
/// A fabric node id: 20 bits, the part of a unicast address that names the host.
using Nid = Strong<struct NidTag, std::uint32_t>;
/// An end point: where unicast frames to one program of a host go. Hosts with one such program use
/// number 0, so a NID alone names an end point, too.
///
/// A program that opens its own socket has one of the numbers below `first_given_end_point`
/// (lib/link/end_point_number.hpp), a program of a user one that the host agent gives out.
struct EndPoint {
  Nid nid;
  std::uint16_t number = 0; ///< 12 bits

  constexpr EndPoint() = default;
  constexpr EndPoint(Nid of, std::uint16_t n = 0) : nid(of), number(n) {}
  /// All of it, in 32 bits; for number 0 the NID.
  [[nodiscard]] constexpr std::uint32_t key() const {
    return std::uint32_t{number} << 20 | nid.value;
  }
  friend constexpr bool operator==(const EndPoint&, const EndPoint&) = default;
};
inline constexpr std::uint16_t end_points_per_host = 4096;
inline constexpr std::uint16_t first_given_end_point = 256;

/// The protection key of a job, 16 bits.
using Vni = Strong<struct VniTag, std::uint16_t>;
/// The 32-bit secret in a group's frames; a switch only compares it.
using Cookie = Strong<struct CookieTag, std::uint32_t>;
/// A count of contributions, 20 bits on the wire.
using ContributionCount = std::uint32_t;

inline constexpr std::size_t max_ports = 64;
inline constexpr std::size_t max_trees = 8192;
inline constexpr std::size_t reductions_per_tree = 8;
inline constexpr std::size_t most_reductions_per_tree = 128; ///< in trees with wide frames
inline constexpr ContributionCount max_contributions = (1U << 20) - 1;
inline constexpr std::uint32_t max_nid = (1U << 20) - 1;

inline constexpr PortNumber no_port{0xFF};

/// A point in time in nanoseconds since an origin the caller chooses. Pure code never reads a
/// clock: the caller passes the time.
struct TimeNs {
  std::uint64_t value{};
  friend constexpr auto operator<=>(TimeNs, TimeNs) = default;
  friend constexpr TimeNs operator+(TimeNs t, std::uint64_t ns) { return {t.value + ns}; }
  /// Nanoseconds from `b` to `a`; zero if `a` is the earlier one.
  friend constexpr std::uint64_t elapsed_ns(TimeNs a, TimeNs b) {
    return a.value > b.value ? a.value - b.value : 0;
  }
};
inline constexpr TimeNs never{~std::uint64_t{0}};
/// A duration in seconds.
[[nodiscard]] constexpr double seconds_of(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e9;
}
inline constexpr std::uint64_t ns_per_us = 1000;
inline constexpr std::uint64_t ns_per_ms = 1'000'000;
inline constexpr std::uint64_t ns_per_second = 1'000'000'000;

/// A set of ports of one switch, one bit each.
class PortSet {
public:
  constexpr PortSet() = default;
  constexpr explicit PortSet(std::uint64_t bits) : bits_(bits) {}
  static constexpr PortSet first(std::size_t count) {
    return PortSet(count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1);
  }

  constexpr void insert(PortNumber p) { bits_ |= bit(p); }
  constexpr void erase(PortNumber p) { bits_ &= ~bit(p); }
  [[nodiscard]] constexpr bool contains(PortNumber p) const {
    return p.value < max_ports && (bits_ & bit(p)) != 0;
  }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr int size() const { return std::popcount(bits_); }
  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  friend constexpr bool operator==(PortSet, PortSet) = default;

  /// Calls `f(PortNumber)` for each member, lowest first.
  template <typename F> constexpr void for_each(F&& f) const {
    for (std::uint64_t rest = bits_; rest != 0; rest &= rest - 1) {
      f(PortNumber{static_cast<std::uint8_t>(std::countr_zero(rest))});
    }
  }

private:
  static constexpr std::uint64_t bit(PortNumber p) { return std::uint64_t{1} << (p.value & 63U); }
  std::uint64_t bits_ = 0;
};

/// A reduction's sequence number: 10 bits, modulo 1024.
///
/// `distance` is how far this number is ahead of another one: 0 is a match, 1 to 511 is newer, 512
/// to 1023 is older (docs/protocol/engine.md, "Sequence numbers").
class SequenceNumber {
public:
  static constexpr std::uint32_t modulus = 1024;
  constexpr SequenceNumber() = default;
  constexpr explicit SequenceNumber(std::uint32_t v)
      : value_(static_cast<std::uint16_t>(v % modulus)) {}
  [[nodiscard]] constexpr std::uint16_t value() const { return value_; }
  [[nodiscard]] constexpr std::uint32_t distance(SequenceNumber from) const {
    return (std::uint32_t{value_} - from.value_) % modulus;
  }
  [[nodiscard]] constexpr bool newer_than(SequenceNumber other) const {
    const auto d = distance(other);
    return d >= 1 && d < modulus / 2;
  }
  [[nodiscard]] constexpr bool older_than(SequenceNumber other) const {
    return distance(other) >= modulus / 2;
  }
  friend constexpr bool operator==(SequenceNumber, SequenceNumber) = default;

private:
  std::uint16_t value_ = 0;
};

/// Arms that carry this number are discarded by hosts: the pre-arm of the public host library.
inline constexpr SequenceNumber pre_arm_sequence{1022};
/// Hosts use 0 to 1021; 1022 is the pre-arm and 1023 is unused.
inline constexpr std::uint32_t usable_sequences = 1022;

/// One reduction in flight in one switch or host: a tree and one of its ids, dense below 2^20.
///
///     id      index
///     0-7     tree * 8 + id                  below `reduction_keys`; for all trees
///     8-127   65,536 + tree * 120 + id - 8   for trees with wide frames
class ReductionKey {
public:
  constexpr ReductionKey() = default;
  /// Takes the low seven bits of `id`.
  constexpr ReductionKey(TreeNumber tree, ReductionId id)
      : value_(index_of(tree.value, id.value & 127U)) {}
  /// The key with this `index()`.
  static constexpr ReductionKey from_index(std::uint32_t index) {
    ReductionKey key;
    key.value_ = index;
    return key;
  }
  [[nodiscard]] constexpr std::uint32_t index() const { return value_; }
  [[nodiscard]] constexpr TreeNumber tree() const {
    return TreeNumber{static_cast<std::uint16_t>(is_beyond() ? (value_ - first_beyond) / ids_beyond
                                                             : value_ / reductions_per_tree)};
  }
  [[nodiscard]] constexpr ReductionId reduction() const {
    return ReductionId{static_cast<std::uint8_t>(
        is_beyond() ? reductions_per_tree + (value_ - first_beyond) % ids_beyond
                    : value_ % reductions_per_tree)};
  }
  friend constexpr bool operator==(ReductionKey, ReductionKey) = default;

private:
  static constexpr std::uint32_t first_beyond = max_trees * reductions_per_tree;
  static constexpr std::uint32_t ids_beyond = most_reductions_per_tree - reductions_per_tree;

  static constexpr std::uint32_t index_of(std::uint32_t tree, std::uint32_t id) {
    return id < reductions_per_tree ? tree * static_cast<std::uint32_t>(reductions_per_tree) + id
                                    : first_beyond + tree * ids_beyond + id -
                                          static_cast<std::uint32_t>(reductions_per_tree);
  }
  /// Whether only trees with wide frames have its id.
  [[nodiscard]] constexpr bool is_beyond() const { return value_ >= first_beyond; }

  std::uint32_t value_ = 0;
};
/// Number of keys with ids below eight.
inline constexpr std::size_t reduction_keys = max_trees * reductions_per_tree;
inline constexpr std::size_t all_reduction_keys = max_trees * most_reductions_per_tree;

} // namespace tributary
