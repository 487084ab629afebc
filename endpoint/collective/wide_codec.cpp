#include "endpoint/collective/wide_codec.hpp"

#include "tributary/reduce/repsum.hpp"
#include "tributary/wire/byte_order.hpp"

#include <cstdint>
#include <cstring>

namespace tributary::collective {

namespace {

/// Elements are little-endian on both sides of the wire.
void invert_signs(std::size_t width, const std::byte* in, std::size_t count, std::byte* out) {
  std::memmove(out, in, count * width);
  for (std::size_t i = 0; i < count; ++i) {
    out[(i + 1) * width - 1] ^= std::byte{0x80};
  }
}

} // namespace

void encode_elements(wire::Opcode op, ElementType type, const std::byte* elements,
                     std::size_t count, std::byte* payload) {
  if (op != wire::Opcode::flt_repsum) {
    invert_signs(bytes_of(type), elements, count, payload);
    return;
  }
  constexpr std::size_t sum_bytes = wire::element_bytes(wire::Form::repsum);
  for (std::size_t i = 0; i < count; ++i) {
    double value;
    std::memcpy(&value, elements + i * sizeof value, sizeof value);
    const reduce::ReproducibleSum sum = reduce::to_reproducible(value);
    std::byte* const at = payload + i * sum_bytes;
    for (std::size_t limb = 0; limb < sum.limbs.size(); ++limb) {
      wire::store_le<std::uint64_t>(at + 8 * limb, sum.limbs[limb]);
    }
    wire::store_le<std::uint64_t>(at + 32, static_cast<std::uint8_t>(sum.m));
  }
}

void decode_elements(wire::Opcode op, ElementType type, const std::byte* payload, std::size_t count,
                     std::byte* elements) {
  if (op != wire::Opcode::flt_repsum) {
    invert_signs(bytes_of(type), payload, count, elements);
    return;
  }
  constexpr std::size_t sum_bytes = wire::element_bytes(wire::Form::repsum);
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* const at = payload + i * sum_bytes;
    reduce::ReproducibleSum sum;
    for (std::size_t limb = 0; limb < sum.limbs.size(); ++limb) {
      sum.limbs[limb] = wire::load_le<std::uint64_t>(at + 8 * limb);
    }
    sum.m = static_cast<std::int8_t>(std::to_integer<std::uint8_t>(at[32]));
    const double value = reduce::to_double(sum);
    std::memcpy(elements + i * sizeof value, &value, sizeof value);
  }
}

} // namespace tributary::collective
