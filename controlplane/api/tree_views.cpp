// Trees, and the transactions that change them, as JSON.
#include "controlplane/api/views.hpp"

#include "controlplane/api/view_figures.hpp"
#include "controlplane/trees/tree_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tributary::api {

namespace json = boost::json;
using topology::SwitchId;

json::object Views::tree_json(const group::Group& group, std::size_t index) const {
  const records::TreeRecord& tree = group.routes[index];
  const auto port_json = [&](SwitchId at, topology::Port port) {
    return json::object{{"port", port}, {"to", graph().name_behind({at, port})}};
  };
  json::array parts;
  json::array statistics;
  // As sent to the switches.
  const transaction::Subject subject = trees::subject_of(tree.number);
  const transaction::Target* const target = read_view_->coordinator.wanted(subject);
  const bool in_switch = target != nullptr && !target->parts.empty() &&
                         trees::frames_of(*target->parts.front().content).in_switch;
  for (const records::TreeForm::Part& part : tree.form.parts) {
    const auto at = graph().find_switch(part.at);
    const bool here = in_switch && part.depth == 0;
    json::array children;
    for (const topology::Port port : part.children) {
      children.push_back(at ? port_json(*at, port) : json::object{{"port", port}});
    }
    parts.push_back(
        {{"switch", part.at},
         {"parent", at ? port_json(*at, part.parent) : json::object{{"port", part.parent}}},
         {"children", std::move(children)},
         {"wait_count", part.wait_count + (here ? 1 : 0)},
         {"in_switch_results", here},
         {"depth", part.depth}});
    if (at && at->value < read_view_->switches.size()) {
      const auto found = read_view_->switches[at->value].trees.find(tree.number.value);
      if (found != read_view_->switches[at->value].trees.end()) {
        statistics.push_back({{"switch", part.at},
                              {"full", found->second.full()},
                              {"partial", found->second.partial()},
                              {"late", found->second.late()},
                              {"passed_through", found->second.passed_through()},
                              {"stale", found->second.stale()}});
      }
    }
  }
  json::object root;
  if (group.root && group.members.contains(*group.root)) {
    const group::Member& member = group.members.at(*group.root);
    root = {{"rank", *group.root}, {"nid", member.nid.value}, {"host", member.host}};
    if (const auto host = graph().find_host(member.nid)) {
      root["switch"] = graph()[graph()[*host].at.at].name;
    }
  }
  // No switch holds the tree of a group whose root is alone.
  const bool is_alone = tree.form.parts.empty() || tree.form.parts.front().children.empty();
  const bool runs = group.state == records::GroupState::ready ||
                    group.state == records::GroupState::receiving_leave_req;
  const bool in_force = read_view_->coordinator.out_of_sync(subject).empty() &&
                        (target != nullptr || (is_alone && runs));
  return {{"tree", tree.number.value},
          {"job", group.job},
          {"group", group.name},
          {"vni", group.vni.value},
          {"state", in_force ? "in_force" : "changing"},
          {"root_switch", tree.form.root_switch},
          {"height", tree.form.height},
          {"slots", group.frames.slots},
          {"payload", group.frames.payload},
          {"float16", group.frames.half_floats},
          {"shared_frames", group.frames.shared},
          {"in_switch_results", in_switch},
          {"root", std::move(root)},
          {"parts", std::move(parts)},
          {"statistics", std::move(statistics)}};
}

/// In order of tree numbers.
void Views::list_trees(Page& page, const OnlyJob& only, const ViewRequest& request,
                       std::uint64_t from) const {
  std::vector<TreeNumber> numbers;
  if (!request.group.empty()) {
    if (const group::Group* group = read_view_->registry.find(request.job, request.group)) {
      for (const records::TreeRecord& tree : group->routes) {
        numbers.push_back(tree.number);
      }
      std::sort(numbers.begin(), numbers.end());
    }
  } else if (!request.at_switch.empty()) {
    if (const auto at = graph().find_switch(request.at_switch)) {
      numbers = trees::trees_among(read_view_->coordinator.wanted_at(*at));
    }
  } else {
    for (std::uint64_t number = from; number < max_trees; ++number) {
      numbers.push_back(TreeNumber{static_cast<std::uint16_t>(number)});
    }
  }
  for (const TreeNumber number : numbers) {
    const group::Group* group = number.value < from ? nullptr : read_view_->registry.find(number);
    if (group == nullptr || !sees(only, *group) ||
        (!request.job.empty() && group->job != request.job)) {
      continue;
    }
    for (std::size_t i = 0; i < group->routes.size(); ++i) {
      if (group->routes[i].number != number) {
        continue;
      }
      if (!page.has_room()) {
        return;
      }
      std::size_t weight = 1;
      for (const records::TreeForm::Part& part : group->routes[i].form.parts) {
        weight += 2 + part.children.size();
      }
      page.add(std::to_string(number.value), tree_json(*group, i), weight);
    }
  }
}

json::object Views::transaction_json(const transaction::TransactionView& view) const {
  json::array steps;
  for (const auto& step : view.steps) {
    steps.push_back(
        {{"switch", graph()[step.at].name}, {"state", std::string(transaction::name(step.state))}});
  }
  json::array waits_for;
  for (const SwitchId s : view.waits_for) {
    waits_for.emplace_back(graph()[s].name);
  }
  const auto tree = trees::tree_of(view.subject);
  return {{"transaction", view.number.value},
          {"tree", tree ? json::value(tree->value) : json::value(nullptr)},
          {"what", std::string(transaction::name(view.purpose))},
          {"state", std::string(transaction::name(view.state))},
          {"switches", std::move(steps)},
          {"waits_for", std::move(waits_for)},
          {"age_seconds", seconds(elapsed_ns(at_, view.since))},
          {"text", view.text}};
}

/// In order of number, that is, age.
void Views::list_transactions(Page& page, const OnlyJob& only, std::uint64_t from) const {
  std::vector<transaction::TransactionView> views = read_view_->coordinator.transactions();
  std::ranges::sort(views, {}, &transaction::TransactionView::number);
  for (const transaction::TransactionView& view : views) {
    if (view.number.value >= from && sees(only, view)) {
      if (!page.has_room()) {
        return;
      }
      page.add(std::to_string(view.number.value), transaction_json(view),
               1 + view.steps.size() + view.waits_for.size());
    }
  }
}

} // namespace tributary::api
