#include "endpoint/collective/piece_codec.hpp"

#include "tributary/reduce/identity.hpp"
#include "tributary/reduce/repsum.hpp"
#include "tributary/wire/byte_order.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace tributary::collective {

Operand encode_piece(wire::Opcode op, ElementType type, const std::byte* elements,
                     std::size_t count) {
  Operand operand = reduce::identity(op);
  if (elements == nullptr) {
    return operand;
  }
  if (type == ElementType::repsum_state) {
    for (std::size_t limb = 0; limb < operand.payload.size(); ++limb) {
      operand.payload[limb] = wire::load_le<std::uint64_t>(elements + 8 * limb);
    }
    operand.m = static_cast<std::int8_t>(std::to_integer<std::uint8_t>(elements[32]));
    return operand;
  }
  if (op == wire::Opcode::flt_repsum) {
    double value;
    std::memcpy(&value, elements, sizeof value);
    const reduce::ReproducibleSum sum = reduce::to_reproducible(value);
    operand.payload = sum.limbs;
    operand.m = sum.m;
    // The limbs have one NaN only, so a signalling one must be detected here: FLT_SUM and FLT_MIN
    // find it in the operand itself.
    if (reduce::is_signalling_nan(std::bit_cast<std::uint64_t>(value))) {
      operand.rc = wire::ResultCode::flt_invalid;
    }
    return operand;
  }
  std::memcpy(operand.payload.data(), elements, count * bytes_of(type));
  return operand;
}

void decode_piece(const Completion& piece, ElementType type, std::byte* elements,
                  std::size_t count) {
  if (type == ElementType::repsum_state) {
    for (std::size_t limb = 0; limb < piece.payload.size(); ++limb) {
      wire::store_le<std::uint64_t>(elements + 8 * limb, piece.payload[limb]);
    }
    wire::store_le<std::uint64_t>(elements + 32, static_cast<std::uint8_t>(piece.m));
    return;
  }
  if (piece.op == wire::Opcode::flt_repsum) {
    const double value = reduce::to_double({.limbs = piece.payload, .m = piece.m});
    std::memcpy(elements, &value, sizeof value);
    return;
  }
  std::memcpy(elements, piece.payload.data(), count * bytes_of(type));
}

} // namespace tributary::collective
