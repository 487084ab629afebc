#include "pktgen/scenario/reduce_frames.hpp"

#include "tributary/wire/opcode.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

namespace tributary::pktgen::scenario {

namespace {

/// An element type by the name that `type` has for it, and its size in memory.
struct VectorType {
  std::string_view name;
  std::uint32_t bytes;
};
constexpr std::array all_types = {
    VectorType{"int8", 1},
    VectorType{"uint8", 1},
    VectorType{"int16", 2},
    VectorType{"uint16", 2},
    VectorType{"int32", 4},
    VectorType{"uint32", 4},
    VectorType{"int64", 8},
    VectorType{"uint64", 8},
    VectorType{"float64", 8},
    VectorType{"float32", 4},
    VectorType{"float16", 2},
    VectorType{"bfloat16", 2},
    VectorType{"minmaxloc_int64", 32},
    VectorType{"minmaxloc_float64", 32},
};

/// With an MTU of 1,500.
constexpr std::uint32_t usual_wide_payload = 1408;
/// Default number of contributions in flight: about as many as caches hold.
constexpr std::uint32_t usual_contributions = 2048;
/// Where no setting gives the width.
constexpr std::uint32_t usual_element_bytes = 8;

std::uint32_t usual_slots(const Reduce& reduce) {
  if (!has_wide_frames(reduce)) {
    return reductions_per_tree;
  }
  const std::uint64_t members =
      std::max<std::uint64_t>(std::uint64_t{reduce.leaves} * reduce.trees, 1);
  const auto fit = static_cast<std::uint32_t>(std::bit_floor(usual_contributions / members));
  return std::clamp<std::uint32_t>(fit, reductions_per_tree, most_reductions_per_tree);
}

/// In frames of the payload, if they were full.
std::uint64_t pieces_of(const Reduce& reduce) {
  const auto type = std::ranges::find(all_types, reduce.type, &VectorType::name);
  const std::uint64_t each = type == all_types.end() ? usual_element_bytes : type->bytes;
  return std::max<std::uint64_t>((reduce.elements * each + reduce.payload - 1) / reduce.payload, 1);
}

/// As many as fill the slots.
std::uint32_t usual_in_flight(const Reduce& reduce) {
  const std::uint64_t pieces = pieces_of(reduce);
  return !has_wide_frames(reduce) || pieces == 1
             ? reduce.slots
             : static_cast<std::uint32_t>(
                   std::min<std::uint64_t>(reduce.slots / pieces + 2, reduce.slots));
}

/// Long enough that a generator that is busy with others is not taken for a loss. Lost vectors are
/// detected much earlier, by what completes behind them; and an unnecessary retry halves the
/// windows of all members.
std::chrono::nanoseconds usual_retry(const Reduce& reduce) {
  const bool wide = has_wide_frames(reduce);
  const std::uint64_t pieces =
      wide ? std::min<std::uint64_t>(reduce.slots, reduce.in_flight * pieces_of(reduce))
           : reduce.in_flight;
  const std::chrono::nanoseconds all =
      std::chrono::microseconds(wide ? 16 : 4) * (reduce.leaves * pieces * reduce.trees);
  return std::clamp<std::chrono::nanoseconds>(all, std::chrono::milliseconds(wide ? 500 : 32),
                                              std::chrono::seconds(5));
}

} // namespace

std::span<const std::string_view> type_names() {
  static const auto names = [] {
    std::array<std::string_view, all_types.size()> all;
    std::ranges::transform(all_types, all.begin(), &VectorType::name);
    return all;
  }();
  return names;
}

std::span<const std::string_view> operation_names() {
  static const auto texts = [] {
    std::array<std::string, wire::calls.size()> all;
    std::ranges::transform(wire::calls, all.begin(), [](const wire::Call& call) {
      std::string name(call.name);
      for (char& c : name) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      }
      return name;
    });
    return all;
  }();
  static const std::array<std::string_view, wire::calls.size()> names = [] {
    std::array<std::string_view, wire::calls.size()> all;
    std::ranges::copy(texts, all.begin());
    return all;
  }();
  return names;
}

Reduce resolved(Reduce reduce) {
  if (reduce.payload == 0) {
    reduce.payload = reduce.type.empty() ? sizeof(wire::Payload) : usual_wide_payload;
  }
  if (reduce.slots == 0) {
    reduce.slots = usual_slots(reduce);
  }
  if (reduce.in_flight == 0) {
    reduce.in_flight = usual_in_flight(reduce);
  }
  if (reduce.retry.count() == 0) {
    reduce.retry = usual_retry(reduce);
  }
  return reduce;
}

bool has_wide_frames(const Reduce& resolved) { return resolved.payload > sizeof(wire::Payload); }

bool adds_half_floats(const Reduce& resolved) {
  const auto is_half = [](std::string_view name) {
    return name.ends_with("float16") || name == "wide-mix"; // bfloat16, too
  };
  return has_wide_frames(resolved) &&
         (resolved.type.empty() ? std::ranges::any_of(resolved.operators, is_half)
                                : is_half(resolved.type));
}

std::uint32_t longest_frame_of(const Reduce& resolved) {
  return static_cast<std::uint32_t>(has_wide_frames(resolved)
                                        ? wire::wide_header_bytes + resolved.payload
                                        : wire::reduction_frame_bytes);
}

} // namespace tributary::pktgen::scenario
