// The switches' ports of allocations' nodes: which VNIs may enter there, and from whom. A launcher
// is answered when that is in force; what changes later (a host that is found, or plugged in
// elsewhere, another policy) follows, as trees do.
#include "controlplane/api/status.hpp"
#include "controlplane/manager/manager.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tributary::manager {

void Manager::reconfigure(job::PortPolicy policy) {
  settings_.job_ports = policy;
  for (const group::Job* job : registry_.jobs()) {
    if (job->allocation) {
      look_at_ports(job->id);
    }
  }
}

void Manager::look_at_ports(const std::string& job) {
  ports_due_.insert(job);
  environment_.request_reconcile();
}

void Manager::look_at_ports(Nid nid) {
  for (auto at = jobs_with_.lower_bound({nid, {}}); at != jobs_with_.end() && at->first == nid;
       ++at) {
    ports_due_.insert(at->second);
  }
}

std::optional<transaction::Target> Manager::ports_of(const group::Job& job) {
  std::vector<job::HostPort> ports;
  for (const records::Allocation::Node& node : job.allocation->nodes) {
    const auto host = node.nid && node.sets_up_port ? graph().find_host(*node.nid) : std::nullopt;
    if (host && graph()[*host].plugged) {
      ports.push_back({graph()[*host].at, *node.nid});
    }
  }
  std::vector<Vni> vnis = job.vnis.value_or(std::vector<Vni>());
  if (job.vni) {
    vnis.push_back(*job.vni);
  }
  return port_kind_.target_of(job.id, ports, vnis, settings_.job_ports);
}

void Manager::index_hosts_of(const std::string& name) {
  JobPorts& ports = ports_[name];
  for (const Nid nid : std::exchange(ports.hosts, {})) {
    jobs_with_.erase({nid, name});
  }
  const records::Allocation* const allocation = allocation_of(name);
  if (allocation == nullptr) {
    return;
  }
  for (const records::Allocation::Node& node : allocation->nodes) {
    if (node.nid) {
      ports.hosts.push_back(*node.nid);
      jobs_with_.emplace(*node.nid, name);
    }
  }
}

void Manager::restore_ports(std::vector<transaction::Target>& wanted) {
  for (const group::Job* job : registry_.jobs()) {
    if (!job->allocation) {
      continue;
    }
    index_hosts_of(job->id);
    begin_lease(*job);
    if (auto target = ports_of(*job)) {
      wanted.push_back(*std::move(target));
    }
  }
}

bool Manager::handle_ports() {
  if (ports_again_ <= now()) {
    ports_again_ = never;
    for (const auto& [name, ports] : ports_) {
      if (ports.again) {
        ports_due_.insert(name);
      }
    }
  }
  if (ports_due_.empty() || waits_for_switches()) {
    return false;
  }
  const Section section(stalls_, "ports of jobs");
  for (const std::string& name : std::exchange(ports_due_, {})) {
    settle_ports(name);
  }
  return true;
}

void Manager::settle_ports(const std::string& name) {
  const group::Job* const job = registry_.find_job(name);
  index_hosts_of(name);
  JobPorts& ports = ports_.at(name);
  std::optional<transaction::Target> target =
      job != nullptr && job->allocation ? ports_of(*job) : std::nullopt;
  const transaction::Subject subject = port_kind_.subject_of(name);
  const transaction::Target* const wanted = coordinator_.wanted(subject);
  ports.again = job != nullptr && job->allocation && waits_for_hosts(*job, ports);
  if (ports.again) {
    ports_again_ = std::min(ports_again_, ports.patience);
    return;
  }
  if (!target) {
    if (wanted != nullptr || ports.running) {
      coordinator_.remove(subject, now());
    } else {
      port_kind_.forget(name);
    }
    ports.running.reset();
    end_of_waiting(ports, std::nullopt);
    if (job == nullptr || !job->allocation) {
      ports_.erase(name);
      leases_.erase(name);
    }
    return;
  }
  if (ports.running && ports.asked == *target) {
    return; // under way
  }
  if (!ports.running && wanted != nullptr && *wanted == *target &&
      (ports.waiting.empty() || coordinator_.without_permission(subject).empty())) {
    return end_of_waiting(ports, std::nullopt);
  }
  ports.asked = *target;
  ports.running = coordinator_.set(*std::move(target), now());
}

void Manager::ports_answered(const transaction::Outcome& outcome) {
  const auto name = port_kind_.job_of(outcome.subject);
  const auto found = name ? ports_.find(*name) : ports_.end();
  if (name && found == ports_.end()) {
    port_kind_.forget(*name); // its last removal
  }
  if (found == ports_.end() || found->second.running != outcome.transaction) {
    return;
  }
  JobPorts& ports = found->second;
  ports.running.reset();
  std::string failure = outcome.result == transaction::Result::committed ? "" : outcome.text;
  if (const auto without = coordinator_.without_permission(*outcome.subject);
      failure.empty() && !without.empty()) {
    std::vector<std::string_view> names;
    for (const topology::SwitchId at : without) {
      names.push_back(graph()[at].name);
    }
    failure = fmt::format("{}; {} was lost before it had it in force", outcome.text,
                          fmt::join(names, ", "));
  }
  if (failure.empty()) {
    return end_of_waiting(ports, std::nullopt);
  }
  // A job that was made for nothing but to be launched now ends. Its ports are looked at then.
  const bool is_new = std::ranges::any_of(ports.waiting, &PortWaiter::made_job);
  end_of_waiting(
      ports, api::error_answer(409, fmt::format("job {} cannot be launched: {}", *name, failure)));
  if (is_new) {
    static_cast<void>(registry_.delete_job(*name, now()));
    ports_due_.insert(*name);
  } else {
    ports.again = true;
    ports_again_ = std::min(ports_again_, now() + settings_.repair_pause_ns);
  }
}

bool Manager::waits_for_hosts(const group::Job& job, const JobPorts& ports) const {
  if (ports.waiting.empty() || ports.patience <= time() || sessions_.empty() ||
      settings_.job_ports == job::PortPolicy::open) {
    return false;
  }
  return std::ranges::any_of(job.allocation->nodes, [this](const records::Allocation::Node& node) {
    const auto host = node.nid && node.sets_up_port ? graph().find_host(*node.nid) : std::nullopt;
    return node.nid && node.sets_up_port && (!host || !graph()[*host].plugged);
  });
}

void Manager::end_of_waiting(JobPorts& ports, const std::optional<api::Answer>& refusal) {
  for (PortWaiter& waiter : std::exchange(ports.waiting, {})) {
    const records::Allocation* const allocation = allocation_of(waiter.request->job);
    if (refusal) {
      replies_.give(std::move(waiter.reply), *refusal, false);
    } else if (allocation == nullptr) {
      replies_.give(std::move(waiter.reply),
                    api::error_answer(409, fmt::format("job {} ended before its ports were set up",
                                                       waiter.request->job)),
                    false);
    } else {
      replies_.give(
          std::move(waiter.reply),
          {waiter.made_job ? 201U : 200U,
           json_of_allocation(*waiter.request, places_of(*waiter.request), allocation->cookie), 0},
          true);
    }
  }
}

void Manager::take_back_launches() {
  for (auto& [name, ports] : ports_) {
    std::vector<PortWaiter> staying;
    for (PortWaiter& waiter : std::exchange(ports.waiting, {})) {
      if (waiter.turn == turn_) {
        replies_.give(std::move(waiter.reply), store_.error_answer(), false);
      } else {
        staying.push_back(std::move(waiter));
      }
    }
    ports.waiting = std::move(staying);
  }
}

} // namespace tributary::manager
