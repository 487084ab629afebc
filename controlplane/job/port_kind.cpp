#include "controlplane/job/port_kind.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::job {

using transaction::Subject;

PortPolicy port_policy_named(std::string_view name) {
  return static_cast<PortPolicy>(std::ranges::find(port_policies, name) - port_policies.begin());
}

Subject PortKind::subject_of(const std::string& job) {
  const auto [place, is_new] = numbers_.try_emplace(job, last_number_ + 1);
  if (is_new) {
    jobs_.emplace(++last_number_, job);
  }
  return {port_kind, place->second};
}

std::optional<std::string> PortKind::job_of(const std::optional<Subject>& subject) const {
  const auto found =
      subject && subject->kind == port_kind ? jobs_.find(subject->number) : jobs_.end();
  return found == jobs_.end() ? std::nullopt : std::optional(found->second);
}

void PortKind::forget(const std::string& job) {
  if (const auto found = numbers_.find(job); found != numbers_.end()) {
    jobs_.erase(found->second);
    numbers_.erase(found);
  }
}

std::optional<transaction::Target> PortKind::target_of(const std::string& job,
                                                       std::span<const HostPort> ports,
                                                       std::span<const Vni> vnis,
                                                       PortPolicy policy) {
  if (ports.empty() || vnis.empty()) {
    return std::nullopt;
  }
  transaction::Target target{.subject = subject_of(job), .parts = {}, .needs = {}};
  for (const HostPort& port : ports) {
    for (const Vni vni : vnis) {
      target.needs.push_back(
          {.at = port.at,
           .vni = vni,
           .nid = policy == PortPolicy::open ? std::nullopt : std::optional(port.nid),
           .closes = policy == PortPolicy::closed});
    }
  }
  return target;
}

std::string PortKind::describe(const Subject& subject) const {
  const auto found = jobs_.find(subject.number);
  return fmt::format("access of job {} to its ports",
                     found == jobs_.end() ? "that is over" : found->second);
}

std::optional<std::string> PortKind::object_to(const transaction::Target&) const {
  return std::nullopt;
}

std::optional<std::string> PortKind::object_to(const Subject&, const transaction::Part&,
                                               const transaction::Inventory::Switch&) const {
  return std::nullopt;
}

transaction::Order PortKind::order(const Subject&, const transaction::Target*,
                                   const transaction::Inventory&) const {
  return {};
}

transaction::ContentPtr PortKind::alone(const Subject&, const transaction::Part& part,
                                        const transaction::Inventory&) const {
  return part.content;
}

} // namespace tributary::job
