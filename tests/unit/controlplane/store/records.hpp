// The tests' records in stores.
#pragma once

#include "controlplane/store/sqlite_store.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tributary::test {

inline records::TreeForm some_form(std::uint32_t switches) {
  records::TreeForm form{.root_switch = "spine0", .height = 1, .links = {}, .parts = {}};
  for (std::uint32_t n = 0; n < switches; ++n) {
    const std::string leaf = "leaf" + std::to_string(n);
    const auto port = static_cast<std::uint16_t>(n);
    form.links.push_back({{leaf, 63}, {"spine0", port}});
    form.parts.push_back({.at = leaf,
                          .parent = 63,
                          .children = {0, 1, port},
                          .wait_count = n + 3,
                          .depth = n == 0 ? 0U : 2U});
  }
  return form;
}

/// A job's group with all that belongs to it, as one batch of changes.
inline std::vector<records::Change> whole_group(std::uint64_t id, std::uint32_t members,
                                                std::uint32_t switches = 5) {
  std::vector<records::Change> changes;
  records::GroupRecord group;
  group.id = records::GroupId{id};
  group.job = "cluster-17";
  group.name = "group " + std::to_string(id);
  group.size = members;
  group.vni = Vni{1024};
  group.cookie = Cookie{0xFFFF'FFFFU - static_cast<std::uint32_t>(id)};
  group.root = 0;
  group.state = records::GroupState::ready;
  group.wanted_frames = {.slots = 64, .payload = 8192, .half_floats = true};
  group.frames = {.slots = 32, .payload = 1408, .half_floats = id % 2 == 0};
  group.frames_note = "rank 1 takes 1408 bytes";
  const std::optional<bool> wanted[] = {std::nullopt, true, false};
  group.in_switch_results = {
      .wanted = wanted[id % 3], .agreed = id % 2 == 0, .note = "rank 2 does not know them"};
  changes.emplace_back(group);
  for (std::uint32_t rank = 0; rank < members; ++rank) {
    changes.emplace_back(records::MemberRecord{.group = group.id,
                                               .rank = rank,
                                               .nid = Nid{rank},
                                               .host = "host" + std::to_string(rank),
                                               .state = records::MemberState::joined,
                                               .takes = {.slots = 128, .payload = 1408}});
  }
  changes.emplace_back(records::TreeRecord{TreeNumber{static_cast<std::uint16_t>(id % max_trees)},
                                           group.id, 0, some_form(switches)});
  return changes;
}

/// Job j with a running group of two, as a manager leaves it: its tree and hosts are those of `n`.
inline std::vector<records::Change> sound_group(std::uint64_t id, std::uint64_t n) {
  std::vector<records::Change> changes = whole_group(id, 2, 2);
  for (records::Change& change : changes) {
    if (auto* group = std::get_if<records::GroupRecord>(&change)) {
      group->job = "j";
      group->name = "group" + std::to_string(n);
    } else if (auto* member = std::get_if<records::MemberRecord>(&change)) {
      member->nid = Nid{static_cast<std::uint32_t>(10 * n + member->rank)};
    } else if (auto* tree = std::get_if<records::TreeRecord>(&change)) {
      tree->number = TreeNumber{static_cast<std::uint16_t>(n)};
    }
  }
  changes.insert(changes.begin(), records::JobRecord{"j", 99, "token", Vni{1024}, false});
  return changes;
}

} // namespace tributary::test
