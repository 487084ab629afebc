// Number of links between two switches, one byte per pair.
//
//   Distances distances(view);
//   const std::uint8_t* row = distances.row(s);    row[t] = links from s to t, s itself 0
//
// Rows are made when they are first requested: the first few of 512 one by one, so that a tree that
// is recomputed after a fault costs a few searches, then all 512 together, which costs as much as
// about twenty. `complete` makes all (12,000 switches: 144 MB). Distances are symmetric. A
// reference to the view is kept.
#pragma once

#include "controlplane/multicast/routing_view.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tributary::multicast {

class Distances {
public:
  /// No path exists, or only one of more than 254 links.
  static constexpr std::uint8_t unreachable = 0xFF;
  /// Rows begin at multiples of this many bytes, and have such a length; entries after the last
  /// switch are `unreachable`. Loops may run over whole rows in registers of any width.
  static constexpr std::size_t row_alignment = 64;
  /// Switches whose rows are made together: bits of a machine word's vector.
  static constexpr std::uint32_t block_rows = 512;
  /// Rows of a block that are made one by one before the whole block is made.
  static constexpr std::uint32_t single_rows = 16;

  explicit Distances(const RoutingView& view);

  /// Bytes of a row: the number of switches, rounded up to `row_alignment`.
  [[nodiscard]] std::size_t row_bytes() const { return row_bytes_; }
  /// Distances of one switch to all. The row does not move as long as this object lives.
  [[nodiscard]] const std::uint8_t* row(SwitchId from) {
    return rows_[from.value] != nullptr ? rows_[from.value] : made_row(from);
  }
  [[nodiscard]] std::uint8_t between(SwitchId a, SwitchId b) { return row(a)[b.value]; }
  void complete();

  [[nodiscard]] const RoutingView& view() const { return *view_; }

private:
  struct AlignedDelete {
    void operator()(std::uint8_t* bytes) const;
  };
  using Block = std::unique_ptr<std::uint8_t[], AlignedDelete>;

  const std::uint8_t* made_row(SwitchId from);
  void search_from(SwitchId from);
  void make_block(std::uint32_t block);
  [[nodiscard]] Block storage(std::size_t rows) const;

  const RoutingView* view_;
  std::size_t row_bytes_;
  std::vector<const std::uint8_t*> rows_;  ///< null when not made yet
  std::vector<std::uint32_t> rows_singly_; ///< in each block
  std::vector<Block> blocks_;
  std::vector<Block> singles_;
  std::vector<SwitchId> queue_;
};

/// `eccentricities[t]` = the largest distance of `t` to any of `switches`: the byte-wise maximum of
/// their rows. Writes `row_bytes()` bytes, aligned or not; `unreachable` where one cannot be
/// reached. Requires at least one switch.
void eccentricities(Distances& distances, std::span<const SwitchId> switches,
                    std::span<std::uint8_t> eccentricities);

/// The minimum of `eccentricities`; `unreachable` when it is empty.
std::uint8_t radius(std::span<const std::uint8_t> eccentricities);

} // namespace tributary::multicast
