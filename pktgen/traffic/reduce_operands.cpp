#include "pktgen/traffic/reduce_operands.hpp"

#include "endpoint/collective/piece_codec.hpp"
#include "endpoint/library/operators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tributary::pktgen::traffic {

namespace {

/// A full vector of the narrowest elements is cut into that many pieces at most.
constexpr std::uint64_t most_pieces = 1U << 22;

bool alike(const collective::Completion& a, const collective::Completion& b) {
  return a.payload == b.payload && a.op == b.op && a.rc == b.rc && a.m == b.m &&
         a.overflow_id == b.overflow_id && a.count == b.count;
}

std::vector<workload::Kind> kinds_named(const std::vector<std::string>& names) {
  std::vector<workload::Kind> kinds;
  for (const std::string& name : names) {
    if (name == "mix") {
      kinds.insert(kinds.end(), workload::all_kinds().begin(), workload::all_kinds().end());
      continue;
    }
    const auto found = std::ranges::find(workload::all_kinds(), name, &workload::Kind::name);
    if (found == workload::all_kinds().end()) {
      throw std::invalid_argument(fmt::format("there is no operator \"{}\"; there are {}", name,
                                              fmt::join(operator_names(), ", ")));
    }
    kinds.push_back(*found);
  }
  if (kinds.empty()) {
    throw std::invalid_argument("no operator is given");
  }
  return kinds;
}

} // namespace

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const workload::Kind& kind : workload::all_kinds()) {
    names.push_back(kind.name);
  }
  names.emplace_back("mix");
  return names;
}

ReduceOperands::ReduceOperands(const std::vector<std::string>& operators, std::uint64_t elements,
                               std::uint32_t size, std::uint64_t seed)
    : size_(size) {
  if (elements == 0) {
    throw std::invalid_argument("a vector has at least one element");
  }
  for (const workload::Kind& named : kinds_named(operators)) {
    Kind kind{.named = named};
    if (!named.is_barrier) {
      kind.type = *library::element_type(named.type);
      kind.op = *library::opcode_for(named.op, kind.type);
    }
    kinds_.push_back(kind);
  }
  // Odd, and the more the fewer operators there are: they cost memory.
  variants_ = kinds_.size() == 1 ? 13 : kinds_.size() == 2 ? 7 : 5;
  std::uint64_t cycle = 0;
  for (std::uint32_t k = 0; k < kinds_.size(); ++k) {
    Kind& kind = kinds_[k];
    const std::size_t in_piece =
        kind.named.is_barrier ? elements : collective::elements_per_piece(kind.op, kind.type);
    const std::uint64_t pieces = (elements + in_piece - 1) / in_piece;
    if (cycle + pieces > most_pieces) {
      throw std::invalid_argument(fmt::format(
          "{} elements make more than {} pieces over all operators", elements, most_pieces));
    }
    kind.pieces = static_cast<std::uint32_t>(pieces);
    kind.first_piece = static_cast<std::uint32_t>(cycle);
    const std::size_t in_last = elements - (pieces - 1) * in_piece;
    const std::uint32_t last_row = add_rows(k, kind.named.is_barrier ? 1 : in_last, seed);
    const std::uint32_t row =
        in_last == in_piece || pieces == 1 ? last_row : add_rows(k, in_piece, seed);
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const bool last = i + 1 == pieces;
      cycle_.push_back({k, last ? last_row : row, i == 0, last});
    }
    cycle += pieces;
  }
}

std::uint32_t ReduceOperands::add_rows(std::uint32_t k, std::size_t elements, std::uint64_t seed) {
  const Kind& kind = kinds_[k];
  const auto first = static_cast<std::uint32_t>(rows_.size());
  const workload::Workload workload(seed, size_, elements);
  for (std::uint64_t variant = 0; variant < variants_; ++variant) {
    // The kinds' operands differ, too.
    const std::uint64_t iteration = variant * kinds_.size() + k;
    rows_.push_back({k, elements, workload.expected(kind.named, iteration), std::nullopt});
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

bool ReduceOperands::is_right(std::uint32_t number, const collective::Completion& completion) {
  Row& row = rows_[number];
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

} // namespace tributary::pktgen::traffic
