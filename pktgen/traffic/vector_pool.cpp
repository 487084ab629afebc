#include "pktgen/traffic/vector_pool.hpp"

#include "endpoint/collective/wide_codec.hpp"
#include "pktgen/traffic/vector_values.hpp"

#include <algorithm>
#include <cstring>

namespace tributary::pktgen::traffic {

using collective::ElementType;
using wire::Opcode;

namespace {

void to_frame(Opcode op, ElementType type, const std::vector<std::byte>& elements,
              std::size_t count, std::byte* out) {
  if (collective::converts(op, type)) {
    collective::encode_elements(op, type, elements.data(), count, out);
  } else {
    std::ranges::copy(elements, out);
  }
}

} // namespace

VectorPool::VectorPool(Opcode op, ElementType type, std::uint32_t size, std::size_t columns,
                       std::uint64_t seed)
    : op_(op), type_(type), element_bytes_(wire::element_bytes(collective::form_of(op, type))),
      row_bytes_(columns * element_bytes_), operands_(size * row_bytes_) {
  const VectorValues values(op, type, size, seed);
  const std::size_t width = collective::bytes_of(type);
  std::vector<std::byte> elements(columns * width);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    for (std::size_t column = 0; column < columns; ++column) {
      values.operand(column, rank, &elements[column * width]);
    }
    to_frame(op, type, elements, columns, operands_.data() + rank * row_bytes_);
  }
  for (std::size_t column = 0; column < columns; ++column) {
    values.expected(column, &elements[column * width]);
  }
  if (op == Opcode::flt_repsum) {
    results_ = std::move(elements);
  } else {
    results_.resize(row_bytes_);
    to_frame(op, type, elements, columns, results_.data());
  }
}

bool VectorPool::is_right(std::size_t column, std::span<const std::byte> elements) const {
  if (op_ != Opcode::flt_repsum) {
    return std::memcmp(results_.data() + column * element_bytes_, elements.data(),
                       elements.size()) == 0;
  }
  for (std::size_t i = 0; i < elements.size() / element_bytes_; ++i) {
    double sum = 0;
    collective::decode_elements(op_, type_, elements.data() + i * element_bytes_, 1,
                                reinterpret_cast<std::byte*>(&sum));
    if (std::memcmp(&results_[(column + i) * sizeof sum], &sum, sizeof sum) != 0) {
      return false;
    }
  }
  return true;
}

} // namespace tributary::pktgen::traffic
