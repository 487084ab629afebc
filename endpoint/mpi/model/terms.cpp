#include "endpoint/mpi/model/terms.hpp"

#include "endpoint/library/operators.hpp"
#include "endpoint/mpi/model/arithmetic.hpp"
#include "endpoint/mpi/model/word_hash.hpp"
#include "tributary/tributary.h"
#include "tributary/wire/opcode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

namespace tributary::mpi {

namespace {

constexpr unsigned fingerprint_bits = 48; // held exactly by one double, or by two floats

std::string_view name_of(Element element) {
  constexpr std::array<std::string_view, element_count> names{
      "8-bit integers",  "unsigned 8-bit integers",
      "16-bit integers", "unsigned 16-bit integers",
      "32-bit integers", "unsigned 32-bit integers",
      "64-bit integers", "unsigned 64-bit integers",
      "floats",          "doubles",
      "MPI_FLOAT_INT",   "MPI_DOUBLE_INT",
      "MPI_LONG_INT",    "MPI_2INT",
      "MPI_SHORT_INT",   "complex floats",
      "complex doubles", "elements"};
  return names[static_cast<std::size_t>(element)];
}

std::string_view name_of_call(Kind kind) {
  switch (kind) {
  case Kind::allreduce: return "MPI_Allreduce";
  case Kind::reduce: return "MPI_Reduce";
  case Kind::bcast: return "MPI_Bcast";
  case Kind::barrier: return "MPI_Barrier";
  case Kind::reduce_scatter_block: return "MPI_Reduce_scatter_block";
  case Kind::reduce_scatter: return "MPI_Reduce_scatter";
  case Kind::iallreduce: return "MPI_Iallreduce";
  case Kind::ibarrier: return "MPI_Ibarrier";
  case Kind::allreduce_init: return "MPI_Allreduce_init";
  case Kind::reduce_init: return "MPI_Reduce_init";
  case Kind::bcast_init: return "MPI_Bcast_init";
  case Kind::barrier_init: return "MPI_Barrier_init";
  case Kind::reduce_scatter_block_init: return "MPI_Reduce_scatter_block_init";
  case Kind::reduce_scatter_init: return "MPI_Reduce_scatter_init";
  }
  return "?";
}

/// The identity of an element of a mark.
template <typename T> T neutral(const Plan& plan) {
  using Limits = std::numeric_limits<T>;
  const auto op = library::opcode_for(plan.op, *library::element_type(plan.type), true);
  const double identity = wire::operator_of(op.value()).identity;
  if (std::isinf(identity)) {
    return identity > 0 ? Limits::max() : Limits::lowest();
  }
  if constexpr (Limits::is_integer) {
    return static_cast<T>(static_cast<std::int64_t>(identity));
  } else {
    return static_cast<T>(identity);
  }
}

/// Eight bytes of elements, each a number with some bits of the fingerprint.
template <typename T> struct PackedFingerprint {
  static constexpr std::size_t count = 8 / sizeof(T);
  static constexpr unsigned bits = fingerprint_bits / count;

  static void write(const Plan& plan, std::uint64_t fingerprint, bool speaks, std::byte* frames) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t piece = fingerprint >> (bits * i) & ((std::uint64_t{1} << bits) - 1);
      const T element = speaks ? static_cast<T>(piece) : neutral<T>(plan);
      std::memcpy(frames + i * sizeof element, &element, sizeof element);
    }
  }
  static std::uint64_t read(const std::byte* frames) {
    std::uint64_t fingerprint = 0;
    for (std::size_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, frames + i * sizeof element, sizeof element);
      if (!(element >= 0 && element < static_cast<T>(std::uint64_t{1} << bits))) {
        return 0; // no piece of any
      }
      fingerprint |= static_cast<std::uint64_t>(element) << (bits * i);
    }
    return fingerprint;
  }
};

template <typename Tuple, typename Value> struct Pairs {
  static void write(std::uint64_t fingerprint, bool speaks, std::byte* frames) {
    Tuple tuple{};
    tuple.min = speaks ? static_cast<Value>(fingerprint) : std::numeric_limits<Value>::max();
    tuple.max = speaks ? static_cast<Value>(fingerprint) : std::numeric_limits<Value>::lowest();
    std::memcpy(frames, &tuple, sizeof tuple);
  }
  static std::uint64_t read(const std::byte* frames) {
    Tuple tuple;
    std::memcpy(&tuple, frames, sizeof tuple);
    return PackedFingerprint<Value>::read(reinterpret_cast<const std::byte*>(&tuple.min));
  }
};

/// Calls `with` with a zero of the type of an element that is a number.
template <typename With> void with_number(int type, With&& with) {
  switch (type) {
  case TRIBUTARY_INT8: with(std::int8_t{}); return;
  case TRIBUTARY_UINT8: with(std::uint8_t{}); return;
  case TRIBUTARY_INT16: with(std::int16_t{}); return;
  case TRIBUTARY_UINT16: with(std::uint16_t{}); return;
  case TRIBUTARY_INT32: with(std::int32_t{}); return;
  case TRIBUTARY_UINT32: with(std::uint32_t{}); return;
  case TRIBUTARY_INT64: with(std::int64_t{}); return;
  case TRIBUTARY_UINT64: with(std::uint64_t{}); return;
  case TRIBUTARY_FLOAT: with(float{}); return;
  default: with(double{}); return;
  }
}

} // namespace

std::string text_of(const Terms& terms) {
  const std::string_view call = name_of_call(terms.kind);
  switch (blocking(terms.kind)) {
  case Kind::barrier: return std::string(call);
  case Kind::bcast:
    return fmt::format("{} of {} bytes from rank {}", call, terms.elements, terms.root);
  default: break;
  }
  std::string text = fmt::format("{} of {} {} with {}", call, terms.elements,
                                 name_of(terms.plan.element), terms_of(terms.plan.operation).name);
  if (blocking(terms.kind) == Kind::reduce) {
    text += fmt::format(" to rank {}", terms.root);
  } else if (blocking(terms.kind) == Kind::reduce_scatter) {
    text +=
        fmt::format(", counts with the checksum {:08x}", static_cast<std::uint32_t>(terms.counts));
  }
  return text;
}

std::uint64_t fingerprint(const Terms& terms) {
  WordHash hash;
  hash.add(static_cast<std::uint64_t>(terms.kind));
  hash.add(static_cast<std::uint64_t>(terms.plan.conversion) << 8 |
           static_cast<std::uint64_t>(terms.plan.element));
  hash.add(static_cast<std::uint64_t>(terms.plan.op));
  hash.add(static_cast<std::uint64_t>(terms.root));
  hash.add(terms.elements);
  hash.add(terms.counts);
  const std::uint64_t bits = hash.value() >> (64 - fingerprint_bits);
  return bits == 0 ? 1 : bits;
}

std::size_t mark_elements(const Plan& plan) {
  return plan.frame_bytes == 0 ? 0 : plan.frame_bytes < 8 ? 8 / plan.frame_bytes : 1;
}

std::uint64_t pieces_of(const Plan& plan, std::size_t elements, std::uint32_t payload) {
  const std::uint64_t bytes = (elements + mark_elements(plan)) * plan.frame_bytes;
  return std::max<std::uint64_t>((bytes + payload - 1) / payload, 1);
}

void write_mark(const Plan& plan, std::uint64_t fingerprint, bool speaks, std::byte* frames) {
  switch (plan.type) {
  case TRIBUTARY_MINMAXLOC_INT64:
    Pairs<tributary_minmaxloc_int64, std::int64_t>::write(fingerprint, speaks, frames);
    return;
  case TRIBUTARY_MINMAXLOC_DOUBLE:
    Pairs<tributary_minmaxloc_double, double>::write(fingerprint, speaks, frames);
    return;
  case TRIBUTARY_REPSUM_STATE: {
    const double number = speaks ? static_cast<double>(fingerprint) : 0;
    to_frames(plan, reinterpret_cast<const std::byte*>(&number), 1, frames);
    return;
  }
  default:
    with_number(plan.type, [&]<typename T>(T) {
      PackedFingerprint<T>::write(plan, fingerprint, speaks, frames);
    });
  }
}

std::uint64_t read_mark(const Plan& plan, const std::byte* frames) {
  std::uint64_t fingerprint = 0;
  switch (plan.type) {
  case TRIBUTARY_MINMAXLOC_INT64:
    return Pairs<tributary_minmaxloc_int64, std::int64_t>::read(frames);
  case TRIBUTARY_MINMAXLOC_DOUBLE: return Pairs<tributary_minmaxloc_double, double>::read(frames);
  case TRIBUTARY_REPSUM_STATE: {
    double number = 0;
    from_frames(plan, frames, 1, reinterpret_cast<std::byte*>(&number));
    return PackedFingerprint<double>::read(reinterpret_cast<const std::byte*>(&number));
  }
  default:
    with_number(plan.type,
                [&]<typename T>(T) { fingerprint = PackedFingerprint<T>::read(frames); });
  }
  return fingerprint;
}

} // namespace tributary::mpi
