// Operands of vectors: exact with the kernels of switches and roots, in any order.
#include "pktgen/traffic/vector_values.hpp"

#include "endpoint/collective/wide_kernel_table.hpp"
#include "pktgen/traffic/vector_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace tributary::pktgen::traffic {
namespace {

using collective::ElementType;
using wire::Opcode;

constexpr std::size_t columns = 32;

struct alignas(reduce::wide_slot_alignment) Line {
  std::byte bytes[reduce::wide_slot_alignment];
};

/// Reduces one frame of these ranks' vectors of a pool; `codes` gets the worst code.
std::vector<std::byte> reduced(const VectorPool& pool, const reduce::WideKernel& kernel,
                               std::size_t bytes, const std::vector<std::uint32_t>& ranks,
                               wire::ResultCode& code) {
  std::vector<Line> slot(2 * bytes / sizeof(Line) + 1);
  std::byte* const sum = slot.front().bytes;
  bool first = true;
  for (const std::uint32_t rank : ranks) {
    const std::span<const std::byte> own(pool.operand(rank, 0), bytes);
    code = wire::worse(code, first ? kernel.begin(sum, own) : kernel.add(sum, own));
    first = false;
  }
  std::vector<std::byte> out(bytes);
  code = wire::worse(code, kernel.emit(sum, out));
  return out;
}

/// The state of a reproducible sum is for members that have summed several doubles; virtual members
/// have one.
bool is_generated(ElementType type) { return type != ElementType::repsum_state; }

TEST(VectorValues, MakeTheSameResultInEveryOrderAndAtEverySize) {
  for (const std::uint32_t size : {1U, 2U, 65U, 300U, 2500U}) {
    for (std::size_t t = 0; t < collective::element_type_count; ++t) {
      const auto type = static_cast<ElementType>(t);
      for (const Opcode op : wire::all_opcodes) {
        const wire::Form form = collective::form_of(op, type);
        if (form == wire::Form::words || !is_generated(type)) {
          continue;
        }
        const VectorPool pool(op, type, size, columns, 5);
        const auto kernel = collective::wide_kernel(op, form, reduce::NanMode::associative);
        const std::size_t bytes = columns * wire::element_bytes(form);
        std::vector<std::uint32_t> order(size);
        std::iota(order.begin(), order.end(), 0U);
        for (const bool backwards : {false, true}) {
          if (backwards) {
            std::ranges::reverse(order);
          }
          auto code = wire::ResultCode::success;
          const std::vector<std::byte> result = reduced(pool, kernel, bytes, order, code);
          EXPECT_TRUE(pool.is_right(0, result))
              << wire::name_of(op) << " of type " << t << ", " << size << " ranks";
          const bool wraps = op == Opcode::int_sum && collective::is_unsigned(type);
          EXPECT_TRUE(code == wire::ResultCode::success ||
                      (wraps && code == wire::ResultCode::int_overflow))
              << wire::name_of(op) << " of type " << t << ", " << size
              << " ranks: " << wire::name_of(code);
        }
      }
    }
  }
}

TEST(VectorValues, LackOfOneRankOrADoubleOneShows) {
  for (std::size_t t = 0; t < collective::element_type_count; ++t) {
    const auto type = static_cast<ElementType>(t);
    for (const Opcode op : wire::all_opcodes) {
      const wire::Form form = collective::form_of(op, type);
      const bool is_idempotent = !wire::is_flt_sum(op) && op != Opcode::int_sum &&
                                 op != Opcode::bit_xor && op != Opcode::flt_repsum;
      if (form == wire::Form::words || is_idempotent || !is_generated(type)) {
        continue;
      }
      const VectorPool pool(op, type, 9, columns, 5);
      const auto kernel = collective::wide_kernel(op, form, reduce::NanMode::associative);
      const std::size_t bytes = columns * wire::element_bytes(form);
      auto code = wire::ResultCode::success;
      const auto lacking = reduced(pool, kernel, bytes, {0, 1, 2, 3, 5, 6, 7, 8}, code);
      EXPECT_FALSE(pool.is_right(0, lacking)) << wire::name_of(op) << " of type " << t;
      const auto twice = reduced(pool, kernel, bytes, {0, 1, 2, 3, 4, 4, 5, 6, 7, 8}, code);
      EXPECT_FALSE(pool.is_right(0, twice)) << wire::name_of(op) << " of type " << t;
    }
  }
}

TEST(VectorValues, OfOneRankAreTheResultBesideIdentities) {
  constexpr std::uint32_t size = 7;
  for (const auto& [op, type] : {std::pair{Opcode::int_sum, ElementType::int32},
                                 std::pair{Opcode::bit_and, ElementType::uint64},
                                 std::pair{Opcode::flt_minnum, ElementType::bfloat16}}) {
    const VectorValues values(op, type, size, 3, true);
    const std::size_t width = collective::bytes_of(type);
    const auto kernel =
        collective::wide_kernel(op, collective::form_of(op, type), reduce::NanMode::associative);
    std::vector<Line> slot(columns * width / sizeof(Line) + 1);
    std::vector<std::byte> row(columns * width);
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      for (std::size_t column = 0; column < columns; ++column) {
        values.operand(column, rank, &row[column * width]);
      }
      rank == 0 ? kernel.begin(slot.front().bytes, row) : kernel.add(slot.front().bytes, row);
    }
    std::vector<std::byte> result(columns * width);
    kernel.emit(slot.front().bytes, result);
    for (std::size_t column = 0; column < columns; ++column) {
      values.expected(column, &row[column * width]);
    }
    EXPECT_EQ(result, row) << wire::name_of(op);
  }
}

TEST(VectorPool, KnowsEachLaneAndTheVectorsFromEach) {
  const VectorPool pool(Opcode::int_sum, ElementType::int32, 3, columns, 1);
  const auto kernel =
      collective::wide_kernel(Opcode::int_sum, wire::Form::bits32, reduce::NanMode::associative);
  auto code = wire::ResultCode::success;
  std::vector<std::byte> sums = reduced(pool, kernel, 4 * columns, {2, 0, 1}, code);
  const auto from = [&](std::size_t column) { return std::span(sums).subspan(4 * column); };
  EXPECT_TRUE(pool.is_right(0, sums));
  EXPECT_TRUE(pool.is_right(5, from(5)));
  EXPECT_FALSE(pool.is_right(4, from(5))) << "another variant's result";
  for (std::size_t byte = 0; byte < sums.size(); ++byte) {
    sums[byte] ^= std::byte{0x10};
    EXPECT_FALSE(pool.is_right(0, sums)) << byte;
    sums[byte] ^= std::byte{0x10};
  }
}

} // namespace
} // namespace tributary::pktgen::traffic
