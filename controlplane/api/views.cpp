// Selects the list, or one object of it.
#include "controlplane/api/views.hpp"

#include "controlplane/api/view_figures.hpp"
#include "controlplane/trees/tree_kind.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tributary::api {

namespace json = boost::json;
using topology::LinkId;

bool Views::sees(const OnlyJob& only, const transaction::TransactionView& view) const {
  const auto tree = trees::tree_of(view.subject);
  const group::Group* const owner = tree ? read_view_->registry.find(*tree) : nullptr;
  return !only || (owner != nullptr && sees(only, *owner));
}

Answer Views::list(const OnlyJob& only, const ViewRequest& request) const {
  const auto from = request.what == View::jobs ? 0 : first_of(request.after);
  if (!from) {
    return bad_cursor(request.after);
  }
  Budget budget(request.limit);
  Page page(budget);
  const std::string_view name = [&]() -> std::string_view {
    switch (request.what) {
    case View::switches: return list_switches(page, *from), "switches";
    case View::hosts: return list_hosts(page, only, request, *from), "hosts";
    case View::links: return list_links(page, request, *from), "links";
    case View::groups: return list_groups(page, only, request, *from), "groups";
    case View::trees: return list_trees(page, only, request, *from), "trees";
    case View::transactions: return list_transactions(page, only, *from), "transactions";
    case View::jobs: return list_jobs(page, request.after), "jobs";
    case View::memory: return list_memory(page, only, request, *from), "memory";
    case View::loads: return list_loads(page, request, *from), "loads";
    case View::topology: break;
    }
    return "";
  }();
  json::object answer;
  answer[name] = page.take_list();
  if (page.has_more()) {
    answer["next"] = page.last();
  }
  return {200, std::move(answer), 0};
}

std::optional<json::object> Views::one(const OnlyJob& only, View what,
                                       const std::string& id) const {
  const auto number = number_in(id);
  switch (what) {
  case View::switches:
    if (const auto found = graph().find_switch(id)) {
      return switch_json(*found);
    }
    break;
  case View::memory:
    if (const auto found = graph().find_switch(id)) {
      return memory_json(*found, only);
    }
    break;
  case View::loads:
    if (const auto found = graph().find_switch(id)) {
      return load_json(*found);
    }
    break;
  case View::hosts:
    if (const auto found = graph().find_host(id)) {
      return host_json(*found, only);
    }
    break;
  case View::links:
    if (number && *number < graph().links().size()) {
      return link_json(LinkId{static_cast<std::uint32_t>(*number)});
    }
    break;
  case View::trees:
    if (number && *number < max_trees) {
      const TreeNumber tree{static_cast<std::uint16_t>(*number)};
      const group::Group* group = read_view_->registry.find(tree);
      for (std::size_t i = 0; group != nullptr && i < group->routes.size(); ++i) {
        if (group->routes[i].number == tree && sees(only, *group)) {
          return tree_json(*group, i);
        }
      }
    }
    break;
  case View::transactions:
    for (const transaction::TransactionView& view : read_view_->coordinator.transactions()) {
      if (number == view.number.value && sees(only, view)) {
        return transaction_json(view);
      }
    }
    break;
  case View::jobs:
    for (const group::Job* job : read_view_->registry.jobs()) {
      if (job->id == id) {
        return json_of(*job);
      }
    }
    break;
  case View::groups:
    for (const group::Group* group : read_view_->registry.groups()) {
      if (group->name == id && sees(only, *group)) {
        return json_of(*group);
      }
    }
    break;
  case View::topology: break;
  }
  return std::nullopt;
}

} // namespace tributary::api
