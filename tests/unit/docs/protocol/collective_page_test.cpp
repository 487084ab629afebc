// docs/protocol/collective.md and serial-numbers.md against the members of a group: which elements
// frames carry, and which sequence is the newer one.
#include "endpoint/collective/element_type.hpp"
#include "endpoint/collective/sequence.hpp"
#include "tests/support/page_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace tributary::collective {
namespace {

using wire::Opcode;

/// The types of a row of the page's table, in its order.
const std::vector<std::vector<ElementType>> types = {
    {ElementType::int8, ElementType::int16, ElementType::int32},
    {ElementType::uint8, ElementType::uint16, ElementType::uint32},
    {ElementType::int64},
    {ElementType::uint64},
    {ElementType::float64},
    {ElementType::float32, ElementType::float16, ElementType::bfloat16},
    {ElementType::minmaxloc_int64, ElementType::minmaxloc_float64},
    {ElementType::repsum_state},
};

/// The operators of a column, as far as they are for integers or for floating-point numbers.
std::vector<Opcode> operators(std::size_t column, bool floating) {
  switch (column) {
  case 2: return {Opcode::bit_and, Opcode::bit_or, Opcode::bit_xor};
  case 3:
    return floating ? std::vector{Opcode::flt_min, Opcode::flt_max, Opcode::flt_minnum,
                                  Opcode::flt_maxnum}
                    : std::vector{Opcode::int_min, Opcode::int_max};
  case 4: return {floating ? Opcode::flt_sum_nearest : Opcode::int_sum};
  case 6: return {Opcode::flt_repsum};
  default: return {};
  }
}

std::string how(Opcode op, ElementType type) {
  if (reduces(op, type)) {
    return "32";
  }
  return reduces_in(true, op, type) ? "wide" : "";
}

TEST(CollectivePage, says_which_frames_carry_which_elements) {
  const auto table =
      test::page_table("docs/protocol/collective.md", "| elements | bytes | AND OR XOR |");
  ASSERT_EQ(table.size(), types.size());
  for (std::size_t r = 0; r < table.size(); ++r) {
    ASSERT_EQ(table[r].size(), 7U) << table[r][0];
    for (const ElementType type : types[r]) {
      EXPECT_NE(table[r][1].find(std::to_string(bytes_of(type))), std::string::npos) << table[r][0];
      for (std::size_t column = 2; column < 7; ++column) {
        const std::string said = table[r][column].substr(0, table[r][column].find(','));
        for (const Opcode op : operators(column, is_floating(type))) {
          EXPECT_EQ(how(op, type), said) << table[r][0] << ": " << name_of(op);
        }
      }
      const bool tuple =
          type == ElementType::minmaxloc_int64 || type == ElementType::minmaxloc_float64;
      EXPECT_EQ(table[r][5], tuple ? "32" : "");
      EXPECT_EQ(reduces(type == ElementType::minmaxloc_int64 ? Opcode::int_minmaxloc
                                                             : Opcode::flt_minmaxloc,
                        type),
                tuple);
    }
  }
}

TEST(SerialNumbersPage, hosts_and_engines_order_sequences_as_it_says) {
  for (std::uint32_t a = 0; a < 1022; ++a) {
    for (std::uint32_t b = 0; b < 1022; ++b) {
      const std::uint32_t by_hosts = (a + 1022 - b) % 1022;
      const std::uint32_t by_engines = (a + 1024 - b) % 1024;
      const SequenceNumber one{a}, other{b};
      ASSERT_EQ(is_newer(one, other), by_hosts >= 1 && by_hosts < 511) << a << ' ' << b;
      ASSERT_EQ(one.older_than(other), by_engines >= 512) << a << ' ' << b;
      if (by_hosts >= 1 && by_hosts < 510) {
        ASSERT_TRUE(!one.older_than(other) && other.older_than(one)) << a << ' ' << b;
      }
    }
  }
}

} // namespace
} // namespace tributary::collective
