// Breadth-first search from 512 switches in parallel.
//
// Bit b of a switch's set means that source b has reached it. One step computes for every switch
// the union of its neighbours' newest bits, minus the bits it already has: a few vector
// instructions per link for 512 searches. Bits that are new in step d have distance d.
//
// Writing d into a byte for each new bit would cost more than the search. Instead each switch keeps
// eight sets, the binary digits of its 512 distances: a step ORs the new bits into the digits that
// are 1 in d. At the end eight digits of eight sources, a word of 8x8 bits, are transposed into
// eight bytes, once for each pair of switches and in general registers: no instruction set matters.
//
// That gives for each switch the distances to 512 sources. Rows are needed in the other direction,
// and a transposition writes them in tiles of 64 bytes.

#include "controlplane/multicast/distances.hpp"

#include "controlplane/multicast/multiversion.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>

namespace tributary::multicast {
namespace {

constexpr std::uint32_t sources = Distances::block_rows;
constexpr std::size_t words = sources / 64;
constexpr std::size_t digits = 8;
constexpr std::size_t tile = Distances::row_alignment;
constexpr std::uint32_t longest = 254;

struct alignas(64) SourceSet {
  std::array<std::uint64_t, words> word{};
};
using Digits = std::array<SourceSet, digits>;

/// Transposes a matrix of 8x8 bits: byte r, bit c becomes byte c, bit r.
constexpr std::uint64_t transpose_bits(std::uint64_t m) {
  std::uint64_t t = (m ^ (m >> 7)) & 0x00AA00AA00AA00AA;
  m ^= t ^ (t << 7);
  t = (m ^ (m >> 14)) & 0x0000CCCC0000CCCC;
  m ^= t ^ (t << 14);
  t = (m ^ (m >> 28)) & 0x00000000F0F0F0F0;
  return m ^ t ^ (t << 28);
}

/// One step: finds the new sources of each switch. Returns whether any are new.
TRIBUTARY_MULTIVERSION bool step(const std::uint32_t* first_neighbour,
                                 const std::uint32_t* neighbours, std::uint32_t switches,
                                 const SourceSet* newest, SourceSet* visited, SourceSet* next) {
  std::uint64_t any = 0;
  for (std::uint32_t s = 0; s < switches; ++s) {
    SourceSet reached;
    for (std::uint32_t a = first_neighbour[s]; a < first_neighbour[s + 1]; ++a) {
      const SourceSet& from = newest[neighbours[a]];
      for (std::size_t w = 0; w < words; ++w) {
        reached.word[w] |= from.word[w];
      }
    }
    for (std::size_t w = 0; w < words; ++w) {
      const std::uint64_t fresh = reached.word[w] & ~visited[s].word[w];
      visited[s].word[w] |= fresh;
      next[s].word[w] = fresh;
      any |= fresh;
    }
  }
  return any != 0;
}

TRIBUTARY_MULTIVERSION void note(const SourceSet* fresh, Digits* distances, std::uint32_t switches,
                                 std::uint32_t distance) {
  for (std::uint32_t s = 0; s < switches; ++s) {
    for (std::size_t digit = 0; digit < digits; ++digit) {
      if ((distance >> digit & 1) != 0) {
        for (std::size_t w = 0; w < words; ++w) {
          distances[s][digit].word[w] |= fresh[s].word[w];
        }
      }
    }
  }
}

/// The distances of one switch to the sources, one byte each; `unreachable` where not visited.
void to_bytes(const Digits& distances, const SourceSet& visited, std::uint8_t* bytes) {
  for (std::size_t w = 0; w < words; ++w) {
    const std::uint64_t missed = ~visited.word[w];
    for (std::size_t byte = 0; byte < 8; ++byte) {
      std::uint64_t bits = 0;
      for (std::size_t digit = 0; digit < digits; ++digit) {
        const std::uint64_t set = distances[digit].word[w] | missed;
        bits |= (set >> (8 * byte) & 0xFF) << (8 * digit);
      }
      const std::uint64_t eight = transpose_bits(bits);
      static_assert(std::endian::native == std::endian::little);
      std::memcpy(bytes + w * 64 + byte * 8, &eight, sizeof eight);
    }
  }
}

/// The running maximum of a row. `__restrict`, so that the compiler uses whole vectors.
TRIBUTARY_MULTIVERSION void raise_to(std::uint8_t* __restrict maxima,
                                     const std::uint8_t* __restrict row, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    maxima[i] = std::max(maxima[i], row[i]);
  }
}

/// The same for four rows, in one pass over the maxima.
TRIBUTARY_MULTIVERSION void raise_to_four(std::uint8_t* __restrict maxima,
                                          const std::uint8_t* __restrict a,
                                          const std::uint8_t* __restrict b,
                                          const std::uint8_t* __restrict c,
                                          const std::uint8_t* __restrict d, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::uint8_t of_four = std::max(std::max(a[i], b[i]), std::max(c[i], d[i]));
    maxima[i] = std::max(maxima[i], of_four);
  }
}

TRIBUTARY_MULTIVERSION
std::uint8_t least_of(const std::uint8_t* bytes, std::size_t count) {
  std::uint8_t least = Distances::unreachable;
  for (std::size_t i = 0; i < count; ++i) {
    least = bytes[i] < least ? bytes[i] : least;
  }
  return least;
}

} // namespace

void Distances::AlignedDelete::operator()(std::uint8_t* bytes) const {
  ::operator delete[](bytes, std::align_val_t{row_alignment});
}

Distances::Distances(const RoutingView& view)
    : view_(&view),
      row_bytes_((view.switch_count() + row_alignment - 1) / row_alignment * row_alignment),
      rows_(view.switch_count()), rows_singly_((view.switch_count() + block_rows - 1) / block_rows),
      blocks_(rows_singly_.size()) {}

Distances::Block Distances::storage(std::size_t rows) const {
  return Block(static_cast<std::uint8_t*>(
      ::operator new[](rows* row_bytes_, std::align_val_t{row_alignment})));
}

const std::uint8_t* Distances::made_row(SwitchId from) {
  const std::uint32_t block = from.value / block_rows;
  if (rows_singly_[block] < single_rows) {
    ++rows_singly_[block];
    search_from(from);
  } else {
    make_block(block);
  }
  return rows_[from.value];
}

void Distances::search_from(SwitchId from) {
  Block made = storage(1);
  std::uint8_t* const row = made.get();
  std::fill_n(row, row_bytes_, unreachable);
  queue_.clear();
  if (view_->usable(from)) {
    row[from.value] = 0;
    queue_.push_back(from);
  }
  for (std::size_t next = 0; next < queue_.size(); ++next) {
    const std::uint32_t distance = row[queue_[next].value] + 1U;
    if (distance > longest) {
      break;
    }
    for (const Arc& arc : view_->arcs(queue_[next])) {
      if (row[arc.to.value] == unreachable) {
        row[arc.to.value] = static_cast<std::uint8_t>(distance);
        queue_.push_back(arc.to);
      }
    }
  }
  rows_[from.value] = row;
  singles_.push_back(std::move(made));
}

void Distances::complete() {
  for (std::uint32_t block = 0; block < blocks_.size(); ++block) {
    if (blocks_[block] == nullptr) {
      make_block(block);
    }
  }
}

void Distances::make_block(std::uint32_t block) {
  const std::uint32_t switches = view_->switch_count();
  const std::uint32_t first_source = block * block_rows;
  const std::uint32_t count = std::min(block_rows, switches - first_source);

  std::vector<std::uint32_t> first_neighbour(switches + 1);
  std::vector<std::uint32_t> neighbours;
  neighbours.reserve(2 * std::size_t{view_->usable_link_count()});
  for (std::uint32_t s = 0; s < switches; ++s) {
    for (const Arc& arc : view_->arcs(SwitchId{s})) {
      neighbours.push_back(arc.to.value);
    }
    first_neighbour[s + 1] = static_cast<std::uint32_t>(neighbours.size());
  }

  std::vector<SourceSet> newest(switches);
  std::vector<SourceSet> next(switches);
  std::vector<Digits> distances(switches);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (view_->usable(SwitchId{first_source + i})) {
      newest[first_source + i].word[i / 64] |= std::uint64_t{1} << (i % 64);
    }
  }
  std::vector<SourceSet> visited = newest;
  for (std::uint32_t distance = 1; distance <= longest; ++distance) {
    if (!step(first_neighbour.data(), neighbours.data(), switches, newest.data(), visited.data(),
              next.data())) {
      break;
    }
    note(next.data(), distances.data(), switches, distance);
    newest.swap(next);
  }

  // Whole tiles are written, so the last block also has rows beyond the last switch.
  const std::size_t rows = (count + tile - 1) / tile * tile;
  Block made = storage(rows);
  std::vector<std::uint8_t> columns(tile * sources, unreachable);
  for (std::size_t t = 0; t < row_bytes_; t += tile) {
    for (std::size_t i = 0; i < tile; ++i) {
      if (t + i < switches) {
        to_bytes(distances[t + i], visited[t + i], &columns[i * sources]);
      } else {
        std::fill_n(&columns[i * sources], sources, unreachable);
      }
    }
    for (std::size_t source = 0; source < rows; ++source) {
      std::uint8_t* to = made.get() + source * row_bytes_ + t;
      for (std::size_t i = 0; i < tile; ++i) {
        to[i] = columns[i * sources + source];
      }
    }
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (rows_[first_source + i] == nullptr) { // an existing row must not move
      rows_[first_source + i] = made.get() + i * row_bytes_;
    }
  }
  blocks_[block] = std::move(made);
}

std::uint8_t radius(std::span<const std::uint8_t> eccentricities) {
  return least_of(eccentricities.data(), eccentricities.size());
}

void eccentricities(Distances& distances, std::span<const SwitchId> switches,
                    std::span<std::uint8_t> eccentricities) {
  std::memcpy(eccentricities.data(), distances.row(switches.front()), distances.row_bytes());
  auto rest = switches.subspan(1);
  for (; rest.size() >= 4; rest = rest.subspan(4)) {
    raise_to_four(eccentricities.data(), distances.row(rest[0]), distances.row(rest[1]),
                  distances.row(rest[2]), distances.row(rest[3]), distances.row_bytes());
  }
  for (const SwitchId s : rest) {
    raise_to(eccentricities.data(), distances.row(s), distances.row_bytes());
  }
}

} // namespace tributary::multicast
