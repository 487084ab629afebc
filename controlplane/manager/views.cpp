// What people and programs see of the fabric: docs/protocol/manager-api.md. Who may look, which
// list, which one of it; the objects are in group_views.cpp, switch_views.cpp, topology_views.cpp,
// tree_views.cpp.
#include "controlplane/manager/manager.hpp"

#include "controlplane/manager/view_figures.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tributary::manager {

namespace json = boost::json;
using topology::LinkId;

/// Whoever may look at one thing may look at all, but for what is another job's.
std::optional<api::Answer> Manager::refuse_events(const api::Caller& caller) {
  if (caller.administrator) {
    return std::nullopt;
  }
  if (caller.token.empty()) {
    if (!settings_.open_job.empty()) {
      return std::nullopt;
    }
    return api::error_answer(401, "this needs a token: Authorization: Bearer TOKEN");
  }
  if (const auto job = registry_.job_of_token(caller.token); !job) {
    return api::error_answer(job.error().status, job.error().message);
  }
  return std::nullopt;
}

bool Manager::sees(const OnlyJob& only, const transaction::TransactionView& view) const {
  const auto tree = trees::tree_of(view.subject);
  const group::Group* const owner = tree ? registry_.find(*tree) : nullptr;
  return !only || (owner != nullptr && sees(only, *owner));
}

api::Answer Manager::list(const OnlyJob& only, const api::ViewRequest& request) const {
  const auto from = request.what == api::View::jobs ? 0 : first_of(request.after);
  if (!from) {
    return bad_cursor(request.after);
  }
  Budget budget(request.limit);
  Page page(budget);
  const std::string_view name = [&]() -> std::string_view {
    switch (request.what) {
    case api::View::switches: return list_switches(page, *from), "switches";
    case api::View::hosts: return list_hosts(page, only, request, *from), "hosts";
    case api::View::links: return list_links(page, request, *from), "links";
    case api::View::groups: return list_groups(page, only, request, *from), "groups";
    case api::View::trees: return list_trees(page, only, request, *from), "trees";
    case api::View::transactions: return list_transactions(page, only, *from), "transactions";
    case api::View::jobs: return list_jobs(page, request.after), "jobs";
    case api::View::topology: break;
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

/// The one that `id` names: by number for links, trees and transactions, by name otherwise.
std::optional<json::object> Manager::one(const OnlyJob& only, api::View what,
                                         const std::string& id) const {
  const auto number = number_in(id);
  switch (what) {
  case api::View::switches:
    if (const auto found = graph().find_switch(id)) {
      return switch_json(*found);
    }
    break;
  case api::View::hosts:
    if (const auto found = graph().find_host(id)) {
      return host_json(*found, only);
    }
    break;
  case api::View::links:
    if (number && *number < graph().links().size()) {
      return link_json(LinkId{static_cast<std::uint32_t>(*number)});
    }
    break;
  case api::View::trees:
    if (number && *number < max_trees) {
      const TreeNumber tree{static_cast<std::uint16_t>(*number)};
      const group::Group* group = registry_.find(tree);
      for (std::size_t i = 0; group != nullptr && i < group->routes.size(); ++i) {
        if (group->routes[i].number == tree && sees(only, *group)) {
          return tree_json(*group, i);
        }
      }
    }
    break;
  case api::View::transactions:
    for (const transaction::TransactionView& view : coordinator_.transactions()) {
      if (number == view.number.value && sees(only, view)) {
        return transaction_json(view);
      }
    }
    break;
  case api::View::jobs:
    for (const group::Job* job : registry_.jobs()) {
      if (job->id == id) {
        return json_of(*job);
      }
    }
    break;
  case api::View::groups:
    for (const group::Group* group : registry_.groups()) {
      if (group->name == id && sees(only, *group)) {
        return json_of(*group);
      }
    }
    break;
  case api::View::topology: break;
  }
  return std::nullopt;
}

void Manager::view(const api::Caller& caller, const api::ViewRequest& request, api::Reply reply) {
  const Section section(stalls_, "a view");
  if (auto refused = request.what == api::View::jobs ? refuse_others(caller, "the list of jobs is")
                                                     : refuse_events(caller)) {
    return reply(std::move(*refused));
  }
  const OnlyJob only = only_job_of(caller);
  if (!request.id) {
    return reply(request.what == api::View::topology ? topology_page(only, request)
                                                     : list(only, request));
  }
  if (auto found = one(only, request.what, *request.id)) {
    return reply({200, std::move(*found), 0});
  }
  static constexpr std::pair<std::string_view, std::string_view> keys[] = {
      {"topology", "name"},
      {"switches", "name"},
      {"hosts", "name"},
      {"links", "link"},
      {"groups", "name"},
      {"trees", "tree"},
      {"transactions", "transaction"},
      {"jobs", "job"}};
  const auto& [name, key] = keys[static_cast<std::size_t>(request.what)];
  reply(api::error_answer(404, fmt::format("there is no {} of {} \"{}\"", name, key, *request.id)));
}

} // namespace tributary::manager
