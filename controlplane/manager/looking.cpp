// api::Service: queries of the current state.
#include "controlplane/manager/manager.hpp"

#include "controlplane/api/metrics.hpp"
#include "controlplane/api/status.hpp"
#include "controlplane/topology/cabling.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::manager {

namespace json = boost::json;

std::optional<api::Answer> Manager::refuse_events(const api::Caller& caller) {
  return access_.refuse_lookers(caller);
}

const std::vector<std::string>& Manager::miscabled() {
  if (settings_.expected &&
      std::exchange(miscabled_version_, topology_.version()) != topology_.version()) {
    miscabled_ = topology::check_cabling(*settings_.expected, graph());
  }
  return miscabled_;
}

void Manager::view(const api::Caller& caller, const api::ViewRequest& request, api::Reply reply) {
  const api::OnlyJob only = access_.seen_by(caller);
  if (!request.id) {
    if (request.what != api::View::topology) {
      return reply(views().list(only, request));
    }
    std::vector<std::string> problems;
    if (!sessions_.rejection().empty()) {
      problems.push_back(fmt::format("switches are turned away: {}", sessions_.rejection()));
    }
    return reply(views().topology_page(only, request, std::move(problems), miscabled()));
  }
  if (auto found = views().one(only, request.what, *request.id)) {
    return reply({200, std::move(*found), 0});
  }
  static constexpr std::string_view kinds[] = {"topology named",
                                               "switch named",
                                               "host named",
                                               "link",
                                               "group named",
                                               "tree",
                                               "transaction",
                                               "job",
                                               "memory of a switch named",
                                               "load of a switch named"};
  reply(api::error_answer(
      404,
      fmt::format("no {} \"{}\"", kinds[static_cast<std::size_t>(request.what)], *request.id)));
}

void Manager::view_jobs(const api::Caller& caller, const api::ViewRequest& request,
                        api::Reply reply) {
  view(caller, request, std::move(reply));
}

std::optional<api::MetricsPlace> Manager::metrics(api::MetricsPlace from, std::string& text) {
  const turns::Section section(stalls_, "metrics");
  const api::RdmaSight rdma = rdma_.sight();
  return api::metrics(sight_,
                      {.tree_repairs = trees_.repairs(),
                       .route_failures = control_.failures(),
                       .route_pairs_lost = control_.pairs_lost(),
                       .turns = stalls_.turns(),
                       .turns_stalled = stalls_.stalls(),
                       .longest_turn_ns = stalls_.longest_ns(),
                       .longest_turn_processor_ns = stalls_.longest_processor_ns(),
                       .computations = beside_.given(),
                       .computations_under_way = beside_.under_way(),
                       .computations_failed = beside_.failed(),
                       .store_is_failing = store_.is_failing(),
                       .switches_are_turned_away = !sessions_.rejection().empty(),
                       .rdma = &rdma},
                      from, text);
}

std::string Manager::not_ready_because() {
  if (store_.is_failing()) {
    return store_.failure();
  }
  if (waits_for_switches()) {
    return "the switches known before the start are not all connected yet";
  }
  if (!switches_.any_connected()) {
    return "no switch is connected; look at [manager] address in the switches' configuration";
  }
  return control_.problem();
}

std::string Manager::job_of(const api::Caller& caller) {
  const auto job = registry_.job_of_token(caller.token);
  return job ? (*job)->id : std::string();
}

} // namespace tributary::manager
