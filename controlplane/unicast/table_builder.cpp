#include "controlplane/unicast/table_builder.hpp"

#include "controlplane/unicast/route_error.hpp"

#include <algorithm>

namespace tributary::unicast {
namespace {

std::uint64_t packed(const forwarding_table::Action& a) {
  return std::uint64_t{a.ports} | std::uint64_t{a.spares} << 16 | std::uint64_t{a.step} << 32 |
         std::uint64_t{a.turns} << 40 | std::uint64_t{a.spare_turns} << 48 |
         static_cast<std::uint64_t>(a.otherwise) << 56 | std::uint64_t{a.u_turn} << 62 |
         std::uint64_t{a.rises} << 63;
}

/// The next number of a kind; tables store it in two bytes.
std::uint16_t next_number(std::size_t have) {
  if (have > 0xFFFF) {
    throw RouteError("a switch needs more than 65,536 different actions, rows or groups of ports: "
                     "the fabric is too large for these tables");
  }
  return static_cast<std::uint16_t>(have);
}

} // namespace

TableBuilder::TableBuilder(const Frame& frame) {
  table_.self = frame.self;
  table_.destinations = frame.destinations;
  table_.vcs = frame.vcs;
  table_.words = forwarding_table::group_words(frame.ports);
  table_.classes.resize(frame.ports);
  table_.row_of.resize(std::size_t{frame.classes} * frame.vcs);
  table_.port_words.resize(table_.words);
  scratch_.resize(table_.words);
  table_.actions.emplace_back();
  actions_.emplace(packed({}), std::uint16_t{0});
}

std::uint16_t TableBuilder::group(std::span<const std::uint64_t> ports) {
  if (table_.words != 1) {
    return find_group(ports);
  }
  Recent& recent = recent_groups_[place(ports[0])];
  if (recent.key != ports[0]) {
    recent = {ports[0], find_group(ports)};
  }
  return recent.number;
}

std::uint16_t TableBuilder::find_group(std::span<const std::uint64_t> ports) {
  std::uint64_t hash = 0;
  bool any = false;
  for (const std::uint64_t word : ports) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29;
    any |= word != 0;
  }
  if (!any) {
    return 0;
  }
  for (auto [at, end] = groups_.equal_range(hash); at != end; ++at) {
    if (std::ranges::equal(table_.group(at->second), ports)) {
      return at->second;
    }
  }
  const std::uint16_t number = next_number(table_.port_words.size() / table_.words);
  table_.port_words.insert(table_.port_words.end(), ports.begin(), ports.end());
  groups_.emplace(hash, number);
  return number;
}

std::uint16_t TableBuilder::range_group(std::uint32_t first, std::uint32_t count) {
  std::ranges::fill(scratch_, 0);
  for (std::uint32_t p = first; p < first + count; ++p) {
    scratch_[p / 64] |= std::uint64_t{1} << (p % 64);
  }
  return group(scratch_);
}

std::uint16_t TableBuilder::action(const forwarding_table::Action& action) {
  const std::uint64_t key = packed(action);
  Recent& recent = recent_actions_[place(key)];
  if (recent.key == key) {
    return recent.number;
  }
  const auto [at, is_new] = actions_.try_emplace(key, std::uint16_t{0});
  if (is_new) {
    at->second = next_number(table_.actions.size());
    table_.actions.push_back(action);
  }
  recent = {key, at->second};
  return at->second;
}

std::uint16_t TableBuilder::add_row() {
  const std::uint16_t row = next_number(table_.rows.size() / std::max(1U, table_.destinations));
  table_.rows.resize(table_.rows.size() + table_.destinations);
  return row;
}

std::uint16_t TableBuilder::copy_row(std::uint16_t row) {
  const std::uint16_t copy = add_row();
  const auto from = table_.rows.begin() + std::ptrdiff_t{row} * table_.destinations;
  std::copy(from, from + table_.destinations,
            table_.rows.begin() + std::ptrdiff_t{copy} * table_.destinations);
  return copy;
}

} // namespace tributary::unicast
