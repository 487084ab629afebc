// api::Service: unicast routes, paths, faults, drained switches, rebalancing of trees, managers.
#include "controlplane/api/route_views.hpp"
#include "controlplane/manager/manager.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace tributary::manager {

/// A host by name or by NID.
std::optional<topology::HostId> Manager::host_called(const topology::Graph& graph,
                                                     const std::string& text) {
  if (const auto host = graph.find_host(std::string_view(text))) {
    return host;
  }
  if (text.empty() || text.size() > 7 || text.find_first_not_of("0123456789") != text.npos) {
    return std::nullopt;
  }
  return graph.find_host(Nid{static_cast<std::uint32_t>(std::stoul(text))});
}

std::vector<std::string> Manager::trees_through(topology::SwitchId at) const {
  std::vector<std::string> through;
  for (const auto& [subject, content] : coordinator_.wanted_at(at)) {
    if (trees::tree_of(subject)) {
      through.push_back(tree_kind_.describe(subject));
    }
  }
  return through;
}

api::DrainState Manager::drain_state(topology::SwitchId at) const {
  api::DrainState state{.at = graph()[at].name,
                        .drained = control_.drained().contains(graph()[at].name),
                        .through = trees_through(at)};
  if (!state.drained) {
    return state;
  }
  if (std::string routes = control_.routes_through(at); !routes.empty()) {
    state.through.push_back(std::move(routes));
  }
  return state;
}

void Manager::view_routes(const api::Caller& /*caller*/, const api::Nothing& /*request*/,
                          api::Reply reply) {
  api::RouteReadView read_view{.graph = graph(),
                               .settings = control_.settings().routes,
                               .life = control_.life(),
                               .damping = control_.damping(),
                               .out_of_sync =
                                   coordinator_.out_of_sync(route_controller::route_subject()),
                               .drained = {}};
  for (const std::string& name : control_.drained()) {
    const auto at = graph().find_switch(name);
    read_view.drained.push_back(at ? drain_state(*at) : api::DrainState{name, true, {}});
  }
  reply({200, api::routes_json(read_view, time()), 0});
}

void Manager::paths(const api::Caller& /*caller*/, const api::PathRequest& request,
                    api::Reply reply) {
  std::optional<topology::HostId> ends[2];
  const std::string* const names[2] = {&request.from, &request.to};
  for (int i = 0; i < 2; ++i) {
    ends[i] = host_called(graph(), *names[i]);
    if (!ends[i] || !graph()[*ends[i]].plugged) {
      return reply(api::error_answer(
          404, fmt::format("no host \"{}\" in the fabric, by name or NID; look at "
                           "tributaryctl fabric show hosts",
                           *names[i])));
    }
  }
  const route_controller::Set* set = control_.life().current();
  if (set == nullptr) {
    set = control_.life().installing();
  }
  const route_controller::HeldTables held = control_.held_tables();
  if (set == nullptr && std::ranges::all_of(held, [](const route_controller::HeldTable& one) {
        return one.epoch == 0;
      })) {
    return reply(api::error_answer(
        409, control_.settings().routes.enabled
                 ? "no unicast routes are in force yet; look at tributaryctl fabric show routes"
                 : "unicast routes are switched off: set `enabled` of [routes]"));
  }
  reply({200, api::path_json(held, set, graph(), *ends[0], *ends[1]), 0});
}

void Manager::rebalance(const api::Caller& /*caller*/, const bool& dry_run, api::Reply reply) {
  if (!dry_run && store_.refuses(reply)) {
    return;
  }
  rebalance_.ask(std::move(reply), dry_run);
}

void Manager::view_managers(const api::Caller& /*caller*/, const api::Nothing& /*request*/,
                            api::Reply reply) {
  reply({200,
         fence_.view(settings_.name,
                     settings_.standbys ? settings_.standbys() : std::vector<api::StandbyPlace>{}),
         0});
}

void Manager::adopt_fabric(const api::Caller& /*caller*/, const api::AdoptRequest& request,
                           api::Reply reply) {
  fence_.adopt(request.fabric, std::move(reply));
}

void Manager::fail_over(const api::Caller& /*caller*/, const api::FailoverRequest& request,
                        api::Reply reply) {
  const auto standbys =
      settings_.standbys ? settings_.standbys() : std::vector<api::StandbyPlace>{};
  if (standbys.empty() || !settings_.hand_over) {
    return reply(api::error_answer(
        409, "no manager stands by; \"tributaryctl fabric show managers\" lists those that do"));
  }
  const auto named = [&](const api::StandbyPlace& one) { return one.name == request.to; };
  const auto chosen = request.to.empty() ? standbys.begin() : std::ranges::find_if(standbys, named);
  if (chosen == standbys.end()) {
    return reply(api::error_answer(
        404,
        fmt::format("no manager named \"{}\" stands by, but {}", request.to,
                    fmt::join(standbys | std::views::transform(&api::StandbyPlace::name), ", "))));
  }
  events_.report("manager", fmt::format("the operator lets manager {} lead", chosen->name), {},
                 turns::Severity::warning);
  reply({202, boost::json::object{{"from", settings_.name}, {"to", chosen->name}}, 0});
  settings_.hand_over(chosen->name);
}

void Manager::faults(const api::Caller& /*caller*/, const std::size_t& limit, api::Reply reply) {
  reply({200, api::faults_json(control_.log(), limit), 0});
}

void Manager::drain(const api::Caller& /*caller*/, const api::DrainRequest& request,
                    api::Reply reply) {
  using Verb = api::DrainRequest::Verb;
  const auto at = graph().find_switch(request.at);
  if (!at) {
    return reply(api::error_answer(
        404, fmt::format("no switch named \"{}\"; \"tributaryctl fabric show switches\" lists them",
                         request.at)));
  }
  if (request.verb == Verb::look) {
    return reply({200, api::json_of(drain_state(*at)), 0});
  }
  const bool wanted = request.verb == Verb::drain;
  if (wanted && !request.force && !control_.drained().contains(request.at)) {
    if (const std::string why = control_.refuse_drain(*at); !why.empty()) {
      return replies_.give(std::move(reply), api::error_answer(409, why), false);
    }
  }
  if (control_.drained().contains(request.at) != wanted) {
    if (wanted) {
      store_.add({records::DrainRecord{request.at}});
    } else {
      store_.add({records::EraseDrain{request.at}});
    }
    control_.set_drained(*at, wanted, now());
    events_.report("switch", fmt::format("switch {} is {}", request.at,
                                         wanted ? "drained: trees and routes move away"
                                                : "not drained any more"));
    environment_.request_reconcile();
  }
  replies_.give(std::move(reply), {202, api::json_of(drain_state(*at)), 0}, true);
}

} // namespace tributary::manager
