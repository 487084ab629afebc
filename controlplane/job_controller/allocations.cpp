#include "controlplane/job_controller/allocations.hpp"

#include "controlplane/api/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>

namespace tributary::job_controller {

namespace {

/// Time for switches to learn hosts that send hello when a job begins.
constexpr std::uint64_t host_timeout_ns = 1'000'000'000;

/// Several runs of one job share its cookie, and all their nodes.
void add_what_was(records::Allocation& now, const records::Allocation& before) {
  now.cookie = before.cookie;
  now.has_made_job = before.has_made_job;
  std::map<std::string, records::Allocation::Node> all;
  for (const records::Allocation::Node& node : now.nodes) {
    all.emplace(node.name, node);
  }
  for (const records::Allocation::Node& node : before.nodes) {
    records::Allocation::Node& known = all.emplace(node.name, node).first->second;
    known.sets_up_port |= node.sets_up_port && node.nid == known.nid;
  }
  now.nodes.clear();
  for (auto& [name, node] : all) {
    now.nodes.push_back(std::move(node));
  }
}

} // namespace

/// Without a cookie. A caller with only a job's token can name any host: it gets only those that
/// the job is limited to. A node can name any, too, where the job has no such list.
records::Allocation Allocations::wanted_by(const api::Caller& caller,
                                           const api::AllocationRequest& request,
                                           const std::vector<NodePlace>& places) const {
  const group::Job* const job = rooms_.registry.find_job(request.job);
  const auto may_set_up = [&](std::optional<Nid> nid) {
    if (!nid) {
      return false;
    }
    const bool is_listed =
        job != nullptr && job->hosts && std::ranges::binary_search(*job->hosts, *nid);
    const bool has_no_list = job != nullptr && !job->hosts;
    return caller.administrator || is_listed || (caller.is_node() && has_no_list);
  };
  records::Allocation allocation{.cookie = {},
                                 .nodes = {},
                                 .has_made_job = !request.exists,
                                 .lease_ms = 1000 * request.lease_seconds};
  for (std::size_t n = 0; n < places.size(); ++n) {
    allocation.nodes.push_back({request.nodes[n].name, places[n].nid, may_set_up(places[n].nid)});
  }
  std::ranges::sort(allocation.nodes, {}, &records::Allocation::Node::name);
  return allocation;
}

/// Trees that are reserved for jobs with an allocation, and not in use.
std::size_t Allocations::trees_set_aside() const {
  std::size_t set_aside = 0;
  for (const group::Job* job : rooms_.registry.jobs()) {
    if (job->allocation) {
      set_aside +=
          job->multicast_limit - std::min<std::size_t>(job->multicast_limit, job->groups.size());
    }
  }
  return set_aside;
}

std::optional<api::Answer> Allocations::make_job_of(const api::AllocationRequest& request,
                                                    const std::vector<NodePlace>& places) {
  const std::uint32_t limit =
      request.multicast_limit.value_or(rooms_.registry.settings().default_multicast_limit);
  const std::size_t taken = rooms_.registry.trees_in_use() + trees_set_aside();
  if (taken + limit > max_trees) {
    return api::error_answer(
        507, fmt::format("02: {} multicast groups cannot be reserved for job \"{}\": of {} trees "
                         "{} are in use, and {} reserved for other jobs",
                         limit, request.job, max_trees, rooms_.registry.trees_in_use(),
                         trees_set_aside()));
  }
  group::JobBounds bounds{.hosts = std::nullopt, .vnis = std::nullopt, .give_out_vni = true};
  std::vector<Nid> hosts;
  for (const NodePlace& place : places) {
    if (place.nid) {
      hosts.push_back(*place.nid);
    }
  }
  if (hosts.size() == places.size()) {
    bounds.hosts = std::move(hosts); // a job with a node that is not a host has no list of hosts
  }
  const auto job =
      rooms_.registry.create_job(request.job, limit, std::move(bounds), rooms_.clock.now());
  if (!job) {
    return api::answer_of(job.error());
  }
  rooms_.events.announce("job",
                         fmt::format("job {} has {} nodes and may have {} groups", request.job,
                                     request.nodes.size(), limit),
                         {{"job", request.job}});
  return std::nullopt;
}

void Allocations::begin(const api::Caller& caller, const api::AllocationRequest& request,
                        api::Reply reply, std::uint64_t turn) {
  const std::vector<NodePlace> places = places_of(rooms_.graph, request);
  records::Allocation wanted = wanted_by(caller, request, places);
  const records::Allocation* const known = rooms_.registry.find_allocation(request.job);
  const bool is_repeated = known != nullptr && std::ranges::equal(known->nodes, wanted.nodes, {},
                                                                  &records::Allocation::Node::name,
                                                                  &records::Allocation::Node::name);
  if (!request.exists) {
    // A client that lost the answer asks again, and gets the same.
    if (auto error = is_repeated ? std::nullopt : make_job_of(request, places)) {
      return rooms_.replies.give(std::move(reply), *std::move(error), false);
    }
  }
  for (const api::AllocationRequest::Node& node : request.nodes) {
    if (node.inventory != job::NodeInventory()) { // a workload manager says nothing of its nodes
      rooms_.nodes.take(node.name, node.inventory, request.job);
    }
  }
  if (const records::Allocation* const before = rooms_.registry.find_allocation(request.job)) {
    add_what_was(wanted, *before);
  } else {
    std::array<std::byte, records::Allocation::cookie_digits / 2> bytes{};
    random_(bytes);
    for (const std::byte byte : bytes) {
      wanted.cookie += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    }
  }
  if (const auto job = rooms_.registry.set_allocation(request.job, std::move(wanted))) {
    rooms_.leases.begin(**job);
  }
  rooms_.ports.wait(request.job, rooms_.clock.now() + host_timeout_ns,
                    {.reply = std::move(reply),
                     .request = std::make_shared<const api::AllocationRequest>(request),
                     .made_job = !request.exists && !is_repeated,
                     .turn = turn});
}

void Allocations::answer(Launch launch, const std::optional<api::Answer>& refusal) {
  const records::Allocation* const allocation =
      rooms_.registry.find_allocation(launch.request->job);
  if (refusal) {
    rooms_.replies.give(std::move(launch.reply), *refusal, false);
  } else if (allocation == nullptr) {
    rooms_.replies.give(
        std::move(launch.reply),
        api::error_answer(
            409, fmt::format("job {} ended before its ports were set up", launch.request->job)),
        false);
  } else {
    rooms_.replies.give(
        std::move(launch.reply),
        {launch.made_job ? 201U : 200U,
         rooms_.answers.to(*launch.request, allocation->cookie, rooms_.ports.policy()), 0},
        true);
  }
}

} // namespace tributary::job_controller
