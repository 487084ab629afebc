#include "tests/fabric/managed/managed_groups.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

namespace tributary::fabric {
namespace {

constexpr std::uint64_t ask_again_ns = 20'000'000;
constexpr std::chrono::milliseconds join_timeout{1000};

} // namespace

ManagedGroups::ManagedGroups(ManagedFabric& managed, std::uint64_t seed)
    : managed_(managed), random_(Random(seed).fork(0x6a)) {
  for (HostIndex h = 0; h < managed_.fabric().topology().host_count(); ++h) {
    hosts_.push_back(std::make_unique<GroupHost>());
    managed_.fabric().attach(h, *hosts_.back());
  }
}

ManagedGroups::~ManagedGroups() = default;

ManagedGroup& ManagedGroups::join(const std::string& name, const std::vector<HostIndex>& hosts,
                                  std::uint64_t pieces, std::uint32_t trees, std::uint64_t gap_ns) {
  auto& group = *groups_.emplace_back(std::make_unique<ManagedGroup>());
  group.name = name;
  group.hosts = hosts;
  group.trees = trees;
  group.pieces = pieces;
  group.gap_ns = gap_ns;
  group.joined.assign(hosts.size(), false);
  group.leaving.assign(hosts.size(), false);
  for (std::uint32_t rank = 0; rank < hosts.size(); ++rank) {
    managed_.announce(hosts[rank]);
    ask(group, rank);
  }
  return group;
}

void ManagedGroups::ask_again(ManagedGroup& group) {
  group.error.clear();
  group.joined.assign(group.hosts.size(), false);
  for (std::uint32_t rank = 0; rank < group.hosts.size(); ++rank) {
    managed_.announce(group.hosts[rank]);
    ask(group, rank);
  }
}

void ManagedGroups::ask(ManagedGroup& group, std::uint32_t rank) {
  Fabric& fabric = managed_.fabric();
  const auto again = [this, &group, rank] {
    if (!group.joined[rank] && group.error.empty()) {
      managed_.announce(group.hosts[rank]);
      ask(group, rank);
    }
  };
  if (!managed_.has_manager()) {
    fabric.at(fabric.now() + ask_again_ns, again);
    return;
  }
  api::JoinRequest request;
  request.group = {.job = {},
                   .name = group.name,
                   .size = static_cast<std::uint32_t>(group.hosts.size()),
                   .trees = group.trees,
                   .root_rank = asks_for_root_,
                   .in_switch_results =
                       rank == 0 ? std::optional(asks_for_in_switch_) : std::nullopt};
  request.rank = rank;
  request.nid = Topology::nid(group.hosts[rank]);
  request.host = ManagedFabric::host_name(group.hosts[rank]);
  request.wait = join_timeout;
  managed_.join(request,
                [this, &group, rank](const api::Answer& answer) { answered(group, rank, answer); });
  // A killed manager never answers the request.
  const auto repeat =
      static_cast<std::uint64_t>(std::chrono::nanoseconds(2 * join_timeout).count());
  fabric.at(fabric.now() + repeat, again);
}

void ManagedGroups::answered(ManagedGroup& group, std::uint32_t rank, const api::Answer& answer) {
  if (group.joined[rank] || answer.status == 202 || answer.status == 503) {
    return; // asked again in a while
  }
  if (answer.status != 200) {
    group.error = boost::json::serialize(answer.body);
    return;
  }
  group.joined[rank] = true;
  group.membership = answer.body.as_object();
  if (std::all_of(group.joined.begin(), group.joined.end(), [](bool j) { return j; }) &&
      group.group == nullptr) {
    begin(group);
  }
}

void ManagedGroups::begin(ManagedGroup& managed) {
  const boost::json::object& given = managed.membership;
  const boost::json::array& trees = given.at("trees").as_array();
  const auto number = [](const boost::json::value& v) { return v.to_number<std::uint32_t>(); };
  GroupSetup setup;
  setup.tree = TreeNumber{static_cast<std::uint16_t>(number(trees.front()))};
  if (trees.size() == 2) {
    setup.twin = TreeNumber{static_cast<std::uint16_t>(number(trees.back()))};
  }
  setup.vni = Vni{static_cast<std::uint16_t>(number(given.at("vni")))};
  setup.cookie = Cookie{number(given.at("cookie"))};
  setup.root_rank = number(given.at("root_rank"));
  setup.parameters.in_switch = given.at("in_switch_results").as_bool();
  setup.hosts = managed.hosts;
  setup.pieces = managed.pieces;
  setup.gap_ns = managed.gap_ns;
  setup.seed = random_.next();
  setup.start = managed_.fabric().now();
  managed.group = std::make_unique<Group>(managed_.fabric(), setup);
  for (std::uint32_t rank = 0; rank < managed.hosts.size(); ++rank) {
    hosts_[managed.hosts[rank]]->join(*managed.group, rank);
    managed_.fabric().poke(managed.hosts[rank]);
  }
}

void ManagedGroups::report_departures() {
  if (!managed_.has_manager()) {
    return;
  }
  for (const auto& group : groups_) {
    for (std::uint32_t rank = 0; group->group && rank < group->hosts.size(); ++rank) {
      if (!group->leaving[rank] && group->group->member(rank).left()) {
        group->leaving[rank] = true;
        managed_.manager().ask<&manager::Manager::leave_group>(
            {.token = {}, .administrator = true}, {.job = {}, .group = group->name, .rank = rank},
            [](const api::Answer&) {});
      }
    }
  }
}

} // namespace tributary::fabric
