// INT_MINMAXLOC, FLT_MINMAXLOC and FLT_MINMAXNUMLOC on a wide frame: tuples {minimum, its index,
// maximum, its index} of four little-endian words, by the code of the 84-byte frame
// (minmaxloc.hpp).
//
// A slot holds canonical NaNs only, so of two NaNs in FLT_MINMAXLOC the one of the lower index
// wins, whichever was signalling: an 84-byte frame can show that by its code, but one code for many
// tuples cannot. In IEEE mode `begin` leaves signalling NaNs unchanged, for the next number in
// FLT_MINMAXNUMLOC.
#pragma once

#include "tributary/reduce/accumulator.hpp"
#include "tributary/reduce/floating.hpp"
#include "tributary/reduce/minmaxloc.hpp"
#include "tributary/reduce/wide_kernel.hpp"
#include "tributary/wire/byte_order.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tributary::reduce {

template <Opcode op> class WideTuple {
public:
  static ResultCode begin(std::byte* slot, const std::byte* frame, std::size_t bytes,
                          WideOperation operation) noexcept {
    ResultCode rc = ResultCode::success;
    for (std::size_t at = 0; at + element_bytes <= bytes; at += element_bytes) {
      const Accumulator in = admitted(frame + at);
      rc = worse(rc, in.rc);
      store(slot + at, keeps_signalling(operation) ? load(frame + at) : in.payload);
    }
    return rc;
  }
  static ResultCode add(std::byte* slot, const std::byte* frame, std::size_t bytes,
                        WideOperation operation) noexcept {
    ResultCode rc = ResultCode::success;
    for (std::size_t at = 0; at + element_bytes <= bytes; at += element_bytes) {
      rc = worse(rc, combine(slot + at, frame + at, slot + at, operation));
    }
    return rc;
  }
  static ResultCode end(const std::byte* slot, std::byte* frame, std::size_t bytes,
                        WideOperation operation) noexcept {
    ResultCode rc = ResultCode::success;
    std::size_t at = 0;
    for (; at + element_bytes <= bytes; at += element_bytes) {
      rc = worse(rc, combine(slot + at, frame + at, frame + at, operation));
    }
    std::memset(frame + at, 0, bytes - at);
    return rc;
  }
  static ResultCode emit(const std::byte* slot, std::byte* frame, std::size_t bytes,
                         WideOperation) noexcept {
    std::size_t at = 0;
    for (; at + element_bytes <= bytes; at += element_bytes) {
      store(frame + at, admitted(slot + at).payload);
    }
    std::memset(frame + at, 0, bytes - at);
    return ResultCode::success;
  }

private:
  static constexpr std::size_t element_bytes = wire::element_bytes(Form::tuple);
  static constexpr LanePair values{-1, 0};

  static constexpr bool keeps_signalling(WideOperation operation) {
    return op == Opcode::flt_minmaxnumloc && operation.nan_mode == NanMode::ieee;
  }
  static wire::Payload load(const std::byte* p) noexcept {
    wire::Payload words;
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = wire::load_le<std::uint64_t>(p + 8 * i);
    }
    return words;
  }
  static void store(std::byte* p, const wire::Payload& words) noexcept {
    for (std::size_t i = 0; i < words.size(); ++i) {
      wire::store_le(p + 8 * i, words[i]);
    }
  }
  /// With canonical NaNs; signalling ones are recorded and set the code.
  static Accumulator admitted(const std::byte* p) noexcept {
    Accumulator acc;
    acc.payload = load(p);
    if (wire::operands_of(op) == Operands::float_tuples) {
      admit_floats(acc, values);
    }
    return acc;
  }

  /// out = a + b, where out may be either.
  static ResultCode combine(const std::byte* a, const std::byte* b, std::byte* out,
                            WideOperation operation) noexcept {
    Accumulator acc = admitted(a);
    const Accumulator canonical = admitted(b);
    Contribution in;
    in.payload = keeps_signalling(operation) ? load(b) : canonical.payload;
    Kernel<op>::combine(acc, in, operation.nan_mode);
    store(out, acc.payload);
    return worse(acc.rc, canonical.rc);
  }
};

} // namespace tributary::reduce
