#include "controlplane/records/soundness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tributary::records {
namespace {

std::string title(const GroupRecord& group) {
  return fmt::format("group {} ('{}' of job {})", group.id.value, group.name, group.job);
}

/// The parts of a group, counted during the check.
struct Parts {
  std::set<std::uint32_t> ranks;
  std::set<Nid> nids;
  std::set<std::uint32_t> trees; ///< their indices
};

/// Returns "" for a sound record.
std::string fault_of(const Allocation& allocation) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (allocation.cookie.size() != Allocation::cookie_digits ||
      !std::ranges::all_of(allocation.cookie, is_digit)) {
    return "its cookie is none";
  }
  if (allocation.nodes.empty()) {
    return "it has no nodes";
  }
  for (const Allocation::Node& node : allocation.nodes) {
    if (node.nid && node.nid->value > max_nid) {
      return fmt::format("no host can have NID {}", node.nid->value);
    }
  }
  const auto not_below = [](const Allocation::Node& a, const Allocation::Node& b) {
    return a.name >= b.name;
  };
  return std::ranges::adjacent_find(allocation.nodes, not_below) == allocation.nodes.end()
             ? ""
             : "a node occurs twice";
}

/// Returns "" for a sound record.
std::string fault_of(const GroupRecord& group, std::uint64_t epoch) {
  if (group.id.value >> 32 >= epoch) {
    return "its id is from a later start of the manager";
  }
  if (group.size == 0 || group.size > max_contributions + 1) {
    return fmt::format("it has {} members", group.size);
  }
  if (group.trees != 1 && group.trees != 2) {
    return fmt::format("it has {} trees", group.trees);
  }
  if (group.root.value_or(0) >= group.size || group.wanted_root.value_or(0) >= group.size) {
    return "its root is not one of its ranks";
  }
  if (!group.frames.is_sound()) {
    return fmt::format("its frames carry {} bytes in {} slots", group.frames.payload,
                       group.frames.slots);
  }
  if (group.in_switch_results.agreed && group.trees != 1) {
    return "its two trees have in-switch results";
  }
  return {};
}

std::string fault_of(const GroupRecord& group, const Parts& parts) {
  if (!parts.trees.empty() && parts.trees.size() != group.trees) {
    return "one of its trees is missing";
  }
  if (group.state == GroupState::receiving_join_req) {
    return parts.trees.empty() && !group.root ? ""
                                              : "it has a root or trees, and waits for members";
  }
  const bool runs =
      group.state == GroupState::ready || group.state == GroupState::receiving_leave_req;
  if (runs && parts.trees.empty()) {
    return "its trees are missing";
  }
  if ((runs || !parts.trees.empty()) && (!group.root || parts.ranks.size() != group.size)) {
    return "some of its members are missing";
  }
  if (group.root && !parts.ranks.contains(*group.root)) {
    return "its root is missing";
  }
  return {};
}

} // namespace

std::vector<std::string> take_out_unsound(Snapshot& all) {
  std::vector<std::string> taken;
  std::set<std::string> jobs;
  std::erase_if(all.jobs, [&](const JobRecord& job) {
    if (job.token.empty()) {
      taken.push_back(fmt::format("job {}: it has no token", job.id));
      return true;
    }
    jobs.insert(job.id);
    return false;
  });
  for (JobRecord& job : all.jobs) {
    if (const std::string why = job.allocation ? fault_of(*job.allocation) : ""; !why.empty()) {
      taken.push_back(fmt::format("allocation of job {}: {}", job.id, why));
      job.allocation.reset();
    }
  }

  std::map<GroupId, Parts> parts;
  std::set<std::pair<std::string, std::string>> names;
  const auto take_groups = [&](const auto& fault) {
    std::erase_if(all.groups, [&](const GroupRecord& group) {
      const std::string why = fault(group);
      if (why.empty()) {
        return false;
      }
      taken.push_back(fmt::format("{}: {}", title(group), why));
      parts.erase(group.id);
      return true;
    });
  };
  take_groups([&](const GroupRecord& group) -> std::string {
    if (!jobs.contains(group.job)) {
      return "its job is missing";
    }
    if (!names.emplace(group.job, group.name).second) {
      return "another one has its name";
    }
    std::string why = fault_of(group, all.epoch);
    if (why.empty()) {
      parts.emplace(group.id, Parts{});
    }
    return why;
  });

  std::map<GroupId, const GroupRecord*> groups;
  for (const GroupRecord& group : all.groups) {
    groups.emplace(group.id, &group);
  }
  std::erase_if(all.members, [&](const MemberRecord& member) {
    const auto group = groups.find(member.group);
    if (group == groups.end()) {
      return true; // removed with its group, which is reported
    }
    Parts& of = parts.at(member.group);
    if (member.rank >= group->second->size || member.nid.value > max_nid ||
        !of.nids.insert(member.nid).second) {
      taken.push_back(fmt::format("rank {} of {}: such a member cannot exist", member.rank,
                                  title(*group->second)));
      return true;
    }
    of.ranks.insert(member.rank);
    return false;
  });
  std::erase_if(all.trees, [&](const TreeRecord& tree) {
    const auto group = groups.find(tree.group);
    if (group == groups.end()) {
      return true;
    }
    if (tree.number.value >= max_trees || tree.index >= group->second->trees ||
        !parts.at(tree.group).trees.insert(tree.index).second) {
      taken.push_back(fmt::format("tree {} of {}: such a tree cannot exist", tree.number.value,
                                  title(*group->second)));
      return true;
    }
    return false;
  });
  take_groups([&](const GroupRecord& group) { return fault_of(group, parts.at(group.id)); });
  std::erase_if(all.members,
                [&](const MemberRecord& member) { return !parts.contains(member.group); });
  std::erase_if(all.trees, [&](const TreeRecord& tree) { return !parts.contains(tree.group); });
  return taken;
}

} // namespace tributary::records
