// Builds the table of one switch: equal groups and actions are stored once.
//
//   TableBuilder b({.self = s, .destinations = n, .vcs = 2, .ports = 32});
//   const std::uint16_t row = b.add_row();
//   b.set(row, destination, b.action({.ports = b.port_group(3)}));
//   b.use_row(0, row);                          for input of class 0, on every channel
//   SwitchTable table = std::move(b).finish();
//
// Everything not set is Outcome::no_route.
#pragma once

#include "dataplane/forwarding_table/table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace tributary::unicast {

class TableBuilder {
public:
  struct Frame {
    std::uint32_t self = 0;
    std::uint32_t destinations = 0;
    std::uint8_t vcs = 1;
    std::uint32_t ports = 0;
    std::uint16_t classes = 1;
  };
  explicit TableBuilder(const Frame& frame);

  void put_in_class(forwarding_table::Port port, std::uint16_t input_class) {
    table_.classes[port] = input_class;
  }
  /// The number of a group of ports; 0 for an empty one. As many words as the ports need.
  [[nodiscard]] std::uint16_t group(std::span<const std::uint64_t> ports);
  [[nodiscard]] std::uint16_t port_group(forwarding_table::Port port) {
    return range_group(port, 1);
  }
  [[nodiscard]] std::uint16_t range_group(std::uint32_t first, std::uint32_t count);
  [[nodiscard]] std::uint16_t action(const forwarding_table::Action& action);

  [[nodiscard]] std::uint16_t add_row();
  void set(std::uint16_t row, std::uint32_t destination, std::uint16_t action) {
    table_.rows[std::size_t{row} * table_.destinations + destination] = action;
  }
  /// All rows, for callers that set many entries: valid until a row is added.
  [[nodiscard]] std::uint16_t* rows() { return table_.rows.data(); }
  [[nodiscard]] std::uint16_t copy_row(std::uint16_t row);
  void use_row(std::uint16_t input_class, std::uint8_t vc, std::uint16_t row) {
    table_.row_of[std::size_t{input_class} * table_.vcs + vc] = row;
  }
  void use_row(std::uint16_t input_class, std::uint16_t row) {
    for (std::uint8_t vc = 0; vc < table_.vcs; ++vc) {
      use_row(input_class, vc, row);
    }
  }

  [[nodiscard]] const forwarding_table::SwitchTable& table() const { return table_; }
  [[nodiscard]] forwarding_table::SwitchTable finish() && { return std::move(table_); }

private:
  /// The last requests, by a hash: most of them repeat.
  struct Recent {
    std::uint64_t key = 0;
    std::uint16_t number = 0;
  };
  static constexpr std::size_t recent_bits = 4;
  static std::size_t place(std::uint64_t key) {
    return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15ULL >> (64 - recent_bits));
  }
  [[nodiscard]] std::uint16_t find_group(std::span<const std::uint64_t> ports);

  forwarding_table::SwitchTable table_;
  std::vector<std::uint64_t> scratch_;
  std::unordered_multimap<std::uint64_t, std::uint16_t> groups_; ///< by hash
  std::unordered_map<std::uint64_t, std::uint16_t> actions_;     ///< by all its fields
  std::array<Recent, 1 << recent_bits> recent_groups_{};         ///< of one word
  std::array<Recent, 1 << recent_bits> recent_actions_{};
};

} // namespace tributary::unicast
