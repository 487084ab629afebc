// Groups and jobs, as JSON.
#include "controlplane/api/views.hpp"

#include "controlplane/api/view_figures.hpp"
#include "controlplane/group/words.hpp"

#include <boost/json/value_from.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace tributary::api {

namespace json = boost::json;
using topology::LinkId;

namespace {

constexpr std::size_t missing_named = 64;

/// Null: any.
template <typename Number>
json::value numbers_json(const std::optional<std::vector<Number>>& numbers) {
  if (!numbers) {
    return nullptr;
  }
  json::array list;
  for (const Number number : *numbers) {
    list.emplace_back(number.value);
  }
  return list;
}

} // namespace

json::object Views::summary_of(const group::Group& group) const {
  json::object object{{"name", group.name},
                      {"job", group.job},
                      {"state", std::string(records::name_of(group.state))},
                      {"size", group.size},
                      {"trees", group.trees},
                      {"joined", group.present},
                      {"multicast", group.multicast},
                      {"age_seconds", seconds(elapsed_ns(at_, group.created))},
                      {"ends_in_seconds", seconds_until(group.deadline, at_)},
                      {"text", describe(group, at_)}};
  json::array missing_ones;
  for (const group::Missing& one : group::missing(group, missing_named)) {
    json::object entry{{"rank", one.rank}, {"why", one.why}};
    if (one.nid) {
      entry["nid"] = one.nid->value;
    }
    missing_ones.push_back(std::move(entry));
  }
  for (const group::Absent& one : group::absent(group, missing_named)) {
    if (!one.left) {
      missing_ones.push_back({{"rank", one.rank}, {"nid", one.nid.value}, {"why", one.why}});
    }
  }
  object["missing"] = std::move(missing_ones);
  if (!group.error.empty()) {
    object["error"] = group.error;
  }
  if (group.root && group.members.contains(*group.root)) {
    const group::Member& root = group.members.at(*group.root);
    object["vni"] = group.vni.value;
    object["root"] = {{"rank", *group.root}, {"nid", root.nid.value}, {"host", root.host}};
  }
  if (group.routed()) {
    const trees::GroupTrees* const life = read_view_->states.find(group.id);
    json::array routes;
    for (std::size_t i = 0; i < group.routes.size(); ++i) {
      std::uint32_t max_efi = 0;
      if (life != nullptr && i < life->trees.size()) {
        for (const LinkId link : life->trees[i].tree.links) {
          max_efi = std::max(max_efi, read_view_->planner.efi(link));
        }
      }
      const records::TreeForm& form = group.routes[i].form;
      routes.push_back({{"tree", group.routes[i].number.value},
                        {"switches", form.parts.size()},
                        {"height", form.height},
                        {"max_efi", max_efi}});
    }
    object["routes"] = std::move(routes);
    object["slots"] = group.frames.slots;
    object["payload"] = group.frames.payload;
    object["float16"] = group.frames.half_floats;
    if (!group.frames_note.empty()) {
      object["frames_note"] = group.frames_note;
    }
    object["shared_frames"] = group.frames.shared;
    object["in_switch_results"] = group.in_switch_results.agreed;
    if (!group.in_switch_results.note.empty()) {
      object["in_switch_note"] = group.in_switch_results.note;
    }
    if (group.trees == 2 && life != nullptr && !life->trees.empty()) {
      object["disjoint"] = life->shared.empty();
      object["shared"] = json::value_from(life->shared);
    }
  }
  return object;
}

json::object Views::json_of(const group::Group& group) const {
  json::object object = summary_of(group);
  json::array members;
  members.reserve(group.members.size());
  for (const auto& [rank, member] : group.members) {
    members.push_back({{"rank", rank},
                       {"nid", member.nid.value},
                       {"host", member.host},
                       {"state", std::string(records::name_of(member.state))},
                       {"lease_seconds", seconds_until(member.lease_end, at_)}});
  }
  object["members"] = std::move(members);
  return object;
}

std::uint64_t Views::lease_of(const group::Group& group, std::uint32_t rank) const {
  const auto member = group.members.find(rank);
  const bool has_own = member != group.members.end() && member->second.lease_ns != 0;
  return has_own ? member->second.lease_ns : read_view_->settings.lease_ns;
}

json::object Views::membership(const group::Group& group, std::uint32_t rank) const {
  json::array trees;
  for (const records::TreeRecord& tree : group.routes) {
    trees.push_back(tree.number.value);
  }
  const trees::GroupTrees* const life = read_view_->states.find(group.id);
  json::object object{{"group", group.name},
                      {"job", group.job},
                      {"state", std::string(records::name_of(group.state))},
                      {"rank", rank},
                      {"size", group.size},
                      {"vni", group.vni.value},
                      {"cookie", group.cookie.value},
                      {"root_rank", *group.root},
                      {"root_nid", group.members.at(*group.root).nid.value},
                      {"trees", std::move(trees)},
                      {"disjoint", life != nullptr && !life->trees.empty() && life->shared.empty()},
                      {"lease_seconds", seconds(lease_of(group, rank))},
                      {"slots", group.frames.slots},
                      {"payload", group.frames.payload},
                      {"float16", group.frames.half_floats},
                      {"shared_frames", group.frames.shared},
                      {"in_switch_results", group.in_switch_results.agreed}};
  if (!group.in_switch_results.note.empty()) {
    object["in_switch_note"] = group.in_switch_results.note;
  }
  return object;
}

json::object Views::json_of(const group::Job& job) {
  json::array groups;
  for (const auto& [name, id] : job.groups) {
    groups.emplace_back(name);
  }
  return {{"job", job.id},
          {"mcast_limit", job.multicast_limit},
          {"groups", std::move(groups)},
          {"vni", job.vni ? json::value(job.vni->value) : json::value(nullptr)},
          {"hosts", numbers_json(job.hosts)},
          {"vnis", numbers_json(job.vnis)}};
}

void Views::list_jobs(Page& page, const std::string& after) const {
  for (const group::Job* job : read_view_->registry.jobs()) {
    if (!after.empty() && job->id <= after) {
      continue;
    }
    if (!page.has_room()) {
      return;
    }
    page.add(job->id, json_of(*job),
             1 + job->groups.size() + (job->hosts ? job->hosts->size() : 0) +
                 (job->vnis ? job->vnis->size() : 0));
  }
}

/// In order of id, that is, age.
void Views::list_groups(Page& page, const OnlyJob& only, const ViewRequest& request,
                        std::uint64_t from) const {
  for (const group::Group* group : read_view_->registry.groups()) {
    if (group->id.value < from || !sees(only, *group) ||
        (!request.job.empty() && group->job != request.job)) {
      continue;
    }
    if (!page.has_room()) {
      return;
    }
    page.add(std::to_string(group->id.value), json_of(*group), 1 + group->members.size());
  }
}

} // namespace tributary::api
