#include "controlplane/job_controller/job_ports.hpp"

#include "controlplane/api/status.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tributary::job_controller {

void JobPorts::reconfigure(job::PortPolicy policy) {
  policy_ = policy;
  for (const group::Job* job : rooms_.registry.jobs()) {
    if (job->allocation) {
      look_at(job->id);
    }
  }
}

void JobPorts::wait(const std::string& job, TimeNs until, Launch launch) {
  Ports& ports = ports_[job];
  ports.wait_until = until;
  ports.waiting.push_back(std::move(launch));
  look_at(job);
}

void JobPorts::look_at(const std::string& job) {
  due_.insert(job);
  rooms_.environment.request_reconcile();
}

void JobPorts::host_changed(Nid nid) {
  for (auto at = jobs_with_.lower_bound({nid, {}}); at != jobs_with_.end() && at->first == nid;
       ++at) {
    due_.insert(at->second);
  }
}

std::optional<transaction::Target> JobPorts::target_of(const group::Job& job, bool was_set_up) {
  if (policy_ == job::PortPolicy::open && !was_set_up) {
    return std::nullopt;
  }
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
  return rooms_.kind.target_of(job.id, ports, vnis, policy_);
}

void JobPorts::index_hosts_of(const std::string& name) {
  Ports& ports = ports_[name];
  for (const Nid nid : std::exchange(ports.hosts, {})) {
    jobs_with_.erase({nid, name});
  }
  const records::Allocation* const allocation = rooms_.registry.find_allocation(name);
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

void JobPorts::restore(std::vector<transaction::Target>& wanted) {
  for (const group::Job* job : rooms_.registry.jobs()) {
    if (!job->allocation) {
      continue;
    }
    index_hosts_of(job->id);
    rooms_.leases.restore(*job);
    if (auto target = target_of(*job, true)) {
      wanted.push_back(*std::move(target));
    }
  }
}

std::span<const std::string_view> JobPorts::after() const {
  static constexpr std::string_view names[] = {"topology", "switches", "groups"};
  return names;
}

void JobPorts::begin(const turns::Turn& turn) {
  if (!turn.store_is_failing) {
    for (const std::string& job : rooms_.leases.end()) {
      look_at(job);
    }
  }
}

TimeNs JobPorts::next_deadline(const turns::Turn& turn) const {
  return std::min({again_, due_.empty() ? never : turn.waits_until,
                   turn.store_is_failing ? never : rooms_.leases.next_deadline()});
}

bool JobPorts::handle(const turns::Turn& turn) {
  if (again_ <= now()) {
    again_ = never;
    for (const auto& [name, ports] : ports_) {
      if (ports.again) {
        due_.insert(name);
      }
    }
  }
  if (due_.empty() || turn.waits_for_switches) {
    return false;
  }
  for (const std::string& name : std::exchange(due_, {})) {
    apply(name);
  }
  return true;
}

void JobPorts::apply(const std::string& name) {
  const group::Job* const job = rooms_.registry.find_job(name);
  index_hosts_of(name);
  Ports& ports = ports_.at(name);
  const transaction::Subject subject = rooms_.kind.subject_of(name);
  const transaction::Target* const wanted = rooms_.coordinator.wanted(subject);
  std::optional<transaction::Target> target =
      job != nullptr && job->allocation ? target_of(*job, wanted != nullptr) : std::nullopt;
  ports.again = job != nullptr && job->allocation && waits_for_hosts(*job, ports);
  if (ports.again) {
    again_ = std::min(again_, ports.wait_until);
    return;
  }
  if (!target) {
    if (wanted != nullptr || ports.running) {
      rooms_.coordinator.remove(subject, now());
    } else {
      rooms_.kind.forget(name);
    }
    ports.running.reset();
    end_of_waiting(ports, std::nullopt);
    if (job == nullptr || !job->allocation) {
      ports_.erase(name);
      rooms_.leases.forget(name);
    }
    return;
  }
  if (ports.running && ports.asked == *target) {
    return; // under way
  }
  if (!ports.running && wanted != nullptr && *wanted == *target &&
      (ports.waiting.empty() || rooms_.coordinator.without_permission(subject).empty())) {
    return end_of_waiting(ports, std::nullopt);
  }
  ports.asked = *target;
  ports.running = rooms_.coordinator.set(*std::move(target), now());
}

void JobPorts::ended(const transaction::Outcome& outcome) {
  const auto name = rooms_.kind.job_of(outcome.subject);
  const auto found = name ? ports_.find(*name) : ports_.end();
  if (name && found == ports_.end()) {
    rooms_.kind.forget(*name); // its last removal
  }
  if (found == ports_.end() || found->second.running != outcome.transaction) {
    return;
  }
  Ports& ports = found->second;
  ports.running.reset();
  std::string failure = outcome.result == transaction::Result::committed ? "" : outcome.text;
  if (const auto without = rooms_.coordinator.without_permission(*outcome.subject);
      failure.empty() && !without.empty()) {
    std::vector<std::string_view> names;
    for (const topology::SwitchId at : without) {
      names.push_back(graph()[at].name);
    }
    failure = fmt::format("{}; {} was lost before the change was in force", outcome.text,
                          fmt::join(names, ", "));
  }
  if (failure.empty()) {
    return end_of_waiting(ports, std::nullopt);
  }
  // A job that was created only for this launch ends; its ports are checked then.
  const bool is_new = std::ranges::any_of(ports.waiting, &Launch::made_job);
  end_of_waiting(
      ports, api::error_answer(409, fmt::format("job {} cannot be launched: {}", *name, failure)));
  if (is_new) {
    static_cast<void>(rooms_.registry.delete_job(*name, now()));
    due_.insert(*name);
  } else {
    ports.again = true;
    again_ = std::min(again_, now() + retry_ns_);
  }
}

bool JobPorts::waits_for_hosts(const group::Job& job, const Ports& ports) const {
  if (ports.waiting.empty() || ports.wait_until <= rooms_.clock.time() ||
      !rooms_.switches.any_connected() || policy_ == job::PortPolicy::open) {
    return false;
  }
  return std::ranges::any_of(job.allocation->nodes, [this](const records::Allocation::Node& node) {
    const auto host = node.nid && node.sets_up_port ? graph().find_host(*node.nid) : std::nullopt;
    return node.nid && node.sets_up_port && (!host || !graph()[*host].plugged);
  });
}

void JobPorts::end_of_waiting(Ports& ports, const std::optional<api::Answer>& refusal) {
  for (Launch& launch : std::exchange(ports.waiting, {})) {
    over_(std::move(launch), refusal);
  }
}

void JobPorts::superseded(const api::Answer& error) {
  for (auto& [name, ports] : ports_) {
    for (Launch& launch : std::exchange(ports.waiting, {})) {
      turns::Replies::refuse(std::move(launch.reply), error);
    }
  }
}

void JobPorts::requests_failed(std::uint64_t turn, const api::Answer& error) {
  for (auto& [name, ports] : ports_) {
    std::vector<Launch> staying;
    for (Launch& waiter : std::exchange(ports.waiting, {})) {
      if (waiter.turn == turn) {
        rooms_.replies.give(std::move(waiter.reply), error, false);
      } else {
        staying.push_back(std::move(waiter));
      }
    }
    ports.waiting = std::move(staying);
  }
}

} // namespace tributary::job_controller
