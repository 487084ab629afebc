// Wide frames for tests of the core, and a switch with trees for them.
//
//   tree        wait count 4, 128 slots of 1,408 bytes; parent 0, children 1 to 3
//   half_tree   the same with 16 slots of 704 bytes, made for 16-bit floats
//   old_tree    the same without slots
#pragma once

#include "tests/unit/dataplane/core/test_switch.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <cstring>
#include <span>
#include <vector>

namespace tributary::core::test {

inline constexpr TreeNumber half_tree{0x123};
inline constexpr TreeNumber old_tree{0x124};
inline constexpr std::size_t limit = 1408;
inline constexpr ReductionId high_id{100};

inline TablesBuilder wide_tables(std::uint64_t wide_memory = default_wide_memory,
                                 const EngineTimers& timers = {}) {
  TablesBuilder builder(timers, wide_memory);
  for (std::size_t i = 0; i < port_count; ++i) {
    EXPECT_EQ(builder.add_port({}), "");
  }
  EXPECT_EQ(
      builder.add_tree(tree, wait_count, parent, children, {.slots = 128, .payload_bytes = limit}),
      "");
  EXPECT_EQ(builder.add_tree(half_tree, wait_count, parent, children,
                             {.slots = 16, .payload_bytes = 704, .half_floats = true}),
            "");
  EXPECT_EQ(builder.add_tree(old_tree, wait_count, parent, children), "");
  EXPECT_EQ(builder.add_tree(ordinary_tree, 0, parent, children), "");
  return builder;
}

/// A switch with these tables.
inline TestSwitch wide_switch(const SwitchSettings& settings = {}) {
  TestSwitch s(settings);
  s.adopt(wide_tables(settings.wide_memory, settings.timers));
  return s;
}

/// A contribution of one, INT_SUM of 32-bit integers.
inline wire::WideFrame wide_contribution(std::uint32_t seqno, Nid source = Nid{0x12345},
                                         ReductionId id = high_id) {
  const wire::ReductionFrame narrow = contribution(seqno, source);
  wire::WideFrame f;
  f.destination = narrow.destination;
  f.source = narrow.source;
  f.vni = narrow.vni;
  f.source_nid = source;
  f.tree = tree;
  f.slot = id;
  f.rank = narrow.rank;
  f.cookie = narrow.cookie;
  f.word = narrow.word;
  f.form = wire::Form::bits32;
  f.payload_bytes = limit;
  return f;
}

/// With the elements at its beginning, and zeros behind them.
template <typename T> Frame wide_frame(const wire::WideFrame& f, const std::vector<T>& elements) {
  std::vector<std::byte> bytes(wire::wide_header_bytes + f.payload_bytes);
  wire::encode_header(
      f, std::span<std::byte, wire::wide_header_bytes>(bytes.data(), wire::wide_header_bytes));
  std::memcpy(bytes.data() + wire::wide_header_bytes, elements.data(),
              std::min(f.payload_bytes, elements.size() * sizeof(T)));
  return Frame(std::move(bytes));
}
inline Frame wide_frame(const wire::WideFrame& f) {
  return wide_frame(f, std::vector<std::uint32_t>{1, 2, 3});
}

/// As a host would read it; fails the test if it is not a wide frame.
inline wire::WideFrame decoded_wide(const Frame& frame) {
  wire::WideFrame f;
  const auto error = wire::decode(frame.bytes(), wire::ethertype_of(frame.bytes().data()), f);
  EXPECT_EQ(error, wire::DecodeError::none) << name_of(error);
  return f;
}
/// All elements of a wide frame.
template <typename T> std::vector<T> elements_of(const Frame& frame) {
  std::vector<T> elements(decoded_wide(frame).payload_bytes / sizeof(T));
  std::memcpy(elements.data(), frame.bytes().data() + wire::wide_header_bytes,
              elements.size() * sizeof(T));
  return elements;
}

/// The 84-byte frames of frames.hpp, on an id above 7 too.
inline wire::ReductionFrame with_id(wire::ReductionFrame f, ReductionId id) {
  f.reduction = id;
  return f;
}

} // namespace tributary::core::test
