// The arithmetic of wide frames implemented a second time: one element after the other, numbers as
// doubles, with the C library's rounding and flags. It shares types with the kernels, and no code.
//
// A vector of elements is a vector of their bits. Slots keep signalling NaNs, and binary32 of
// 16-bit sums, unchanged; only `result` converts them to the sent form.
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/wire/form.hpp"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::test::wide {

using reduce::NanMode;
using wire::Form;
using wire::Opcode;
using wire::ResultCode;
using wire::Rounding;

/// A format by its parameters; its properties in the standard follow from these.
struct Format {
  int bits;
  int fraction;

  [[nodiscard]] int bias() const { return (1 << (bits - fraction - 2)) - 1; }
  [[nodiscard]] std::uint64_t sign() const { return std::uint64_t{1} << (bits - 1); }
  [[nodiscard]] std::uint64_t infinity() const { return sign() - (std::uint64_t{1} << fraction); }
  [[nodiscard]] std::uint64_t quiet() const { return std::uint64_t{1} << (fraction - 1); }
  [[nodiscard]] std::uint64_t nan() const { return infinity() | quiet(); }
  [[nodiscard]] bool is_nan(std::uint64_t v) const { return (v & (sign() - 1)) > infinity(); }
  [[nodiscard]] bool is_signalling(std::uint64_t v) const {
    return is_nan(v) && (v & quiet()) == 0;
  }
  [[nodiscard]] double largest() const {
    return std::ldexp(2 - std::ldexp(1.0, -fraction), bias());
  }
  [[nodiscard]] double least_normal() const { return std::ldexp(1.0, 1 - bias()); }

  /// Exact; not for NaNs.
  [[nodiscard]] double value(std::uint64_t v) const {
    const std::uint64_t magnitude = v & (sign() - 1);
    const auto exponent = static_cast<int>(magnitude >> fraction);
    // Signed: clang converts an unsigned zero by an addition, to -0 when rounding downward.
    const auto below = static_cast<double>(
        static_cast<std::int64_t>(magnitude & ((std::uint64_t{1} << fraction) - 1)));
    const double number = magnitude == infinity() ? HUGE_VAL
                          : exponent == 0         ? std::ldexp(below, 1 - bias() - fraction)
                                                  : std::ldexp(std::ldexp(1.0, fraction) + below,
                                                               exponent - bias() - fraction);
    return (v & sign()) != 0 ? -number : number;
  }
  /// The bits of a value that the format represents exactly.
  [[nodiscard]] std::uint64_t bits_of(double v) const {
    const std::uint64_t sign_bit = std::signbit(v) ? sign() : 0;
    const double magnitude = std::fabs(v);
    if (std::isinf(v)) {
      return sign_bit | infinity();
    }
    if (magnitude < least_normal()) {
      return sign_bit | static_cast<std::uint64_t>(std::ldexp(magnitude, bias() - 1 + fraction));
    }
    const int exponent = std::ilogb(magnitude);
    const double scaled = std::ldexp(magnitude, fraction - exponent);
    const auto below = static_cast<std::uint64_t>(exponent + bias() - 1) << fraction;
    return sign_bit | (below + static_cast<std::uint64_t>(scaled));
  }
};

inline constexpr Format binary64{64, 52};
inline constexpr Format binary32{32, 23};
inline constexpr Format binary16{16, 10};
inline constexpr Format bfloat16{16, 7};

constexpr const Format& format_of(Form form) {
  return form == Form::bits64   ? binary64
         : form == Form::bits32 ? binary32
         : form == Form::bits16 ? binary16
                                : bfloat16;
}

/// Rounding as asked, flags clear, for the life of this object.
class Rounded {
public:
  explicit Rounded(Rounding rounding) {
    constexpr int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    std::fesetround(modes[static_cast<std::size_t>(rounding)]);
    std::feclearexcept(FE_ALL_EXCEPT);
  }
  ~Rounded() { std::fesetround(FE_TONEAREST); }
  Rounded(const Rounded&) = delete;
  Rounded& operator=(const Rounded&) = delete;

  [[nodiscard]] static int code() {
    return std::fetestexcept(FE_INVALID) != 0    ? 4
           : std::fetestexcept(FE_OVERFLOW) != 0 ? 3
           : std::fetestexcept(FE_INEXACT) != 0  ? 1
                                                 : 0;
  }
};

/// A value of binary32 in a format of 16 bits. Requires the thread to round as asked.
inline std::uint64_t narrowed(const Format& to, Opcode op, double v, int& code) {
  if (std::isnan(v)) {
    return to.nan();
  }
  if (v == 0 || std::isinf(v)) {
    return to.bits_of(v);
  }
  const int unit = std::max(std::ilogb(v), 1 - to.bias()) - to.fraction;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(v, -unit)), unit);
  code = std::max(code, rounded != v ? 1 : 0);
  if (std::fabs(rounded) > to.largest()) {
    code = std::max(code, 3);
    const Rounding rounding = wire::rounding_of(op);
    const bool to_infinity = rounding == Rounding::nearest ||
                             rounding == (v < 0 ? Rounding::downward : Rounding::upward);
    return to.bits_of(std::copysign(to_infinity ? HUGE_VAL : to.largest(), v));
  }
  if (wire::flushes_to_zero(op) && std::fabs(rounded) < to.least_normal() && rounded != 0) {
    code = std::max(code, 1);
    return to.bits_of(std::copysign(0.0, v));
  }
  return to.bits_of(std::copysign(rounded, v));
}

/// One reduction of vectors.
class Reference {
public:
  using Vector = std::vector<std::uint64_t>;

  Reference(Opcode op, Form form, NanMode mode, const Vector& first)
      : op_(op), form_(form), mode_(mode), slot_(first) {
    if (!wire::is_flt_lane(op)) {
      return;
    }
    for (std::uint64_t& v : slot_) {
      code_ = format().is_signalling(v) ? 4 : code_;
      if (wire::is_flt_sum(op) && format().bits == 16) {
        v = format().is_nan(v) ? binary32.nan() : binary32.bits_of(format().value(v));
      }
    }
  }

  void add(const Vector& in) {
    if (wire::is_flt_sum(op_)) {
      add_sums(in);
      return;
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
      slot_[i] = wire::is_flt_lane(op_) ? extreme(slot_[i], in[i]) : integer(slot_[i], in[i]);
    }
  }

  /// The sent vector, and the code of everything until then.
  [[nodiscard]] Vector result(int& code) const {
    Vector out = slot_;
    code = code_;
    if (!wire::is_flt_lane(op_)) {
      return out;
    }
    const bool narrow = wire::is_flt_sum(op_) && format().bits == 16;
    const Rounded rounded(narrow ? wire::rounding_of(op_) : Rounding::nearest);
    for (std::uint64_t& v : out) {
      if (narrow) {
        const double value = binary32.is_nan(v) ? std::nan("") : binary32.value(v);
        v = narrowed(format(), op_, value, code);
      } else {
        v = format().is_nan(v) ? format().nan() : v;
      }
    }
    return out;
  }

private:
  [[nodiscard]] const Format& format() const { return format_of(form_); }

  template <typename Real, typename Bits> void add_real(const Vector& in) {
    const Format& slot_format = sizeof(Bits) == 8 ? binary64 : binary32;
    bool flushed = false;
    int raised = 0;
    {
      const Rounded rounded(wire::rounding_of(op_));
      for (std::size_t i = 0; i < in.size(); ++i) {
        volatile Real a = std::bit_cast<Real>(static_cast<Bits>(slot_[i]));
        volatile Real b = std::bit_cast<Real>(static_cast<Bits>(in[i]));
        volatile Real sum = a + b;
        const Real result = sum;
        slot_[i] = std::bit_cast<Bits>(result);
      }
      raised = Rounded::code();
    }
    for (std::uint64_t& v : slot_) {
      const std::uint64_t magnitude = v & (slot_format.sign() - 1);
      const bool subnormal = magnitude != 0 && magnitude >> slot_format.fraction == 0;
      if (subnormal && wire::flushes_to_zero(op_) && format().bits != 16) {
        v &= slot_format.sign();
        flushed = true;
      }
      v = slot_format.is_nan(v) ? slot_format.nan() : v;
    }
    code_ = std::max({code_, raised, flushed ? 1 : 0});
  }

  void add_sums(const Vector& in) {
    if (form_ == Form::bits64) {
      add_real<double, std::uint64_t>(in);
      return;
    }
    Vector operands = in;
    if (format().bits == 16) {
      for (std::uint64_t& v : operands) {
        code_ = format().is_signalling(v) ? 4 : code_;
        v = format().is_nan(v) ? binary32.nan() : binary32.bits_of(format().value(v));
      }
    }
    add_real<float, std::uint32_t>(operands);
  }

  std::uint64_t extreme(std::uint64_t a, std::uint64_t b) {
    const Format& f = format();
    const bool maximum = op_ == Opcode::flt_max || op_ == Opcode::flt_maxnum;
    const bool number_wins = op_ == Opcode::flt_minnum || op_ == Opcode::flt_maxnum;
    const bool signals = f.is_signalling(a) || f.is_signalling(b);
    code_ = f.is_signalling(b) ? 4 : code_;
    if (f.is_nan(a) || f.is_nan(b)) {
      const bool gives_nan =
          !number_wins || (f.is_nan(a) && f.is_nan(b)) || (signals && mode_ == NanMode::ieee);
      return gives_nan ? f.nan() : f.is_nan(a) ? b : a;
    }
    const double x = f.value(a);
    const double y = f.value(b);
    if (x == y) { // zeros, or the same
      return maximum ? a & b : a | b;
    }
    return (x < y) != maximum ? a : b;
  }

  std::uint64_t integer(std::uint64_t a, std::uint64_t b) {
    const int bits = static_cast<int>(8 * wire::element_bytes(form_));
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
    const auto extended = [bits](std::uint64_t v) {
      return static_cast<std::int64_t>(v << (64 - bits)) >> (64 - bits);
    };
    switch (op_) {
    case Opcode::bit_and: return a & b;
    case Opcode::bit_or: return a | b;
    case Opcode::bit_xor: return a ^ b;
    case Opcode::int_min: return extended(a) < extended(b) ? a : b;
    case Opcode::int_max: return extended(a) > extended(b) ? a : b;
    default: break;
    }
    __extension__ using Int128 = __int128;
    const Int128 sum = Int128{extended(a)} + extended(b);
    const std::uint64_t wrapped = static_cast<std::uint64_t>(sum) & mask;
    code_ = sum != extended(wrapped) ? 6 : code_;
    return wrapped;
  }

  Opcode op_;
  Form form_;
  NanMode mode_;
  Vector slot_;
  int code_ = 0;
};

} // namespace tributary::test::wide
