// A service that records requests and gives the test's answers.
#pragma once

#include "controlplane/api/event_log.hpp"
#include "controlplane/api/request_table.hpp"
#include "controlplane/api/service.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tributary::rest {

/// Event loop thread.
class FakeService final : public api::ServiceOf<FakeService> {
public:
  /// One line for each call: its name, and its arguments.
  std::vector<std::string> calls;
  std::optional<api::Caller> caller;
  api::ViewRequest asked_view;
  std::optional<api::JobRequest> asked_job;
  std::map<std::string, boost::json::value> pages; ///< of any view, by the entry they follow
  api::Answer answer{200, boost::json::object{{"done", true}}, 0};
  /// Keeps the replies instead of answering.
  bool hold = false;
  std::vector<api::Reply> held;
  /// Throws this instead of answering.
  std::optional<std::string> failure;
  std::string missing;
  std::string stands_by; ///< why it does not lead
  std::string leader;
  std::string figures = "# TYPE tributary_groups gauge\ntributary_groups 3\n";
  std::optional<api::Answer> events_refused;
  std::optional<api::Answer> refused; ///< every request that needs a caller who is known

  /// Every caller may send every request.
  template <typename Parsed, typename Handle>
  void admit(const api::Route&, const api::Caller& c, Parsed request, api::Reply reply,
             Handle handle) {
    handle(c, request, std::move(reply));
  }

  void create_job(const api::Caller& c, const api::JobRequest& r, api::Reply reply) {
    asked_job = r;
    take(c, fmt::format("create_job {} {}", r.job, shown(r.multicast_limit)), std::move(reply));
  }
  void get_job(const api::Caller& c, const api::JobName& r, api::Reply reply) {
    take(c, "get_job " + r.job, std::move(reply));
  }
  void list_jobs(const api::Caller& c, const api::Nothing&, api::Reply reply) {
    take(c, "list_jobs", std::move(reply));
  }
  void patch_job(const api::Caller& c, const api::JobPatch& p, api::Reply reply) {
    std::string steps;
    for (const std::string& step : p.ended_steps) {
      steps += " " + step;
    }
    take(c, "patch_job " + p.job + steps, std::move(reply));
  }
  void delete_job(const api::Caller& c, const api::JobName& r, api::Reply reply) {
    take(c, "delete_job " + r.job, std::move(reply));
  }
  void create_multicast(const api::Caller& c, const api::MulticastRequest& r, api::Reply reply) {
    std::string nids;
    for (const Nid nid : r.macs) {
      nids += fmt::format("{}{:x}", nids.empty() ? "" : ",", nid.value);
    }
    take(c,
         fmt::format("create_multicast {} vni {} timeout {} job {} step {}", nids, r.vni.value,
                     r.timeout.count(), r.job, r.step),
         std::move(reply));
  }
  void delete_multicast(const api::Caller& c, const TreeNumber& tree, api::Reply reply) {
    take(c, fmt::format("delete_multicast {}", tree.value), std::move(reply));
  }
  void create_group(const api::Caller& c, const api::GroupRequest& r, api::Reply reply) {
    take(c, "create_group " + shown(r), std::move(reply));
  }
  void join_group(const api::Caller& c, const api::JoinRequest& r, api::Reply reply) {
    take(c,
         fmt::format("join_group {} rank {} nid {:x} host '{}' wait {}", shown(r.group), r.rank,
                     r.nid.value, r.host, r.wait.count()),
         std::move(reply));
  }
  void leave_group(const api::Caller& c, const api::MemberRequest& r, api::Reply reply) {
    take(c, fmt::format("leave_group {} {} {}", r.job, r.group, r.rank), std::move(reply));
  }
  void renew_lease(const api::Caller& c, const api::MemberRequest& r, api::Reply reply) {
    take(c, fmt::format("renew_lease {} {} {}", r.job, r.group, r.rank), std::move(reply));
  }
  void renew_allocation(const api::Caller& c, const api::JobName& r, api::Reply reply) {
    take(c, "renew_allocation " + r.job, std::move(reply));
  }
  void get_group(const api::Caller& c, const api::GroupName& r, api::Reply reply) {
    take(c, fmt::format("get_group {} {}", r.job, r.name), std::move(reply));
  }
  void delete_group(const api::Caller& c, const api::GroupName& r, api::Reply reply) {
    take(c, fmt::format("delete_group {} {}", r.job, r.name), std::move(reply));
  }
  void view_managers(const api::Caller& c, const api::Nothing&, api::Reply reply) {
    take(c, "managers", std::move(reply));
  }
  void adopt_fabric(const api::Caller& c, const api::AdoptRequest& r, api::Reply reply) {
    take(c, fmt::format("adopt {:x}", r.fabric), std::move(reply));
  }
  void fail_over(const api::Caller& c, const api::FailoverRequest& r, api::Reply reply) {
    take(c, fmt::format("failover {}", r.to), std::move(reply));
  }
  void view_routes(const api::Caller& c, const api::Nothing&, api::Reply reply) {
    take(c, "routes", std::move(reply));
  }
  void paths(const api::Caller& c, const api::PathRequest& r, api::Reply reply) {
    take(c, fmt::format("path {} {}", r.from, r.to), std::move(reply));
  }
  void faults(const api::Caller& c, const std::size_t& limit, api::Reply reply) {
    take(c, fmt::format("faults {}", limit), std::move(reply));
  }
  void drain(const api::Caller& c, const api::DrainRequest& r, api::Reply reply) {
    constexpr const char* verbs[] = {"look", "drain", "undrain"};
    take(c, fmt::format("{} {} {}", verbs[static_cast<int>(r.verb)], r.at, r.force),
         std::move(reply));
  }
  void rdma_view(const api::Caller& c, const api::RdmaViewRequest& r, api::Reply reply) {
    take(c,
         fmt::format("rdma_view {} {} {}", static_cast<int>(r.what), r.vni ? r.vni->value : -1,
                     r.limit),
         std::move(reply));
  }
  void rdma_view_peers(const api::Caller& c, const api::RdmaViewRequest& r, api::Reply reply) {
    rdma_view(c, r, std::move(reply));
  }
  void rdma_set_policy(const api::Caller& c, const api::RdmaPolicyPatch& p, api::Reply reply) {
    std::string changes;
    for (const auto& [name, value] : p.set) {
      changes += fmt::format(" {}={}", name, value);
    }
    for (const std::string& name : p.reset) {
      changes += " -" + name;
    }
    take(c, "rdma_set_policy" + changes, std::move(reply));
  }
  void rdma_quarantine(const api::Caller& c, const api::RdmaQuarantineRequest& r,
                       api::Reply reply) {
    take(c, fmt::format("rdma_quarantine {} {} {}", r.quarantine, r.host, r.vni.value),
         std::move(reply));
  }
  void rdma_report(const api::Caller& c, const api::RdmaReport& r, api::Reply reply) {
    take(c, fmt::format("rdma_report {} {}", r.nid.value, r.exceptions.size()), std::move(reply));
  }
  void rebalance(const api::Caller& c, const bool& dry_run, api::Reply reply) {
    take(c, fmt::format("rebalance {}", dry_run), std::move(reply));
  }
  void allocate(const api::Caller& c, const api::AllocationRequest& r, api::Reply reply) {
    take(c, fmt::format("allocate {} {} {}", r.job, r.nodes.size(), r.exists), std::move(reply));
  }
  void report_node(const api::Caller& c, const api::NodeReport& r, api::Reply reply) {
    take(c, fmt::format("report_node {} {}", r.name, r.inventory.interfaces.size()),
         std::move(reply));
  }
  void nodes(const api::Caller& c, const api::NodesRequest& r, api::Reply reply) {
    take(c, fmt::format("nodes {} {} {}", r.id.value_or("-"), r.limit, r.after), std::move(reply));
  }
  void view(const api::Caller& c, const api::ViewRequest& r, api::Reply reply) {
    asked_view = r;
    if (const auto page = pages.find(r.after); page != pages.end()) {
      return reply({200, page->second, 0});
    }
    take(c, fmt::format("view {} {}", static_cast<int>(r.what), r.id.value_or("-")),
         std::move(reply));
  }
  void view_jobs(const api::Caller& c, const api::ViewRequest& r, api::Reply reply) {
    view(c, r, std::move(reply));
  }
  /// In two parts.
  std::optional<api::MetricsPlace> metrics(api::MetricsPlace from, std::string& text) override {
    fail_if_requested();
    const std::size_t half = figures.size() / 2;
    text += from.item == 0 ? figures.substr(0, half) : figures.substr(half);
    return from.item == 0 ? std::optional(api::MetricsPlace{0, 1}) : std::nullopt;
  }
  std::string not_ready_because() override { return missing; }
  std::string not_leading_because() override { return stands_by; }
  std::string leader_url() override { return leader; }
  std::optional<api::Answer> refuse_events(const api::Caller& c) override {
    caller = c;
    return events_refused;
  }
  std::optional<api::Answer> refuse(const api::Route&, const api::Caller& c) override {
    caller = c;
    return refused;
  }
  /// Tokens are "of-job-JOB".
  std::string job_of(const api::Caller& c) override {
    constexpr std::string_view before = "of-job-";
    return c.token.starts_with(before) ? c.token.substr(before.size()) : std::string();
  }
  std::optional<api::Answer> refuse_job_events(const api::Caller& c,
                                               const std::string& job) override {
    caller = c;
    return job == "refused" ? std::optional(api::error_answer(403, "another job's")) : std::nullopt;
  }
  std::unique_ptr<api::EventReader> read_events(const api::Caller& c,
                                                const api::EventsRequest& request,
                                                std::function<void()> wake) override {
    caller = c;
    fail_if_requested();
    followed = request.job;
    return log->read(only, request.after, "12:00", std::move(wake));
  }
  std::optional<api::JobEvents> followed; ///< by the last reader
  api::EventInterest only;                ///< the events that readers receive
  /// Events are numbered from 1.
  std::optional<api::EventLog> log{std::in_place, 0};
  [[nodiscard]] std::size_t follower_count() const { return log->readers(); }
  void publish(std::string kind, boost::json::object body) {
    log->add(std::move(kind), std::move(body));
  }

private:
  static std::string shown(const std::optional<std::uint32_t>& value) {
    return value ? std::to_string(*value) : "-";
  }
  static std::string shown(const api::GroupRequest& r) {
    const std::string in_switch_results =
        r.in_switch_results ? fmt::format(" in_switch_results {}", *r.in_switch_results)
                            : std::string();
    return fmt::format("'{}' job '{}' size {} trees {} root {}{}", r.name, r.job, r.size, r.trees,
                       shown(r.root_rank), in_switch_results);
  }
  void fail_if_requested() const {
    if (failure) {
      throw std::runtime_error(*failure);
    }
  }
  void take(const api::Caller& c, std::string call, api::Reply reply) {
    caller = c;
    calls.push_back(std::move(call));
    fail_if_requested();
    if (hold) {
      held.push_back(std::move(reply));
    } else {
      reply(answer);
    }
  }
};

} // namespace tributary::rest
