#include "pktgen/traffic/reduce_operands.hpp"

#include "endpoint/collective/piece_codec.hpp"
#include "endpoint/library/operators.hpp"
#include "pktgen/scenario/reduce_frames.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

namespace tributary::pktgen::traffic {

using collective::ElementType;
using collective::VectorCut;
using scenario::Reduce;

namespace {

/// A full vector of the narrowest elements is cut into at most this many pieces.
constexpr std::uint64_t most_pieces = 1U << 22;

bool alike(const collective::Completion& a, const collective::Completion& b) {
  return a.payload == b.payload && a.op == b.op && a.rc == b.rc && a.m == b.m &&
         a.overflow_id == b.overflow_id && a.count == b.count;
}

std::vector<workload::Kind> known_kinds(bool wide) {
  std::vector<workload::Kind> kinds = workload::all_kinds();
  if (wide) {
    kinds.insert(kinds.end(), workload::wide_kinds().begin(), workload::wide_kinds().end());
  }
  return kinds;
}

std::vector<workload::Kind> kinds_named(const std::vector<std::string>& names, bool wide) {
  const std::vector<workload::Kind> known = known_kinds(wide);
  std::vector<workload::Kind> kinds;
  for (const std::string& name : names) {
    if (name == "mix" || (wide && name == "wide-mix")) {
      const auto& all = name == "mix" ? workload::all_kinds() : workload::wide_kinds();
      kinds.insert(kinds.end(), all.begin(), all.end());
      continue;
    }
    const auto found = std::ranges::find(known, name, &workload::Kind::name);
    if (found != known.end()) {
      kinds.push_back(*found);
      continue;
    }
    const bool needs_wide = std::ranges::count(operator_names(true), name) != 0;
    throw std::invalid_argument(
        needs_wide
            ? fmt::format("operator \"{}\" needs wide frames; give a payload, e.g. 1408", name)
            : fmt::format("no operator \"{}\"; there are {}", name,
                          fmt::join(operator_names(wide), ", ")));
  }
  if (kinds.empty()) {
    throw std::invalid_argument("no operator is given");
  }
  return kinds;
}

/// By their places in scenario::type_names().
constexpr ElementType types[] = {
    ElementType::int8,
    ElementType::uint8,
    ElementType::int16,
    ElementType::uint16,
    ElementType::int32,
    ElementType::uint32,
    ElementType::int64,
    ElementType::uint64,
    ElementType::float64,
    ElementType::float32,
    ElementType::float16,
    ElementType::bfloat16,
    ElementType::minmaxloc_int64,
    ElementType::minmaxloc_float64,
};

/// The place of a name in a list.
std::size_t place_of(std::string_view name, std::string_view what,
                     std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    throw std::invalid_argument(
        fmt::format("no {} \"{}\"; use one of {}", what, name, fmt::join(names, ", ")));
  }
  return static_cast<std::size_t>(found - names.begin());
}

/// The supported alternatives.
std::vector<std::string_view> operations_of(ElementType type, bool wide) {
  std::vector<std::string_view> names;
  for (const wire::Call& call : wire::calls) {
    if (library::opcode_for(call.number, type, wide)) {
      names.push_back(scenario::operation_names()[static_cast<std::size_t>(call.number)]);
    }
  }
  return names;
}

workload::Kind kind_of_type(const Reduce& reduce, bool wide) {
  const ElementType type = types[place_of(reduce.type, "type", scenario::type_names())];
  const auto op = static_cast<tributary_op>(
      place_of(reduce.operation, "operation", scenario::operation_names()));
  if (library::opcode_for(op, type, wide)) {
    return {{}, op, static_cast<tributary_type>(type)};
  }
  if (!wide && library::opcode_for(op, type, true)) {
    throw std::invalid_argument(
        fmt::format("{} of {} needs wide frames; give a payload above 32, e.g. 1408",
                    reduce.operation, reduce.type));
  }
  throw std::invalid_argument(fmt::format("no {} of {}; there are {}", reduce.operation,
                                          reduce.type, fmt::join(operations_of(type, wide), ", ")));
}

} // namespace

std::vector<std::string_view> operator_names(bool wide) {
  std::vector<std::string_view> names;
  for (const workload::Kind& kind : known_kinds(wide)) {
    names.push_back(kind.name);
  }
  names.emplace_back("mix");
  if (wide) {
    names.emplace_back("wide-mix");
  }
  return names;
}

std::vector<ReduceOperands::Kind> ReduceOperands::kinds_of(const Reduce& reduce) {
  const bool wide = scenario::has_wide_frames(reduce);
  std::vector<Kind> kinds;
  for (const workload::Kind& named : reduce.type.empty()
                                         ? kinds_named(reduce.operators, wide)
                                         : std::vector{kind_of_type(reduce, wide)}) {
    Kind kind{.named = named};
    if (!named.is_barrier) {
      kind.type = *library::element_type(named.type);
      kind.op = *library::opcode_for(named.op, kind.type, wide);
    }
    kinds.push_back(kind);
  }
  return kinds;
}

ReduceOperands::ReduceOperands(const Reduce& reduce, std::uint64_t seed)
    : size_(reduce.leaves + 1), payload_(reduce.payload), kinds_(kinds_of(reduce)),
      // Odd, and the more the fewer operators there are: they cost memory.
      variants_(kinds_.size() == 1   ? 13
                : kinds_.size() == 2 ? 7
                                     : 5),
      of_kinds_(kinds_.size()), of_variants_(variants_) {
  if (reduce.elements == 0) {
    throw std::invalid_argument("a vector has at least one element");
  }
  for (std::uint32_t k = 0; k < kinds_.size(); ++k) {
    plan(k, reduce.elements, seed);
  }
  of_cycle_ = Divisor(cycle_.size());
}

void ReduceOperands::plan(std::uint32_t k, std::uint64_t elements, std::uint64_t seed) {
  Kind& kind = kinds_[k];
  const VectorCut cut = VectorCut::of(kind.op, kind.type, elements, payload_);
  if (cycle_.size() + cut.pieces > most_pieces) {
    throw std::invalid_argument(
        fmt::format("{} elements make more than {} pieces over all operators; give fewer, or a "
                    "larger payload",
                    elements, most_pieces));
  }
  kind.pieces = static_cast<std::uint32_t>(cut.pieces);
  const std::size_t in_last =
      kind.named.is_barrier ? 1 : elements - (cut.pieces - 1) * cut.elements_per_piece;
  const bool alike = cut.pieces == 1 || in_last == cut.elements_per_piece;
  if (cut.is_wide()) {
    const std::size_t longest = cut.pieces == 1 ? in_last : cut.elements_per_piece;
    pools_.emplace_back(kind.op, kind.type, size_, longest + variants_ - 1, seed + k);
  }
  const auto rows_of = [&](std::size_t count) {
    return cut.is_wide() ? add_wide_rows(k, cut, count) : add_rows(k, count, seed);
  };
  const std::uint32_t last_row = rows_of(in_last);
  const std::uint32_t row = alike ? last_row : rows_of(cut.elements_per_piece);
  for (std::uint64_t i = 0; i < cut.pieces; ++i) {
    const bool last = i + 1 == cut.pieces;
    cycle_.push_back({k, last ? last_row : row, i == 0, last});
  }
}

std::uint32_t ReduceOperands::add_rows(std::uint32_t k, std::size_t elements, std::uint64_t seed) {
  const Kind& kind = kinds_[k];
  const auto first = static_cast<std::uint32_t>(rows_.size());
  const workload::Workload workload(seed, size_, elements);
  for (std::uint64_t variant = 0; variant < variants_; ++variant) {
    // The kinds' operands differ, too.
    const std::uint64_t iteration = variant * kinds_.size() + k;
    Row& row = rows_.emplace_back();
    row.kind = k;
    row.elements = elements;
    row.first_operand = operands_.size();
    row.expected = workload.expected(kind.named, iteration);
    row.element_bytes = static_cast<std::uint32_t>(row.expected.elements.size());
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      if (kind.named.is_barrier) {
        operands_.emplace_back();
      } else {
        const std::vector<std::byte> bytes = workload.operand(kind.named, iteration, rank);
        operands_.push_back(collective::encode_piece(kind.op, kind.type, bytes.data(), elements));
      }
    }
  }
  return first;
}

std::uint32_t ReduceOperands::add_wide_rows(std::uint32_t k, const VectorCut& cut,
                                            std::size_t elements) {
  const auto first = static_cast<std::uint32_t>(rows_.size());
  for (std::uint32_t variant = 0; variant < variants_; ++variant) {
    Row& row = rows_.emplace_back();
    row.kind = k;
    row.elements = elements;
    row.element_bytes = static_cast<std::uint32_t>(elements * collective::bytes_of(kinds_[k].type));
    row.vector.op = kinds_[k].op;
    row.vector.form = cut.form;
    row.vector.bytes = static_cast<std::uint32_t>(elements * wire::element_bytes(cut.form));
    row.vector.payload_bytes = cut.payload_bytes(elements);
    row.pool = static_cast<std::uint32_t>(pools_.size() - 1);
    row.column = variant;
  }
  return first;
}

bool ReduceOperands::have_other_opcodes() const {
  return std::ranges::all_of(rows_,
                             [](const Row& row) { return has_other_opcode(row.vector.form); });
}

bool ReduceOperands::is_right(std::uint32_t number, const collective::Completion& completion,
                              const collective::WideView& vector) {
  Row& row = rows_[number];
  if (row.vector.is_wide()) {
    return matches(row, completion, vector);
  }
  if (row.seen && alike(*row.seen, completion)) {
    return true;
  }
  if (!matches(row, completion)) {
    return false;
  }
  row.seen = completion;
  return true;
}

bool ReduceOperands::matches(const Row& row, const collective::Completion& completion) const {
  const Kind& kind = kinds_[row.kind];
  if (completion.count != size_ || completion.op != kind.op ||
      static_cast<int>(completion.rc) != row.expected.code) {
    return false;
  }
  if (kind.named.is_barrier) {
    return completion.payload == wire::Payload{};
  }
  std::array<std::byte, sizeof(wire::Payload)> elements{};
  collective::decode_piece(completion, kind.type, elements.data(), row.elements);
  const std::vector<std::byte>& due = row.expected.elements;
  return std::equal(due.begin(), due.end(), elements.begin());
}

bool ReduceOperands::matches(const Row& row, const collective::Completion& completion,
                             const collective::WideView& vector) const {
  const bool wraps = completion.rc == wire::ResultCode::int_overflow &&
                     collective::is_unsigned(kinds_[row.kind].type);
  return completion.count == size_ && completion.op == row.vector.op &&
         (completion.rc == wire::ResultCode::success || wraps) && vector.form == row.vector.form &&
         vector.payload.size() == row.vector.payload_bytes &&
         pools_[row.pool].is_right(row.column, vector.payload.first(row.vector.bytes));
}

} // namespace tributary::pktgen::traffic
