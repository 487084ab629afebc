#include "controlplane/manager/manager.hpp"

#include "controlplane/turns/topology_form.hpp"

#include <fmt/format.h>

#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tributary::manager {
namespace {

std::uint32_t transaction_epoch(const records::Snapshot& past) {
  return static_cast<std::uint32_t>(past.epoch);
}

} // namespace

Manager::Manager(const Settings& settings, turns::Environment& environment,
                 group::RandomSource random, const records::Snapshot& past)
    : settings_(settings), environment_(environment), stalls_(environment),
      background_(environment, stalls_), clock_(environment), slice_(environment),
      discovery_(settings.discovery), tree_kind_(discovery_.graph()),
      coordinator_(discovery_.graph(), {&tree_kind_, &route_kind_, &port_kind_},
                   {.epoch = transaction_epoch(past)}),
      registry_(settings.groups, random, past, clock_.started()), events_(environment, past.epoch),
      store_(environment, clock_, stalls_, events_),
      access_(registry_, settings.open_job, settings.open_view),
      replies_(environment, settings.confirms),
      touched_({discovery_.graph(), registry_, states_, coordinator_, events_}),
      control_(settings.routes, {environment, clock_, background_, discovery_, coordinator_},
               std::uint64_t{transaction_epoch(past)} << 32U, event_reporter()),
      rdma_(settings.rdma, environment, discovery_, control_,
            std::uint64_t{transaction_epoch(past)} << 32U, event_reporter()),
      planner_({stalls_, discovery_, control_}, settings.planner),
      admission_({clock_, graph(), switches_, registry_, coordinator_, states_, engines_}),
      frames_({graph(), switches_, registry_, states_, memory_, events_}),
      layout_({discovery_, control_, planner_, engines_, admission_, frames_}),
      trees_({settings.timeout_ns, settings.repair_pause_ns},
             {clock_, stalls_, slice_, graph(), switches_, registry_, coordinator_, states_,
              control_, events_, admission_, frames_, planner_, layout_}),
      rebalance_({environment, clock_, switches_, registry_, states_, engines_, events_, replies_,
                  admission_, frames_, planner_, layout_, trees_},
                 settings.rebalance_quiet_ns),
      nodes_({clock_, registry_, access_, touched_, events_}),
      leases_(environment, clock_, registry_, events_),
      ports_({environment, clock_, graph(), switches_, registry_, port_kind_, coordinator_, leases_,
              replies_},
             settings.job_ports, settings.repair_pause_ns,
             [this](job_controller::Launch launch, const std::optional<api::Answer>& refusal) {
               allocations_.answer(std::move(launch), refusal);
             }),
      allocations_({clock_, graph(), registry_, events_, replies_, nodes_, leases_, ports_,
                    job_controller::AllocationAnswer({graph(), registry_, rdma_, events_})},
                   std::move(random)),
      topology_({clock_, slice_, discovery_, registry_, store_, events_, touched_, control_,
                 switches_, turns_},
                settings.timeout_ns),
      fence_({environment, clock_, store_, events_}, settings.boot, past),
      sessions_({environment, clock_, stalls_, events_, discovery_, coordinator_, registry_,
                 memory_, switches_, touched_, control_, topology_, fence_, turns_}),
      groups_({clock_, registry_, events_, turns_}),
      waiters_(clock_, registry_, read_view_, replies_),
      turns_({environment, clock_, stalls_, slice_, events_, store_, replies_, registry_, graph()},
             in_order(), [this] { return topology_.waits_until(); }) {
  discovery_.remember([this](Nid nid) { return !registry_.groups_of(nid).empty(); });
  restore(past);
  rdma_.reconfigure(settings.rdma, clock_.started());
  rdma_.restore(past, clock_.started());
  control_.start(clock_.started());
  if (!settings_.open_job.empty() && registry_.find_job(settings_.open_job) == nullptr) {
    static_cast<void>(registry_.create_job(settings_.open_job, std::nullopt));
  }
  if (!settings_.store_failure.empty()) {
    store_.begin_failing(settings_.store_failure);
    registry_.put_something();
  }
  registry_.begin_requests();
  environment_.request_reconcile();
}

Manager::~Manager() = default;

std::vector<turns::Controller*> Manager::in_order() {
  return {&topology_, &sessions_, &groups_,  &store_, &background_, &trees_,   &rebalance_,
          &ports_,    &rdma_,     &control_, &fence_, &events_,     &waiters_, &replies_};
}

void Manager::let_go(const std::string& why) {
  sessions_.let_go(why);
  turns_.controllers().notify(&turns::Controller::superseded, store_.suspended_answer());
}

std::vector<records::Change> Manager::what_waits() {
  topology_.locate_all();
  store_.add(registry_.take_changes());
  return store_.take_waiting(graph());
}

turns::EventReporter Manager::event_reporter() {
  return {[this](std::string kind, std::string text, const turns::EventSubject& about) {
    touched_.report(std::move(kind), std::move(text), about);
  }};
}

void Manager::restore(const records::Snapshot& past) {
  for (const std::string& record : past.set_aside) {
    events_.report("manager", fmt::format("a damaged record of the store is set aside: {}", record),
                   {}, turns::Severity::warning);
  }
  try {
    discovery_.restore(turns::stored_graph(past), clock_.started());
  } catch (const std::exception& error) {
    events_.report("manager",
                   fmt::format("the stored topology cannot be used, and is discovered again: {}",
                               error.what()),
                   {}, turns::Severity::warning);
    store_.replace_topology({});
  }
  static_cast<void>(discovery_.take_touched()); // it is stored already
  switches_.resize(graph().switches().size());
  std::set<std::string> drained;
  for (const records::DrainRecord& record : past.drains) {
    drained.insert(record.at);
  }
  control_.restore_drained(std::move(drained));
  planner_.bring_up_to_date();
  std::vector<transaction::Target> wanted;
  for (const group::Group* group : registry_.groups()) {
    if (!group->routed() || group->state == group::GroupState::destroying) {
      continue;
    }
    trees_.restore(*group, wanted);
  }
  ports_.restore(wanted);
  coordinator_.restore(wanted);
}

void Manager::reconfigure(const group::Settings& groups) {
  settings_.groups = groups;
  registry_.reconfigure(groups);
}

void Manager::reconfigure(const fabric_controller::RouteSettings& routes) {
  settings_.routes = routes;
  control_.reconfigure(routes, now());
  environment_.request_reconcile();
}

void Manager::reconfigure(job::PortPolicy policy) { ports_.reconfigure(policy); }

void Manager::reconfigure(const fabric_controller::RdmaSettings& rdma) {
  settings_.rdma = rdma;
  rdma_.reconfigure(rdma, now());
  environment_.request_reconcile();
}

} // namespace tributary::manager
