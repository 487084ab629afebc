// FLT_REPSUM on a wide frame: elements of five words, four limbs and M in the low byte of the
// fifth. The rules are those of repsum.hpp for each element, except for the conditions: elements do
// not carry them, so a raised one stays, whatever is added to the limb later.
//
// Operands of the same M, by far the most frequent ones, are added here, two limbs at a time. All
// others use the code of the 84-byte frame. The bytes above M leave as zeros.
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/reduce/lanes.hpp"
#include "tributary/reduce/repsum.hpp"
#include "tributary/reduce/wide_kernel.hpp"
#include "tributary/wire/byte_order.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::reduce {

class WideRepsum {
public:
  static ResultCode begin(std::byte* slot, const std::byte* frame, std::size_t bytes,
                          WideOperation) noexcept {
    for (std::size_t at = 0; at + element_bytes <= bytes; at += element_bytes) {
      ReproducibleSum in = load(frame + at);
      if (is_repsum_special(in.m)) {
        in.limbs = {};
      }
      store(slot + at, in);
    }
    return ResultCode::success;
  }
  static ResultCode add(std::byte* slot, const std::byte* frame, std::size_t bytes,
                        WideOperation) noexcept {
    ResultCode rc = ResultCode::success;
    for (std::size_t at = 0; at + element_bytes <= bytes; at += element_bytes) {
      rc = worse(rc, combine(slot + at, frame + at, slot + at));
    }
    return rc;
  }
  static ResultCode end(const std::byte* slot, std::byte* frame, std::size_t bytes,
                        WideOperation) noexcept {
    ResultCode rc = ResultCode::success;
    std::size_t at = 0;
    for (; at + element_bytes <= bytes; at += element_bytes) {
      rc = worse(rc, combine(slot + at, frame + at, frame + at));
    }
    std::memset(frame + at, 0, bytes - at);
    return rc;
  }
  static ResultCode emit(const std::byte* slot, std::byte* frame, std::size_t bytes,
                         WideOperation) noexcept {
    const std::size_t whole = bytes / element_bytes * element_bytes;
    std::memcpy(frame, slot, whole);
    std::memset(frame + whole, 0, bytes - whole);
    return ResultCode::success;
  }

private:
  static constexpr std::size_t element_bytes = wire::element_bytes(Form::repsum);
  static constexpr std::size_t m_offset = 32;

  static ReproducibleSum load(const std::byte* p) noexcept {
    ReproducibleSum sum;
    for (std::size_t i = 0; i < 4; ++i) {
      sum.limbs[i] = wire::load_le<std::uint64_t>(p + 8 * i);
    }
    sum.m = std::to_integer<std::int8_t>(p[m_offset]);
    return sum;
  }
  static void store(std::byte* p, const ReproducibleSum& sum) noexcept {
    for (std::size_t i = 0; i < 4; ++i) {
      wire::store_le(p + 8 * i, sum.limbs[i]);
    }
    wire::store_le(p + m_offset, std::uint64_t{static_cast<std::uint8_t>(sum.m)});
  }

  /// Two limbs from the bytes of a frame or a slot. Requires little-endian memory.
  [[gnu::always_inline]] static inline LanePair limbs_at(const std::byte* p) noexcept {
    LanePair pair;
    std::memcpy(&pair, p, sizeof pair);
    return pair;
  }

  /// out = a + b, where out may be either.
  [[gnu::always_inline]] static inline ResultCode combine(const std::byte* a, const std::byte* b,
                                                          std::byte* out) noexcept {
    const auto m = std::to_integer<std::int8_t>(a[m_offset]);
    if (std::endian::native != std::endian::little ||
        m != std::to_integer<std::int8_t>(b[m_offset]) || is_repsum_special(m)) [[unlikely]] {
      return combine_by_rules(load(a), load(b), out);
    }
    LanePair wrapped{};
    const LanePair low = wrapping_sum(limbs_at(a), limbs_at(b), wrapped);
    const LanePair high = wrapping_sum(limbs_at(a + 16), limbs_at(b + 16), wrapped);
    std::memcpy(out, &low, sizeof low);
    std::memcpy(out + 16, &high, sizeof high);
    wire::store_le(out + m_offset, std::uint64_t{static_cast<std::uint8_t>(m)});
    return any_negative(wrapped) ? ResultCode::int_overflow : ResultCode::success;
  }

  [[gnu::noinline]] static ResultCode
  combine_by_rules(const ReproducibleSum& sum, const ReproducibleSum& in, std::byte* out) noexcept {
    Accumulator acc;
    acc.payload = sum.limbs;
    acc.op = Opcode::flt_repsum;
    acc.m = sum.m;
    Contribution contribution;
    contribution.payload = in.limbs;
    contribution.op = Opcode::flt_repsum;
    contribution.m = in.m;
    flt_repsum(acc, contribution);
    store(out, {acc.payload, acc.m});
    return acc.result_code();
  }
};

} // namespace tributary::reduce
