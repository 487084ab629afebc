#include "controlplane/trees/order.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace tributary::trees {
namespace {

/// Sort key before stages have numbers: a block of stages, then a place within.
using Place = std::pair<int, std::int64_t>;

struct PlacedMove {
  Place place;
  SwitchId at;
  bool removes = false;
};

std::int64_t deepest_first(std::uint32_t depth) { return -std::int64_t{depth}; }

Order number_stages(std::vector<PlacedMove> placed, bool remove_first) {
  std::sort(placed.begin(), placed.end(), [](const PlacedMove& a, const PlacedMove& b) {
    return std::pair(a.place, a.at) < std::pair(b.place, b.at);
  });
  Order order{remove_first, {}};
  order.moves.reserve(placed.size());
  unsigned stage = 0;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    stage += i > 0 && placed[i].place != placed[i - 1].place;
    order.moves.push_back({placed[i].at, placed[i].removes, stage});
  }
  return order;
}

class Planner {
public:
  Planner(std::span<const HeldPart> held, std::span<const WantedPart> wanted) {
    for (const HeldPart& part : held) {
      held_.emplace(part.at, &part);
    }
    for (const WantedPart& part : wanted) {
      wanted_.emplace(part.at, &part);
    }
  }

  [[nodiscard]] Order make_before_break() const {
    std::vector<PlacedMove> placed;
    for (const auto& [at, part] : wanted_) {
      if (part->changes) {
        const Place place = part->depth == 0     ? Place{2, 0}
                            : held_.contains(at) ? Place{1, deepest_first(part->depth)}
                                                 : Place{0, deepest_first(part->depth)};
        placed.push_back({place, at, false});
      }
    }
    for (const auto& [at, part] : held_) {
      if (part->reachable && !wanted_.contains(at)) {
        placed.push_back({{3, part->depth}, at, true});
      }
    }
    return number_stages(std::move(placed), false);
  }

  [[nodiscard]] Order remove_first() const {
    std::vector<PlacedMove> placed;
    for (const auto& [at, part] : held_) {
      const auto wanted = wanted_.find(at);
      if (part->reachable && (wanted == wanted_.end() || wanted->second->changes)) {
        placed.push_back({{0, part->depth}, at, true});
      }
    }
    for (const auto& [at, part] : wanted_) {
      if (part->changes) {
        placed.push_back({{1, deepest_first(part->depth)}, at, false});
      }
    }
    return number_stages(std::move(placed), true);
  }

  /// Whether all pointers together, old and new, are free of loops. True for nearly all changes,
  /// and then true for every stage.
  [[nodiscard]] bool trivially_free_of_loops() const {
    Pointers pointers = held_pointers();
    for (const auto& [at, part] : wanted_) {
      add_new(pointers, *part);
    }
    return !has_loop(pointers);
  }

  /// Whether no new pointer can be part of a loop in any stage.
  [[nodiscard]] bool free_of_loops(const Order& order) const {
    Pointers now = held_pointers();
    for (auto first = order.moves.begin(); first != order.moves.end();) {
      const auto last = std::find_if(first, order.moves.end(), [first](const Move& move) {
        return move.stage != first->stage;
      });
      Pointers during = now;
      for (auto move = first; move != last; ++move) {
        now[move->at].clear();
        if (!move->removes) {
          add_new(during, *wanted_.at(move->at));
          add_new(now, *wanted_.at(move->at));
        }
      }
      for (; first != last; ++first) {
        if (!first->removes && leads_back(during, *wanted_.at(first->at))) {
          return false;
        }
      }
    }
    return true;
  }

private:
  [[nodiscard]] Pointers held_pointers() const {
    Pointers pointers;
    for (const auto& [at, part] : held_) {
      pointers.emplace(at, part->up);
    }
    return pointers;
  }

  static void add_new(Pointers& pointers, const WantedPart& part) {
    if (part.up) {
      pointers[part.at].push_back(*part.up);
    }
  }

  static bool leads_back(const Pointers& pointers, const WantedPart& part) {
    std::vector<SwitchId> ahead;
    if (part.up) {
      ahead.push_back(*part.up);
    }
    std::set<SwitchId> seen;
    while (!ahead.empty()) {
      const SwitchId here = ahead.back();
      ahead.pop_back();
      if (here == part.at) {
        return true;
      }
      const auto up = pointers.find(here);
      if (up != pointers.end() && seen.insert(here).second) {
        ahead.insert(ahead.end(), up->second.begin(), up->second.end());
      }
    }
    return false;
  }

  std::map<SwitchId, const HeldPart*> held_;
  std::map<SwitchId, const WantedPart*> wanted_;
};

} // namespace

std::optional<Order> order_moves(std::span<const HeldPart> held,
                                 std::span<const WantedPart> wanted) {
  const Planner planner(held, wanted);
  Order order = planner.make_before_break();
  if (planner.trivially_free_of_loops() || planner.free_of_loops(order)) {
    return order;
  }
  order = planner.remove_first();
  if (planner.free_of_loops(order)) {
    return order;
  }
  return std::nullopt;
}

bool has_loop(const Pointers& pointers) {
  // Repeatedly removes switches without incoming pointers. The rest contains a loop.
  std::map<SwitchId, unsigned> pointed_to;
  for (const auto& [at, up] : pointers) {
    pointed_to.try_emplace(at, 0);
    for (const SwitchId next : up) {
      ++pointed_to[next];
    }
  }
  std::vector<SwitchId> free;
  for (const auto& [at, count] : pointed_to) {
    if (count == 0) {
      free.push_back(at);
    }
  }
  std::size_t taken = 0;
  while (!free.empty()) {
    const SwitchId at = free.back();
    free.pop_back();
    ++taken;
    const auto up = pointers.find(at);
    if (up == pointers.end()) {
      continue;
    }
    for (const SwitchId next : up->second) {
      if (--pointed_to[next] == 0) {
        free.push_back(next);
      }
    }
  }
  return taken != pointed_to.size();
}

} // namespace tributary::trees
