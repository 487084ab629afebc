#include "controlplane/tree_controller/frame_planning.hpp"

#include "controlplane/group/words.hpp"
#include "controlplane/trees/engine_loads.hpp"
#include "controlplane/trees/tree_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace tributary::tree_controller {

using records::WideFrames;
using topology::SwitchId;

namespace {

constexpr std::uint32_t least_halved = 16;
constexpr std::size_t memory_holders_named = 3;
/// As in admission.cpp: trees added to the load of links to be avoided.
constexpr std::size_t weight_of_narrow = 8;
/// The part of a switch's memory that jobs with a place there leave to those without.
constexpr std::uint64_t part_for_others = 8;

/// Half the slots, or no wide frames if that is too few.
WideFrames halved(WideFrames frames) {
  frames.slots /= 2;
  return frames.slots >= least_halved ? frames : WideFrames{};
}

void note_halved(group::WideFramesChoice& choice, const WideFrames& wanted,
                 const std::string& why) {
  const std::string what =
      choice.frames.any()
          ? fmt::format("{} reductions in flight instead of {}", choice.frames.slots, wanted.slots)
          : std::string("no wide frames");
  choice.short_of_room = true;
  choice.why =
      fmt::format("{}{}{}, because {}", choice.why, choice.why.empty() ? "" : "; ", what, why);
}

} // namespace

std::uint64_t FramePlanning::kept_for_others(std::string_view job, SwitchId at) const {
  std::set<std::string_view> with_a_place;
  for (const trees::WideMemory::Holding& one : rooms_.memory.holders(at)) {
    if (const group::Group* const group = rooms_.registry.find(one.tree)) {
      with_a_place.insert(group->job);
    }
  }
  const bool others_wait = std::ranges::any_of(rooms_.registry.jobs(), [&](const group::Job* each) {
    return !each->deleting && each->multicast_limit > 0 && !with_a_place.contains(each->id);
  });
  return with_a_place.contains(job) && others_wait
             ? rooms_.switches[at].limits.wide_memory() / part_for_others
             : 0;
}

std::string FramePlanning::memory_text(SwitchId at, std::uint64_t kept) const {
  const std::uint64_t size = rooms_.switches[at].limits.wide_memory();
  const std::uint64_t used = rooms_.memory.used_bytes(at);
  std::string holders;
  std::size_t named = 0;
  for (const trees::WideMemory::Holding& one : rooms_.memory.holders(at)) {
    if (named++ == memory_holders_named) {
      break;
    }
    const group::Group* const group = rooms_.registry.find(one.tree);
    holders +=
        fmt::format("{}tree {} of {} holds {}", holders.empty() ? "; " : ", ", one.tree.value,
                    one.from_file      ? "the switch's own file"
                    : group != nullptr ? title(*group)
                                       : "a group that has ended",
                    one.frames.bytes());
  }
  const std::uint64_t free = size - std::min(size, used);
  const std::uint64_t for_others = std::min(kept, free);
  const std::string kept_text =
      for_others > 0
          ? fmt::format(", {} of which are kept for jobs that hold none there", for_others)
          : std::string();
  return fmt::format("{} has {} bytes for wide frames and {} of them free{}{}", graph()[at].name,
                     size, free, kept_text, holders);
}

std::optional<SwitchId>
FramePlanning::without_room(std::string_view job, const WideFrames& frames, bool in_switch,
                            std::span<const trees::PlannedTree> trees) const {
  std::map<SwitchId, std::uint64_t> wanted;
  for (const trees::PlannedTree& tree : trees) {
    for (const multicast::TreePart& part : tree.parts) {
      if (trees::EngineLoads::occupies(part)) {
        WideFrames place = frames;
        place.in_switch = in_switch && part.depth == 0;
        wanted[part.at] += place.bytes();
      }
    }
  }
  for (const auto& [at, bytes] : wanted) {
    const std::uint64_t taken = rooms_.memory.used_bytes(at) + kept_for_others(job, at);
    if (taken + bytes > rooms_.switches[at].limits.wide_memory()) {
      return at;
    }
  }
  return std::nullopt;
}

group::WideFramesChoice
FramePlanning::agreed_frames(const group::Group& group, bool in_switch,
                             std::span<const trees::PlannedTree> trees) const {
  group::WideFramesChoice choice =
      group::wide_frames_choice(group, rooms_.registry.settings().frames);
  for (const trees::PlannedTree& tree : trees) {
    for (const multicast::TreePart& part : tree.parts) {
      if (trees::EngineLoads::occupies(part)) {
        const WideFrames widest = rooms_.switches.widest_at(part.at);
        group::lower(choice, widest, fmt::format("switch {}", graph()[part.at].name));
        choice.frames.half_floats = choice.frames.half_floats && widest.half_floats;
      }
    }
  }
  const WideFrames wanted = choice.frames;
  std::optional<SwitchId> full;
  while (const auto at = choice.frames.any()
                             ? without_room(group.job, choice.frames, in_switch, trees)
                             : std::nullopt) {
    full = at;
    choice.frames = halved(choice.frames);
  }
  if (full) {
    note_halved(choice, wanted, memory_text(*full, kept_for_others(group.job, *full)));
  }
  return choice;
}

bool FramePlanning::narrow_after_refusal(const group::Group& group, const std::string& refusal) {
  if (group.state != group::GroupState::computing_routes || !group.frames.any()) {
    return false;
  }
  group::WideFramesChoice choice{
      .frames = halved(group.frames), .why = group.frames_note, .short_of_room = true};
  note_halved(choice, group.frames, refusal);
  if (!rooms_.registry.narrow(group.id, choice.frames, choice.why)) {
    return false;
  }
  const trees::GroupTrees& group_trees = *rooms_.states.find(group.id);
  for (std::size_t i = 0; i < group.routes.size(); ++i) {
    rooms_.memory.drop(group.routes[i].number);
    rooms_.memory.hold(group.routes[i].number, occupying(group_trees.trees[i].parts),
                       frames_on(group, group_trees.trees[i].parts));
  }
  report_lack_of_room(group);
  return true;
}

// ---- in-switch results ----

group::InSwitchChoice
FramePlanning::agreed_in_switch(const group::Group& group,
                                std::span<const trees::PlannedTree> trees) const {
  group::InSwitchChoice choice =
      group::in_switch_choice(group, rooms_.registry.settings().in_switch_results);
  if (!choice.in_switch) {
    return choice;
  }
  if (!group.in_switch_results.wanted) {
    const WideFrames frames = agreed_frames(group, false, trees).frames;
    if (frames.any() && without_room(group.job, frames, true, trees)) {
      return {.in_switch = false,
              .why = fmt::format("it would have fewer than {} reductions in flight then, because "
                                 "{}; with --in-switch-results it has one all the same",
                                 frames.slots, memory_text(trees.front().parts.front().at))};
    }
  }
  return choice;
}

// ---- shared frames ----

bool FramePlanning::agreed_shared(const group::Group& group,
                                  std::span<const trees::PlannedTree> trees) const {
  return rooms_.registry.settings().shared_frames && !group.multicast &&
         std::ranges::all_of(trees, [&](const trees::PlannedTree& tree) {
           return std::ranges::all_of(tree.parts, [&](const multicast::TreePart& part) {
             return rooms_.switches[part.at].limits.shared();
           });
         });
}

WideFrames FramePlanning::frames_on(const group::Group& group,
                                    std::span<const multicast::TreePart> parts) const {
  WideFrames frames = group.frames;
  frames.in_switch = group.in_switch_results.agreed && !parts.empty();
  return frames;
}

void FramePlanning::report_lack_of_room(const group::Group& group) {
  rooms_.events.report(
      "group",
      fmt::format("group {}/{} has {}: {}", group.job, group.name,
                  group.frames.any() ? fmt::format("frames of {} bytes and {} reductions in flight",
                                                   group.frames.payload, group.frames.slots)
                                     : "no wide frames",
                  group.frames_note),
      {{"job", group.job}, {"group", group.name}});
}

// ---- existing trees ----

std::vector<multicast::TreePart>
FramePlanning::occupying(std::span<const multicast::TreePart> parts) {
  std::vector<multicast::TreePart> some;
  std::ranges::copy_if(parts, std::back_inserter(some), trees::EngineLoads::occupies);
  return some;
}

void FramePlanning::hold(const group::Group& group, const trees::GroupTrees& group_trees) {
  for (std::size_t i = 0; i < group.routes.size() && i < group_trees.trees.size(); ++i) {
    rooms_.memory.hold(group.routes[i].number, occupying(group_trees.trees[i].parts),
                       frames_on(group, group_trees.trees[i].parts));
  }
}

void FramePlanning::commit(const group::Group& group) {
  const trees::GroupTrees* const group_trees = rooms_.states.find(group.id);
  for (std::size_t i = 0;
       group_trees != nullptr && i < group.routes.size() && i < group_trees->trees.size(); ++i) {
    rooms_.memory.commit(group.routes[i].number, occupying(group_trees->trees[i].parts));
  }
}

void FramePlanning::drop(const group::Group& group) {
  for (const records::TreeRecord& tree : group.routes) {
    rooms_.memory.drop(tree.number);
  }
}

std::string FramePlanning::why_not_carried(const group::Group& group, TreeNumber tree, SwitchId at,
                                           const WideFrames& place) const {
  const WideFrames widest = rooms_.switches.widest_at(at);
  if (widest.payload < group.frames.payload || widest.slots < group.frames.slots) {
    return fmt::format("{} cannot carry it: {} reductions in flight and frames of {} bytes at most",
                       graph()[at].name, widest.slots, widest.payload);
  }
  const std::uint64_t others = rooms_.memory.used_bytes(at) - rooms_.memory.held_by(tree, at);
  return others + place.bytes() > rooms_.switches[at].limits.wide_memory() ? memory_text(at)
                                                                           : std::string();
}

std::string FramePlanning::why_not_carried(const group::Group& group, std::size_t index,
                                           std::span<const multicast::TreePart> parts) const {
  for (const multicast::TreePart& part : parts) {
    if (lacks_shared_frames(group, part.at)) {
      return fmt::format(
          "the members of group {}/{} multicast on its trees, and {} is of a version "
          "that has no shared frames",
          group.job, group.name, graph()[part.at].name);
    }
    if (group.frames.any() && trees::EngineLoads::occupies(part)) {
      WideFrames place = frames_on(group, parts);
      place.in_switch = place.in_switch && part.depth == 0;
      if (std::string why = why_not_carried(group, group.routes[index].number, part.at, place);
          !why.empty()) {
        return fmt::format("group {}/{} has frames of {} bytes and {} reductions in flight, and {}",
                           group.job, group.name, group.frames.payload, group.frames.slots, why);
      }
    }
  }
  return {};
}

bool FramePlanning::knows_wide_frames(const group::Group& group,
                                      std::span<const multicast::TreePart> parts) const {
  return !group.frames.any() || std::ranges::all_of(parts, [&](const multicast::TreePart& part) {
    const bool heard = rooms_.switches.was_heard(part.at);
    const WideFrames widest = rooms_.switches.widest_at(part.at);
    return !heard || !trees::EngineLoads::occupies(part) ||
           (widest.payload >= group.frames.payload && widest.slots >= group.frames.slots);
  });
}

multicast::Tree FramePlanning::weight_of_switches_without_room(const group::Group& group) const {
  multicast::Tree weight;
  const bool any = group.frames.any();
  for (std::uint32_t s = 0; (any || group.frames.shared) && s < rooms_.switches.size(); ++s) {
    const bool has_room =
        !lacks_shared_frames(group, SwitchId{s}) &&
        std::ranges::all_of(group.routes, [&](const records::TreeRecord& tree) {
          return !any || why_not_carried(group, tree.number, SwitchId{s}, group.frames).empty();
        });
    if (!has_room) {
      for (const topology::Hop& hop : graph().hops(SwitchId{s})) {
        weight.links.insert(weight.links.end(), weight_of_narrow, hop.link);
      }
    }
  }
  return weight;
}

} // namespace tributary::tree_controller
