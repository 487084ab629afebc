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
    std::vector<std::string> problems = fence_.problems();
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
  const api::RdmaReadView rdma = rdma_.read_view();
  using enum statistics::MetricType;
  using statistics::Unit;
  const api::ManagerMetric own[] = {
      {"tributary_tree_repairs", counter, "Groups that got a new tree after a fault.",
       trees_.repairs()},
      {"tributary_route_failures", counter,
       "Sets of unicast routes that not all switches accepted, and that were computed again.",
       control_.failures()},
      {"tributary_route_pairs_lost", gauge,
       "Ordered pairs of switches with hosts that are connected and have no unicast route.",
       control_.pairs_lost()},
      {"tributary_turns", counter, "Turns (units of work) of the manager.", stalls_.turns()},
      {"tributary_turns_stalled", counter, "Turns that took more than 10 ms.", stalls_.stalls()},
      {"tributary_turn_longest_seconds", gauge, "The longest turn since the start.",
       stalls_.longest_ns(), Unit::nanoseconds},
      {"tributary_turn_longest_processor_seconds", gauge,
       "The most processor time of a turn since the start.", stalls_.longest_processor_ns(),
       Unit::nanoseconds},
      {"tributary_computations", counter, "Computations of trees and routes that were started.",
       background_.given()},
      {"tributary_computations_under_way", gauge, "Computations that are not finished.",
       background_.under_way()},
      {"tributary_computations_failed", counter, "Computations that failed; the log has the cause.",
       background_.failed()},
      {"tributary_store_failing", gauge, "1 while changes cannot be stored.", store_.is_failing()},
      {"tributary_manager_epoch", gauge, "Epoch of this manager in its fabric.",
       fence_.own().epoch},
      {"tributary_leads", gauge, "1 while this manager may change the fabric.",
       !fence_.is_superseded()},
      {"tributary_superseded", gauge,
       "1 while this manager changes nothing, because a newer one of its fabric was met.",
       fence_.is_superseded()},
      {"tributary_switches_of_other_fabrics", gauge,
       "Switches rejected in the last minute because they belong to another fabric.",
       fence_.others()},
      {"tributary_store_writes", counter, "Writes to the store.", store_.writes()},
      {"tributary_store_confirmations", counter,
       "Questions to the store whether this manager leads.", store_.confirmations()},
      {"tributary_store_write_longest_seconds", gauge,
       "The longest write or question to the store since the start.", store_.longest_write_ns(),
       Unit::nanoseconds},
      {"tributary_manager_suspended", gauge, "1 while it is not known whether this manager leads.",
       store_.is_suspended()},
      {"tributary_manager_suspensions", counter,
       "Times at which it was not known whether this manager leads.", store_.suspensions()},
      {"tributary_switches_turned_away", gauge,
       "1 while there are no descriptors for more switches.", !sessions_.rejection().empty()},
  };
  return api::metrics(read_view_, own, rdma, from, text);
}

std::string Manager::not_leading_because() {
  return fence_.is_superseded() ? fmt::format("superseded: {}", fence_.superseded_because())
                                : std::string();
}

std::string Manager::not_ready_because() {
  if (std::string why = not_leading_because(); !why.empty()) {
    return why;
  }
  if (store_.is_suspended()) {
    return store_.suspension();
  }
  if (store_.is_failing()) {
    return store_.failure();
  }
  if (waits_for_switches()) {
    return "the switches known before the start are not all connected yet";
  }
  if (!switches_.any_connected()) {
    const std::vector<std::string> problems = fence_.problems();
    return problems.empty() ? "no switch is connected; look at [manager] address in the switches' "
                              "configuration"
                            : problems.front();
  }
  return control_.problem();
}

std::string Manager::job_of(const api::Caller& caller) {
  const auto job = registry_.job_of_token(caller.token);
  return job ? (*job)->id : std::string();
}

} // namespace tributary::manager
