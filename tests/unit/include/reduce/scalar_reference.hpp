// The arithmetic of the wire format page, section 4, implemented a second time: one lane after the
// other, with doubles, the C library's floating-point environment and 128-bit integers, following
// the tables of the page. It shares types with the kernel, and no code.
//
// Unlike the kernel it keeps signalling NaNs as they are and makes NaNs canonical only in `data()`.
#pragma once

#include "tributary/reduce/accumulator.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tributary::reference {

using reduce::Contribution;
using reduce::NanMode;
using wire::Opcode;
using wire::Payload;

__extension__ using Int128 = __int128;

inline bool is_signalling(double v) {
  return std::isnan(v) && (std::bit_cast<std::uint64_t>(v) >> 51 & 1) == 0;
}

class Reduction {
public:
  explicit Reduction(const Contribution& first)
      : words_(first.payload), op_(first.op), rc_(static_cast<int>(first.rc)), m_(first.m),
        limb_(first.overflow_id), source_(first.source.value) {
    if (rc_ >= 8) {
      return;
    }
    if (op_ == Opcode::barrier) {
      words_ = {};
    } else if (op_ == Opcode::flt_repsum) {
      take_repsum_code(first, overflow_, inexact_, limb_, rc_);
      if (m_ >= 125) {
        words_ = {};
      }
    } else if (has_floats()) {
      for (std::size_t i = 0; i < 4; ++i) {
        if (is_value_word(i) && is_signalling(number(words_[i]))) {
          rc_ = std::max(rc_, 4);
        }
      }
      recall_signalling(words_, first);
    }
  }

  void add(const Contribution& in, NanMode mode) {
    const int in_rc = static_cast<int>(in.rc);
    if (rc_ >= 8) {
      rc_ = std::max(rc_, in_rc);
      return;
    }
    if (in_rc >= 8) {
      words_ = in.payload;
      rc_ = in_rc;
      return;
    }
    if (in.op != op_) {
      words_ = {std::uint64_t{source_} << 32 | in.source.value, 0, 0, 0};
      rc_ = 8;
      return;
    }
    if (op_ == Opcode::flt_repsum) {
      add_repsum(in);
      return;
    }
    rc_ = std::max(rc_, in_rc);
    Payload theirs = in.payload;
    recall_signalling(theirs, in);
    switch (op_) {
    case Opcode::barrier: break;
    case Opcode::int_minmaxloc:
      int_loc(0, theirs, false);
      int_loc(2, theirs, true);
      break;
    case Opcode::flt_minmaxloc:
    case Opcode::flt_minmaxnumloc:
      float_loc(0, in.payload, theirs, false, mode);
      float_loc(2, in.payload, theirs, true, mode);
      break;
    default:
      if (wire::is_flt_sum(op_)) {
        add_floats(theirs);
      } else {
        for (std::size_t i = 0; i < 4; ++i) {
          words_[i] = lane(words_[i], theirs[i], mode);
        }
      }
    }
  }

  /// The payload an engine would send.
  [[nodiscard]] Payload data() const {
    Payload out = words_;
    if (has_floats() && rc_ < 8) {
      for (std::size_t i = 0; i < 4; ++i) {
        if (is_value_word(i) && std::isnan(number(out[i]))) {
          out[i] = 0x7FF8000000000000;
        }
      }
    }
    return out;
  }
  [[nodiscard]] int code() const {
    return overflow_ ? std::max(rc_, 6) : inexact_ ? std::max(rc_, 5) : rc_;
  }
  [[nodiscard]] int m() const { return m_; }
  [[nodiscard]] int overflow_limb() const { return limb_; }

private:
  static double number(std::uint64_t bits) { return std::bit_cast<double>(bits); }
  static std::uint64_t bits(double v) { return std::bit_cast<std::uint64_t>(v); }
  static constexpr std::uint64_t a_signalling_nan = 0x7FF0000000000001;
  static constexpr std::uint64_t a_quiet_nan = 0x7FF8000000000000;

  [[nodiscard]] bool has_floats() const {
    const auto code = static_cast<unsigned>(op_);
    return code >= 0x20 && code < 0x30;
  }
  [[nodiscard]] bool is_value_word(std::size_t i) const {
    return !wire::is_minmaxloc(op_) || i % 2 == 0;
  }
  /// Beside code 4, a NaN of a MINMAXLOC frame was a signalling one before an engine quieted it.
  void recall_signalling(Payload& words, const Contribution& from) const {
    if (op_ == Opcode::flt_minmaxloc && static_cast<int>(from.rc) == 4) {
      for (const std::size_t i : {0U, 2U}) {
        if (std::isnan(number(words[i]))) {
          words[i] = a_signalling_nan;
        }
      }
    }
  }

  std::uint64_t lane(std::uint64_t a, std::uint64_t b, NanMode mode) {
    const auto x = static_cast<std::int64_t>(a);
    const auto y = static_cast<std::int64_t>(b);
    switch (op_) {
    case Opcode::bit_and: return a & b;
    case Opcode::bit_or: return a | b;
    case Opcode::bit_xor: return a ^ b;
    case Opcode::int_min: return x < y ? a : b;
    case Opcode::int_max: return x > y ? a : b;
    case Opcode::int_sum: {
      const Int128 exact = static_cast<Int128>(x) + y;
      if (exact < INT64_MIN || exact > INT64_MAX) {
        rc_ = std::max(rc_, 6);
      }
      return static_cast<std::uint64_t>(exact);
    }
    case Opcode::flt_min: return nan_wins(number(a), number(b), false);
    case Opcode::flt_max: return nan_wins(number(a), number(b), true);
    case Opcode::flt_minnum: return number_wins(number(a), number(b), false, mode);
    case Opcode::flt_maxnum: return number_wins(number(a), number(b), true, mode);
    default: return 0;
    }
  }
  static double extreme(double a, double b, bool maximum) {
    if (a == b) { // the zeros: -0 is the minimum, +0 the maximum
      return std::signbit(a) != maximum ? a : b;
    }
    return (a < b) != maximum ? a : b;
  }
  void note_signalling(double a, double b) {
    if (is_signalling(a) || is_signalling(b)) {
      rc_ = std::max(rc_, 4);
    }
  }
  std::uint64_t nan_wins(double a, double b, bool maximum) {
    note_signalling(a, b);
    return std::isnan(a) || std::isnan(b) ? a_quiet_nan : bits(extreme(a, b, maximum));
  }
  std::uint64_t number_wins(double a, double b, bool maximum, NanMode mode) {
    note_signalling(a, b);
    if (std::isnan(a) && std::isnan(b)) {
      return a_quiet_nan;
    }
    if (std::isnan(a) || std::isnan(b)) {
      const double nan = std::isnan(a) ? a : b;
      const double other = std::isnan(a) ? b : a;
      return mode == NanMode::ieee && is_signalling(nan) ? a_quiet_nan : bits(other);
    }
    return bits(extreme(a, b, maximum));
  }

  void int_loc(std::size_t at, const Payload& theirs, bool maximum) {
    const auto a = static_cast<std::int64_t>(words_[at]);
    const auto b = static_cast<std::int64_t>(theirs[at]);
    if (a == b) {
      words_[at + 1] = std::min(words_[at + 1], theirs[at + 1]);
    } else if ((b < a) != maximum) {
      words_[at] = theirs[at];
      words_[at + 1] = theirs[at + 1];
    }
  }
  void float_loc(std::size_t at, const Payload& raw, const Payload& theirs, bool maximum,
                 NanMode mode) {
    const double a = number(words_[at]);
    const double b = number(theirs[at]);
    if (is_signalling(number(raw[at]))) {
      rc_ = std::max(rc_, 4);
    }
    const std::uint64_t mine = words_[at + 1];
    const std::uint64_t other = theirs[at + 1];
    const std::uint64_t lower = std::min(mine, other);
    const bool a_nan = std::isnan(a);
    const bool b_nan = std::isnan(b);
    if (!a_nan && !b_nan) {
      words_[at] = bits(extreme(a, b, maximum));
      words_[at + 1] = a == b ? lower : (a < b) != maximum ? mine : other;
    } else if (op_ == Opcode::flt_minmaxloc) {
      const int kind_a = is_signalling(a) ? 2 : a_nan ? 1 : 0;
      const int kind_b = is_signalling(b) ? 2 : b_nan ? 1 : 0;
      words_[at] = std::max(kind_a, kind_b) == 2 ? a_signalling_nan : a_quiet_nan;
      words_[at + 1] = kind_a == kind_b ? lower : kind_a > kind_b ? mine : other;
    } else if (a_nan && b_nan) {
      words_[at] = a_quiet_nan;
      words_[at + 1] = lower;
    } else {
      const bool nan_survives = mode == NanMode::ieee && is_signalling(a_nan ? a : b);
      const bool a_survives = a_nan == nan_survives;
      words_[at] = nan_survives ? a_quiet_nan : bits(a_survives ? a : b);
      words_[at + 1] = a_survives ? mine : other;
    }
  }

  void add_floats(const Payload& theirs) {
    constexpr int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    const int before = std::fegetround();
    const auto code = static_cast<unsigned>(op_);
    bool flushed = false;
    std::fesetround(modes[code & 3]);
    std::feclearexcept(FE_ALL_EXCEPT);
    for (std::size_t i = 0; i < 4; ++i) {
      volatile double a = number(words_[i]);
      volatile double b = number(theirs[i]);
      volatile double sum = a + b;
      double result = sum;
      if ((code & 4) != 0 && std::fpclassify(result) == FP_SUBNORMAL) {
        result = std::copysign(0.0, result);
        flushed = true;
      }
      words_[i] = std::isnan(result) ? a_quiet_nan : bits(result);
    }
    const int raised = std::fetestexcept(FE_ALL_EXCEPT);
    std::fesetround(before);
    const int step = (raised & FE_INVALID) != 0              ? 4
                     : (raised & FE_OVERFLOW) != 0           ? 3
                     : (raised & FE_INEXACT) != 0 || flushed ? 1
                                                             : 0;
    rc_ = std::max(rc_, step);
  }

  static void take_repsum_code(const Contribution& c, bool& overflow, bool& inexact, int& limb,
                               int& rest) {
    const int rc = static_cast<int>(c.rc);
    overflow = rc == 6;
    inexact = rc == 5 || rc == 6;
    limb = rc == 6 ? c.overflow_id & 3 : 0;
    rest = inexact ? 0 : rc;
  }
  void add_repsum(const Contribution& in) {
    struct Side {
      Payload limbs;
      int m;
      bool overflow;
      bool inexact;
      int limb;
    };
    Side a{words_, m_, overflow_, inexact_, limb_};
    Side b{in.payload, in.m, false, false, 0};
    int rest = 0;
    take_repsum_code(in, b.overflow, b.inexact, b.limb, rest);
    rc_ = std::max(rc_, rest);
    if (b.m >= 125) {
      b.limbs = {};
    }
    if (a.m < b.m) {
      std::swap(a, b);
    }
    if (a.m >= 125) {
      if (b.m >= 125) {
        a.limb = std::max(a.limb, b.limb);
        a.overflow |= b.overflow;
        a.inexact |= b.inexact;
      }
      if (a.m == 126 && b.m == 125) {
        a.m = 127;
        rc_ = std::max(rc_, 4);
      }
    } else {
      const int d = a.m - b.m;
      a.inexact |= b.inexact;
      if (b.overflow && b.limb >= d) {
        a.limb = std::max(a.overflow ? a.limb : 0, b.limb - d);
        a.overflow = true;
      }
      for (int j = 0; j < 4; ++j) {
        const auto theirs = static_cast<std::int64_t>(b.limbs[static_cast<std::size_t>(j)]);
        if (j < d) {
          a.inexact |= theirs != 0;
          continue;
        }
        auto& mine = a.limbs[static_cast<std::size_t>(j - d)];
        const Int128 exact = static_cast<Int128>(static_cast<std::int64_t>(mine)) + theirs;
        mine = static_cast<std::uint64_t>(exact);
        if (exact < INT64_MIN || exact > INT64_MAX) {
          a.limb = std::max(a.limb, j - d);
          a.overflow = a.inexact = true;
        }
      }
    }
    words_ = a.limbs;
    m_ = a.m;
    overflow_ = a.overflow;
    inexact_ = a.inexact;
    limb_ = a.limb;
  }

  Payload words_;
  Opcode op_;
  int rc_;
  int m_;
  int limb_;
  bool overflow_ = false;
  bool inexact_ = false;
  std::uint32_t source_;
};

} // namespace tributary::reference
