#include "dataplane/core/slot_dealer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tributary::core {
namespace {

std::uint64_t lines_of(const SlotDemand& demand) { return demand.bytes() / slot_line_bytes; }

/// A range of occupied lines.
struct Taken {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

} // namespace

std::string SlotDealer::add(TreeNumber tree, const SlotDemand& demand) {
  if (!is_slot_count(demand.slots)) {
    return fmt::format("{} slots are not supported: use 8, 16, 32, 64 or 128", demand.slots);
  }
  if (!demand.any()) {
    return demand.slots == reductions_per_tree
               ? std::string()
               : fmt::format("{} slots need wide frames; give the longest payload, a multiple of "
                             "64 bytes, too",
                             demand.slots);
  }
  if (!is_slot_payload(demand.payload_bytes)) {
    return fmt::format("a payload of {} bytes is not supported: use a multiple of 64, at most {}",
                       demand.payload_bytes, wire::most_wide_payload);
  }
  if (demand.bytes() > free_bytes()) {
    return no_room(tree, demand);
  }
  wanted_.insert_or_assign(tree, Wanted{demand, {}});
  used_bytes_ += demand.bytes();
  return {};
}

std::string SlotDealer::no_room(TreeNumber tree, const SlotDemand& demand) const {
  constexpr std::size_t named = 3;
  std::vector<std::pair<std::uint64_t, TreeNumber>> holders;
  for (const auto& [number, wanted] : wanted_) {
    holders.emplace_back(wanted.demand.bytes(), number);
  }
  std::ranges::stable_sort(holders, std::ranges::greater{},
                           &std::pair<std::uint64_t, TreeNumber>::first);
  std::string largest;
  for (std::size_t i = 0; i < std::min(named, holders.size()); ++i) {
    largest += fmt::format("{}tree {} has {}", i == 0 ? "; " : ", ", holders[i].second.value,
                           holders[i].first);
  }
  return fmt::format("no room in slot memory: {} slots of {} bytes need {} bytes, and {} of {} are "
                     "free{}; give tree {} fewer slots or a shorter payload, or raise "
                     "wide_memory_mib",
                     demand.slots, demand.stride_bytes(), demand.bytes(), free_bytes(), bytes_,
                     largest, tree.value);
}

void SlotDealer::keep(TreeNumber tree, const SlotPlace& place) {
  const auto it = wanted_.find(tree);
  if (it != wanted_.end() && it->second.demand == place.demand()) {
    it->second.line = place.first_line;
  }
}

void SlotDealer::forget_places() {
  for (auto& [tree, wanted] : wanted_) {
    wanted.line.reset();
  }
}

void SlotDealer::remove(TreeNumber tree) {
  if (const auto it = wanted_.find(tree); it != wanted_.end()) {
    used_bytes_ -= it->second.demand.bytes();
    wanted_.erase(it);
  }
}

void SlotDealer::deal() {
  if (!deal_into_gaps()) {
    deal_in_a_row();
  }
}

bool SlotDealer::deal_into_gaps() {
  std::vector<Taken> taken; // in order of lines
  const auto take = [&](std::uint64_t begin, std::uint64_t lines) {
    const auto at = std::ranges::upper_bound(taken, begin, {}, &Taken::begin);
    const bool is_free = begin + lines <= bytes_ / slot_line_bytes &&
                         (at == taken.end() || begin + lines <= at->begin) &&
                         (at == taken.begin() || (at - 1)->end <= begin);
    if (is_free) {
      taken.insert(at, {begin, begin + lines});
    }
    return is_free;
  };
  for (auto& [tree, wanted] : wanted_) {
    if (wanted.line && !take(*wanted.line, lines_of(wanted.demand))) {
      wanted.line.reset(); // from another area
    }
  }
  for (auto& [tree, wanted] : wanted_) {
    if (wanted.line) {
      continue;
    }
    const std::uint64_t lines = lines_of(wanted.demand);
    std::uint64_t begin = 0;
    for (const Taken& other : taken) {
      if (begin + lines <= other.begin) {
        break;
      }
      begin = other.end;
    }
    if (!take(begin, lines)) {
      return false;
    }
    wanted.line = begin;
  }
  return true;
}

void SlotDealer::deal_in_a_row() {
  std::uint64_t next = 0;
  for (auto& [tree, wanted] : wanted_) {
    wanted.line = next;
    next += lines_of(wanted.demand);
  }
}

SlotPlace SlotDealer::place(TreeNumber tree) const {
  const auto it = wanted_.find(tree);
  return it == wanted_.end() ? SlotPlace() : SlotPlace(it->second.demand, it->second.line.value());
}

} // namespace tributary::core
