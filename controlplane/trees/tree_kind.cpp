#include "controlplane/trees/tree_kind.hpp"

#include "controlplane/transaction/check.hpp"
#include "controlplane/trees/order.hpp"
#include "controlplane/trees/shared_order.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <set>
#include <utility>

namespace tributary::trees {

using transaction::Content;
using transaction::ContentPtr;
using transaction::Inventory;
using transaction::Part;
using transaction::Subject;
using transaction::Target;

std::optional<TreeNumber> tree_of(const std::optional<Subject>& subject) {
  if (!subject || subject->kind != tree_kind) {
    return std::nullopt;
  }
  return TreeNumber{static_cast<std::uint16_t>(subject->number)};
}

std::vector<TreeNumber> trees_among(const std::map<Subject, ContentPtr>& contents) {
  std::vector<TreeNumber> numbers;
  for (const auto& [subject, content] : contents) {
    if (const auto tree = tree_of(subject)) {
      numbers.push_back(*tree);
    }
  }
  return numbers;
}

bool TreeContent::same_as(const Content& other) const {
  const multicast::TreePart& part = part_of(other);
  return part_.parent == part.parent && part_.children == part.children &&
         part_.wait_count == part.wait_count && frames_ == frames_of(other);
}

const multicast::TreePart& part_of(const Content& content) {
  return static_cast<const TreeContent&>(content).part();
}

const records::WideFrames& frames_of(const Content& content) {
  return static_cast<const TreeContent&>(content).frames();
}

Target target_of(TreeNumber number, std::span<const multicast::TreePart> parts, Vni vni,
                 std::span<const Edge> edges, const records::WideFrames& frames) {
  Target target{.subject = subject_of(number), .parts = {}, .needs = {}};
  target.parts.reserve(parts.size());
  for (const multicast::TreePart& part : parts) {
    multicast::TreePart held = part;
    records::WideFrames place = frames;
    place.in_switch = frames.in_switch && part.depth == 0;
    held.wait_count += place.in_switch ? 1 : 0; // the root's
    target.parts.push_back({part.at, std::make_shared<TreeContent>(std::move(held), place)});
  }
  target.needs.reserve(edges.size());
  for (const Edge& edge : edges) {
    target.needs.push_back({edge.at, vni, edge.nid});
  }
  return target;
}

// ---- limits ----

std::string TreeKind::describe(const Subject& subject) const {
  return fmt::format("tree {}", subject.number);
}

std::optional<std::string> TreeKind::object_to(const Target& target) const {
  return target.subject.number < max_trees
             ? std::nullopt
             : std::optional(fmt::format("tree numbers end at {}", max_trees - 1));
}

std::optional<std::string> TreeKind::object_to(const Subject& subject, const Part& part,
                                               const Inventory::Switch& at) const {
  const auto found = at.capacity.find(tree_kind);
  const std::uint32_t capacity = found == at.capacity.end() ? 0 : found->second;
  if (subject.number >= capacity) {
    return fmt::format("its table holds {} trees; no number {}", capacity, subject.number);
  }
  const multicast::TreePart& entry = part_of(*part.content);
  if (auto objection = transaction::object_to_port(entry.parent, at)) {
    return objection;
  }
  for (const topology::Port port : entry.children) {
    if (auto objection = transaction::object_to_port(port, at)) {
      return objection;
    }
    if (port == entry.parent) {
      return fmt::format("port {} is the parent and a child", port);
    }
  }
  if (entry.wait_count > max_contributions) {
    return fmt::format("it would wait for {} contributions; a frame can count {}", entry.wait_count,
                       max_contributions);
  }
  return std::nullopt;
}

// ---- order ----

std::optional<SwitchId> TreeKind::neighbour(SwitchId at, topology::Port port) const {
  const auto link = graph_->link_at({at, port});
  if (!link) {
    return std::nullopt;
  }
  const topology::Link& l = (*graph_)[*link];
  return l.ends[0].at == at && l.ends[0].port == port ? l.ends[1].at : l.ends[0].at;
}

std::vector<SwitchId> TreeKind::pointers(SwitchId at, const Subject& subject,
                                         const Inventory& inventory) const {
  std::vector<SwitchId> up;
  for (const Content* content : inventory.held(at, subject)) {
    if (const auto next = neighbour(at, part_of(*content).parent)) {
      up.push_back(*next);
    }
  }
  return up;
}

transaction::Order TreeKind::order(const Subject& subject, const Target* target,
                                   const Inventory& inventory) const {
  std::vector<HeldPart> held;
  if (const Inventory::Placement* placement = inventory.find(subject)) {
    std::map<SwitchId, std::uint32_t> depths;
    if (placement->wanted) {
      for (const Part& part : placement->wanted->parts) {
        depths.emplace(part.at, part_of(*part.content).depth);
      }
    }
    for (const SwitchId at : placement->holders) {
      const auto depth = depths.find(at);
      held.push_back({.at = at,
                      .up = pointers(at, subject, inventory),
                      .depth = depth == depths.end() ? 0 : depth->second,
                      .reachable = inventory.is_connected(at)});
    }
  }

  std::vector<WantedPart> wanted;
  std::map<SwitchId, ContentPtr> contents;
  std::vector<transaction::Move> shared; // the second step of a tree that is shared
  if (target != nullptr) {
    const bool in_two_steps = needs_two_steps(subject, target->parts, inventory);
    std::vector<SwitchId> anywhere;
    for (const Part& part : target->parts) {
      const multicast::TreePart& entry = part_of(*part.content);
      const bool is_there = inventory.holds(part, subject);
      const Part first{part.at, in_two_steps ? not_shared(part.content) : part.content};
      wanted.push_back({.at = part.at,
                        .up = neighbour(part.at, entry.parent),
                        .depth = entry.depth,
                        .changes = !is_there && !inventory.holds(first, subject)});
      contents.emplace(part.at, first.content);
      anywhere.push_back(part.at);
      if (!is_there && first.content != part.content) {
        shared.push_back({.at = part.at, .content = part.content});
      }
    }
    // Switches that never connected to this manager, and that others point to, may point anywhere.
    std::set<SwitchId> unheard;
    for (const HeldPart& part : held) {
      for (const SwitchId up : part.up) {
        if (!inventory.is_heard(up)) {
          unheard.insert(up);
        }
      }
    }
    for (const SwitchId at : unheard) {
      held.push_back({.at = at, .up = anywhere, .reachable = false});
    }
  }

  const std::optional<Order> ordered = order_moves(held, wanted);
  if (!ordered) {
    return {.moves = {}, .objection = "its parts form a loop"};
  }
  transaction::Order order;
  order.moves.reserve(ordered->moves.size());
  for (const Move& move : ordered->moves) {
    order.moves.push_back({move.at, move.removes ? nullptr : contents.at(move.at), move.stage});
  }
  const unsigned last = order.moves.empty() ? 0 : order.moves.back().stage + 1;
  for (transaction::Move& move : shared) {
    move.stage = last;
    order.moves.push_back(std::move(move));
  }
  return order;
}

ContentPtr TreeKind::alone(const Subject& subject, const Part& part,
                           const Inventory& inventory) const {
  std::vector<SwitchId> ahead;
  if (const auto up = neighbour(part.at, part_of(*part.content).parent)) {
    ahead.push_back(*up);
  }
  std::set<SwitchId> seen;
  while (!ahead.empty()) {
    const SwitchId here = ahead.back();
    ahead.pop_back();
    if (here == part.at || !inventory.is_heard(here)) {
      return nullptr;
    }
    if (!seen.insert(here).second) {
      continue;
    }
    for (const SwitchId up : pointers(here, subject, inventory)) {
      ahead.push_back(up);
    }
  }
  if (!frames_of(*part.content).shared) {
    return part.content;
  }
  const Inventory::Placement* const placement = inventory.find(subject);
  const bool shares = placement != nullptr && placement->wanted &&
                      may_share(subject, placement->wanted->parts, part.at, inventory);
  return shares ? part.content : not_shared(part.content);
}

} // namespace tributary::trees
