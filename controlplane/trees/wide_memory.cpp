#include "controlplane/trees/wide_memory.hpp"

#include <algorithm>

namespace tributary::trees {

void WideMemory::put(topology::SwitchId at, const Holding& holding) {
  take(at, holding.tree);
  Switch& sw = switches_[at];
  sw.places.emplace(holding.tree, holding);
  sw.used_bytes += holding.frames.bytes();
}

void WideMemory::take(topology::SwitchId at, TreeNumber tree) {
  const auto sw = switches_.find(at);
  if (sw == switches_.end()) {
    return;
  }
  if (const auto place = sw->second.places.find(tree); place != sw->second.places.end()) {
    sw->second.used_bytes -= place->second.frames.bytes();
    sw->second.places.erase(place);
  }
}

void WideMemory::hold(TreeNumber tree, std::span<const multicast::TreePart> parts,
                      const WideFrames& frames) {
  if (!frames.any()) {
    return;
  }
  for (const multicast::TreePart& part : parts) {
    WideFrames place = frames;
    place.in_switch = frames.in_switch && part.depth == 0;
    put(part.at, {.tree = tree, .frames = place});
    where_[tree].insert(part.at);
  }
}

void WideMemory::commit(TreeNumber tree, std::span<const multicast::TreePart> parts) {
  const auto where = where_.find(tree);
  if (where == where_.end()) {
    return;
  }
  std::erase_if(where->second, [&](topology::SwitchId at) {
    const bool stays =
        std::ranges::any_of(parts, [&](const multicast::TreePart& part) { return part.at == at; });
    if (!stays) {
      take(at, tree);
    }
    return !stays;
  });
}

void WideMemory::drop(TreeNumber tree) {
  commit(tree, {});
  where_.erase(tree);
}

void WideMemory::set_own(topology::SwitchId at,
                         std::span<const std::pair<TreeNumber, WideFrames>> trees) {
  const auto sw = switches_.find(at);
  std::vector<TreeNumber> before;
  if (sw != switches_.end()) {
    for (const auto& [number, holding] : sw->second.places) {
      if (holding.from_file) {
        before.push_back(number);
      }
    }
  }
  for (const TreeNumber number : before) {
    take(at, number);
  }
  for (const auto& [number, frames] : trees) {
    if (frames.any()) {
      put(at, {.tree = number, .frames = frames, .from_file = true});
    }
  }
}

std::uint64_t WideMemory::used_bytes(topology::SwitchId at) const {
  const auto sw = switches_.find(at);
  return sw == switches_.end() ? 0 : sw->second.used_bytes;
}

std::uint64_t WideMemory::held_by(TreeNumber tree, topology::SwitchId at) const {
  const auto sw = switches_.find(at);
  if (sw == switches_.end()) {
    return 0;
  }
  const auto place = sw->second.places.find(tree);
  return place == sw->second.places.end() ? 0 : place->second.frames.bytes();
}

std::vector<WideMemory::Holding> WideMemory::holders(topology::SwitchId at) const {
  std::vector<Holding> all;
  if (const auto sw = switches_.find(at); sw != switches_.end()) {
    for (const auto& [number, holding] : sw->second.places) {
      all.push_back(holding);
    }
  }
  std::ranges::stable_sort(
      all, [](const Holding& a, const Holding& b) { return a.frames.bytes() > b.frames.bytes(); });
  return all;
}

} // namespace tributary::trees
