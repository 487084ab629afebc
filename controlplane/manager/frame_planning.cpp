// What a group's trees have of wide frames: agreed on when they are planned first, and kept as long
// as the group lives (docs/protocol/groups.md, "Wide frames").
//
// The members and the manager's file have said what they would have; here come the switches on the
// trees, and the memory that each of them has for it. Where a switch has no room for the tree's
// place, slots are halved down to `least_halved`; where that does not help, the group has no wide
// frames at all, and runs. Either way it says who holds the memory.
//
// Trees that are laid anew, after a fault or because they could be better, keep what the group has,
// for its members cannot change it: they are led around switches that have no room, and where there
// is no way around, the group waits for one.
#include "controlplane/group/wide_wish.hpp"
#include "controlplane/group/words.hpp"
#include "controlplane/manager/manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::manager {

using records::WideFrames;
using topology::SwitchId;

namespace {

constexpr std::uint32_t least_halved = 16;
constexpr std::size_t memory_holders_named = 3;
/// As in admission.cpp: trees by which links to be avoided count as fuller.
constexpr std::size_t weight_of_narrow = 8;

/// Half the slots, or no wide frames where that would be too few.
WideFrames halved(WideFrames frames) {
  frames.slots /= 2;
  return frames.slots >= least_halved ? frames : WideFrames{};
}

void note_halved(group::WideWish& wish, const WideFrames& wanted, const std::string& why) {
  const std::string what = wish.frames.any() ? fmt::format("{} reductions in flight instead of {}",
                                                           wish.frames.slots, wanted.slots)
                                             : std::string("no wide frames");
  wish.short_of_room = true;
  wish.why = fmt::format("{}{}{}, because {}", wish.why, wish.why.empty() ? "" : "; ", what, why);
}

} // namespace

WideFrames Manager::widest_at(SwitchId at) const {
  return at.value < switches_.size() ? switches_[at].widest() : WideFrames{};
}

std::string Manager::memory_text(SwitchId at) const {
  const std::uint64_t size = switches_[at].limits.wide_memory();
  const std::uint64_t used = memory_.used_bytes(at);
  std::string holders;
  std::size_t named = 0;
  for (const trees::WideMemory::Holding& one : memory_.holders(at)) {
    if (named++ == memory_holders_named) {
      break;
    }
    const group::Group* const group = registry_.find(one.tree);
    holders +=
        fmt::format("{}tree {} of {} holds {}", holders.empty() ? "; " : ", ", one.tree.value,
                    one.from_file      ? "the switch's own file"
                    : group != nullptr ? title(*group)
                                       : "a group that has ended",
                    one.frames.bytes());
  }
  return fmt::format("{} has {} bytes for wide frames and {} of them free{}", graph()[at].name,
                     size, size - std::min(size, used), holders);
}

std::optional<SwitchId> Manager::without_room(const WideFrames& frames, bool turned,
                                              std::span<const trees::PlannedTree> trees) const {
  std::map<SwitchId, std::uint64_t> wanted;
  for (const trees::PlannedTree& tree : trees) {
    for (const multicast::TreePart& part : tree.parts) {
      if (trees::EngineLoads::occupies(part)) {
        WideFrames place = frames;
        place.turns = turned && part.depth == 0;
        wanted[part.at] += place.bytes();
      }
    }
  }
  for (const auto& [at, bytes] : wanted) {
    if (memory_.used_bytes(at) + bytes > switches_[at].limits.wide_memory()) {
      return at;
    }
  }
  return std::nullopt;
}

group::WideWish Manager::agreed_frames(const group::Group& group, bool turned,
                                       std::span<const trees::PlannedTree> trees) const {
  group::WideWish wish = group::wide_wish(group, settings_.groups.frames);
  for (const trees::PlannedTree& tree : trees) {
    for (const multicast::TreePart& part : tree.parts) {
      if (trees::EngineLoads::occupies(part)) {
        const WideFrames widest = widest_at(part.at);
        group::lower(wish, widest, fmt::format("switch {}", graph()[part.at].name));
        wish.frames.half_floats = wish.frames.half_floats && widest.half_floats;
      }
    }
  }
  const WideFrames wanted = wish.frames;
  std::optional<SwitchId> full;
  while (const auto at =
             wish.frames.any() ? without_room(wish.frames, turned, trees) : std::nullopt) {
    full = at;
    wish.frames = halved(wish.frames);
  }
  if (full) {
    note_halved(wish, wanted, memory_text(*full));
  }
  return wish;
}

bool Manager::narrow_after_refusal(const group::Group& group, const std::string& refusal) {
  if (group.state != group::GroupState::computing_routes || !group.frames.any()) {
    return false;
  }
  group::WideWish wish{
      .frames = halved(group.frames), .why = group.frames_note, .short_of_room = true};
  note_halved(wish, group.frames, refusal);
  if (!registry_.narrow(group.id, wish.frames, wish.why)) {
    return false;
  }
  const trees::Life& life = lives_.at(group.id);
  for (std::size_t i = 0; i < group.routes.size(); ++i) {
    memory_.drop(group.routes[i].number);
    memory_.hold(group.routes[i].number, occupying(life.trees[i].parts),
                 frames_on(group, life.trees[i].parts));
  }
  tell_short_of_room(group);
  return true;
}

// ---- trees that are turned round ----

bool Manager::turns_at(SwitchId at) const {
  return at.value >= switches_.size() || switches_[at].heard == TimeNs{} ||
         switches_[at].limits.turns();
}

group::TurnWish Manager::agreed_turn(const group::Group& group,
                                     std::span<const trees::PlannedTree> trees) const {
  group::TurnWish wish = group::turn_wish(group, settings_.groups.turn);
  if (!wish.turned) {
    return wish;
  }
  const SwitchId top = trees.front().parts.front().at;
  if (!turns_at(top)) {
    return {.turned = false,
            .why = fmt::format("switch {}, which is next to the root, does not know trees that "
                               "are turned round; a newer tributary-switch there does",
                               graph()[top].name)};
  }
  if (!group.turn.wanted) {
    const WideFrames frames = agreed_frames(group, false, trees).frames;
    if (frames.any() && without_room(frames, true, trees)) {
      return {.turned = false,
              .why = fmt::format("it would have fewer than {} reductions in flight then, because "
                                 "{}; with --turn it has one all the same",
                                 frames.slots, memory_text(top))};
    }
  }
  return wish;
}

WideFrames Manager::frames_on(const group::Group& group,
                              std::span<const multicast::TreePart> parts) const {
  WideFrames frames = group.frames;
  frames.turns = group.turn.agreed && !parts.empty() && turns_at(parts.front().at);
  return frames;
}

bool Manager::is_told_to_turn(const group::Group& group, std::size_t index,
                              std::span<const multicast::TreePart> parts) const {
  const transaction::Target* const told =
      coordinator_.wanted(trees::subject_of(group.routes[index].number));
  return !group.turn.agreed || told == nullptr || told->parts.empty() ||
         trees::frames_of(*told->parts.front().content).turns == frames_on(group, parts).turns;
}

void Manager::tell_short_of_room(const group::Group& group) {
  events_.tell("group",
               fmt::format("group {}/{} has {}: {}", group.job, group.name,
                           group.frames.any()
                               ? fmt::format("frames of {} bytes and {} reductions in flight",
                                             group.frames.payload, group.frames.slots)
                               : "no wide frames",
                           group.frames_note),
               {{"job", group.job}, {"group", group.name}});
}

// ---- trees that are there ----

std::vector<multicast::TreePart> Manager::occupying(std::span<const multicast::TreePart> parts) {
  std::vector<multicast::TreePart> some;
  std::ranges::copy_if(parts, std::back_inserter(some), trees::EngineLoads::occupies);
  return some;
}

void Manager::hold_memory(const group::Group& group, const trees::Life& life) {
  for (std::size_t i = 0; i < group.routes.size() && i < life.trees.size(); ++i) {
    memory_.hold(group.routes[i].number, occupying(life.trees[i].parts),
                 frames_on(group, life.trees[i].parts));
  }
}

void Manager::settle_memory(const group::Group& group) {
  const trees::Life* const life = lives_.find(group.id);
  for (std::size_t i = 0; life != nullptr && i < group.routes.size() && i < life->trees.size();
       ++i) {
    memory_.settle(group.routes[i].number, occupying(life->trees[i].parts));
  }
}

std::string Manager::why_not_carried(const group::Group& group, TreeNumber tree, SwitchId at,
                                     const WideFrames& place) const {
  const WideFrames widest = widest_at(at);
  if (widest.payload < group.frames.payload || widest.slots < group.frames.slots) {
    return fmt::format("{} cannot carry it: {} reductions in flight and frames of {} bytes at most",
                       graph()[at].name, widest.slots, widest.payload);
  }
  const std::uint64_t others = memory_.used_bytes(at) - memory_.held_by(tree, at);
  return others + place.bytes() > switches_[at].limits.wide_memory() ? memory_text(at)
                                                                     : std::string();
}

std::string Manager::why_not_carried(const group::Group& group, std::size_t index,
                                     std::span<const multicast::TreePart> parts) const {
  for (const multicast::TreePart& part : parts) {
    if (group.frames.any() && trees::EngineLoads::occupies(part)) {
      WideFrames place = frames_on(group, parts);
      place.turns = place.turns && part.depth == 0;
      if (std::string why = why_not_carried(group, group.routes[index].number, part.at, place);
          !why.empty()) {
        return fmt::format("group {}/{} has frames of {} bytes and {} reductions in flight, and {}",
                           group.job, group.name, group.frames.payload, group.frames.slots, why);
      }
    }
  }
  return {};
}

bool Manager::knows_wide_frames(const group::Group& group,
                                std::span<const multicast::TreePart> parts) const {
  return !group.frames.any() || std::ranges::all_of(parts, [&](const multicast::TreePart& part) {
    const bool heard = part.at.value < switches_.size() && switches_[part.at].heard != TimeNs{};
    const WideFrames widest = widest_at(part.at);
    return !heard || !trees::EngineLoads::occupies(part) ||
           (widest.payload >= group.frames.payload && widest.slots >= group.frames.slots);
  });
}

multicast::Tree Manager::weight_of_switches_without_room(const group::Group& group) const {
  multicast::Tree weight;
  for (std::uint32_t s = 0; group.frames.any() && s < switches_.size(); ++s) {
    const bool has_room = std::ranges::all_of(group.routes, [&](const records::TreeRecord& tree) {
      return why_not_carried(group, tree.number, SwitchId{s}, group.frames).empty();
    });
    if (!has_room) {
      for (const topology::Hop& hop : graph().hops(SwitchId{s})) {
        weight.links.insert(weight.links.end(), weight_of_narrow, hop.link);
      }
    }
  }
  return weight;
}

} // namespace tributary::manager
