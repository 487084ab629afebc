#include "tests/fabric/run.hpp"

#include "tests/fabric/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::fabric {

namespace {
FabricOptions with_trace(FabricOptions options, std::FILE* trace) {
  options.trace = trace;
  return options;
}
} // namespace

Run::Run(const RunOptions& options, Topology topology, FabricOptions fabric_options)
    : seed_(options.seed), random_(Random(options.seed).fork(0x52)),
      fabric_(std::move(topology), with_trace(std::move(fabric_options), options.trace),
              options.seed),
      hosts_(fabric_.topology().host_count()) {}

std::vector<HostIndex> Run::all_hosts() const {
  std::vector<HostIndex> hosts;
  for (HostIndex h = 0; h < hosts_.size(); ++h) {
    hosts.push_back(h);
  }
  return hosts;
}

std::vector<HostIndex> Run::choose_hosts(std::size_t count) {
  std::vector<HostIndex> hosts = all_hosts();
  random_.shuffle(hosts);
  hosts.resize(std::min(count, hosts.size()));
  return hosts;
}

namespace {

/// The switch next to the root also waits for the root.
void make_in_switch_result(std::vector<TreePart>& tree) {
  ++tree.front().wait_count;
  tree.front().slots.in_switch = true;
}

} // namespace

Group& Run::add_group(GroupSetup setup) {
  setup.tree = TreeNumber{static_cast<std::uint16_t>(7 + 13 * groups_.size())};
  setup.cookie = Cookie{static_cast<std::uint32_t>(random_.next())};
  setup.seed = random_.next();
  trees_.push_back(
      {multicast_tree(fabric_.topology(), setup.hosts[setup.root_rank], setup.hosts, random_)});
  if (setup.switch_has_in_switch.value_or(setup.parameters.in_switch)) {
    make_in_switch_result(trees_.back().front());
  }
  fabric_.install(setup.tree, trees_.back().front());
  return add(setup);
}

Group& Run::add_twins(GroupSetup setup, std::span<const SwitchIndex> first_without,
                      std::span<const SwitchIndex> second_without) {
  setup.tree = TreeNumber{static_cast<std::uint16_t>(7 + 13 * groups_.size())};
  setup.twin = TreeNumber{static_cast<std::uint16_t>(setup.tree.value + 5)};
  setup.cookie = Cookie{static_cast<std::uint32_t>(random_.next())};
  setup.seed = random_.next();
  const auto route = [&](std::span<const SwitchIndex> without) {
    return multicast_tree(fabric_.topology(), setup.hosts[setup.root_rank], setup.hosts, random_,
                          without);
  };
  trees_.push_back({route(first_without)});
  trees_.back().push_back(route(second_without));
  fabric_.install(setup.tree, trees_.back().front());
  fabric_.install(*setup.twin, trees_.back().back());
  return add(setup);
}

template <typename Setup>
std::vector<TreePart> Run::install_with_slots(TreeNumber tree, const Setup& setup) {
  auto parts =
      multicast_tree(fabric_.topology(), setup.hosts[setup.root_rank], setup.hosts, random_);
  for (TreePart& part : parts) {
    if (setup.parameters.is_wide()) {
      part.slots = {.slots = setup.parameters.ids_of_tree(),
                    .payload_bytes = setup.parameters.payload,
                    .half_floats = false};
    }
    part.shared = setup.parameters.shared;
  }
  if (setup.parameters.in_switch) {
    make_in_switch_result(parts);
  }
  fabric_.install(tree, parts);
  return parts;
}

SharedHost& Run::shared_host(HostIndex host) {
  shared_.resize(hosts_.size());
  if (!shared_[host]) {
    shared_[host] = std::make_unique<SharedHost>();
  }
  return *shared_[host];
}

VectorGroup& Run::add_context(const VectorGroup* on, VectorSetup setup, const Context& context) {
  setup.tree = on != nullptr ? on->setup().tree
                             : TreeNumber{static_cast<std::uint16_t>(4007 + 13 * vectors_.size())};
  setup.cookie = Cookie{static_cast<std::uint32_t>(random_.next())};
  setup.seed = random_.next();
  setup.is_context = true;
  if (on == nullptr) {
    install_with_slots(setup.tree, setup);
  }
  setup.parameters.tree_slots = setup.parameters.slots;
  setup.parameters.slots = context.ids;
  setup.parameters.first_id = context.first;
  VectorGroup& group = *vectors_.emplace_back(std::make_unique<VectorGroup>(fabric_, setup));
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    shared_host(setup.hosts[rank]).add(group.program(rank), context.first, context.ids, [&group] {
      return group.has_ids();
    });
  }
  return group;
}

MulticastGroup& Run::add_multicasts(const VectorGroup* on, MulticastSetup setup,
                                    const Context& context, bool twins) {
  setup.cookie = Cookie{static_cast<std::uint32_t>(random_.next())};
  setup.seed = random_.next();
  setup.parameters.shared = true;
  auto& tree = multicast_trees_.emplace_back();
  if (on != nullptr) {
    setup.tree = on->setup().tree;
    setup.twin = on->setup().twin;
  } else {
    setup.tree = TreeNumber{static_cast<std::uint16_t>(2007 + 13 * multicasts_.size())};
    tree = install_with_slots(setup.tree, setup);
    if (twins) {
      setup.twin = TreeNumber{static_cast<std::uint16_t>(setup.tree.value + 5)};
      install_with_slots(*setup.twin, setup);
    }
  }
  setup.parameters.tree_slots = setup.parameters.slots;
  setup.parameters.slots = setup.windows == 0 ? context.ids : setup.windows;
  setup.parameters.first_id = context.first;
  MulticastGroup& group =
      *multicasts_.emplace_back(std::make_unique<MulticastGroup>(fabric_, setup));
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    shared_host(setup.hosts[rank])
        .add(group.program(rank), context.first, context.ids, setup.cookie);
  }
  return group;
}

TreeNumber Run::add_tree_like(const MulticastGroup& group) {
  const TreeNumber tree{static_cast<std::uint16_t>(6007 + 13 * further_trees_++)};
  install_with_slots(tree, group.setup());
  return tree;
}

const std::vector<TreePart>& Run::tree_of(const MulticastGroup& group) const {
  const auto at = std::ranges::find(multicasts_, &group, &std::unique_ptr<MulticastGroup>::get);
  return multicast_trees_[static_cast<std::size_t>(at - multicasts_.begin())];
}

TreeNumber Run::add_tree_like(const VectorGroup& group) {
  const TreeNumber tree{static_cast<std::uint16_t>(6007 + 13 * further_trees_++)};
  install_with_slots(tree, group.setup());
  return tree;
}

VectorGroup& Run::add_vectors(VectorSetup setup, bool twins) {
  // Behind those of the other groups.
  setup.tree = TreeNumber{static_cast<std::uint16_t>(4007 + 13 * vectors_.size())};
  if (twins) {
    setup.twin = TreeNumber{static_cast<std::uint16_t>(setup.tree.value + 5)};
  }
  setup.cookie = Cookie{static_cast<std::uint32_t>(random_.next())};
  setup.seed = random_.next();
  for (const auto tree : {std::optional(setup.tree), setup.twin}) {
    if (tree) {
      install_with_slots(*tree, setup);
    }
  }
  return *vectors_.emplace_back(std::make_unique<VectorGroup>(fabric_, setup));
}

Group& Run::add(const GroupSetup& setup) {
  groups_.push_back(std::make_unique<Group>(fabric_, setup));
  Group& group = *groups_.back();
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    auto& host = hosts_[group.host(rank)];
    if (!host) {
      host = std::make_unique<GroupHost>();
    }
    host->join(group, rank);
  }
  return group;
}

const std::vector<TreePart>& Run::tree_of(const Group& group) const {
  const auto at = std::ranges::find(groups_, &group, &std::unique_ptr<Group>::get);
  return trees_[static_cast<std::size_t>(at - groups_.begin())].front();
}

void Run::start() {
  fabric_.publish_all();
  fabric_.run_until(fabric_.now() + microseconds(10));
  for (HostIndex h = 0; h < hosts_.size(); ++h) {
    if (hosts_[h]) {
      fabric_.attach(h, *hosts_[h]);
    }
  }
  for (HostIndex h = 0; h < shared_.size(); ++h) {
    if (shared_[h]) {
      fabric_.attach(h, *shared_[h]);
    }
  }
  for (const auto& group : vectors_) {
    for (std::uint32_t rank = 0; rank < group->size() && !group->setup().is_context; ++rank) {
      fabric_.attach(group->setup().hosts[rank], group->program(rank));
    }
  }
}

void Run::expect(bool holds, std::string_view what) {
  if (!holds) {
    fabric_.violation(fmt::format("the scenario's promise: {}", what));
  }
}

void Run::complete_within(std::uint64_t ns) {
  const auto complete = [&] {
    const auto is_complete = [](const auto& g) { return g->complete(); };
    return std::ranges::all_of(groups_, is_complete) &&
           std::ranges::all_of(vectors_, is_complete) &&
           std::ranges::all_of(multicasts_, is_complete);
  };
  if (!fabric_.run_until(complete, fabric_.now() + ns)) {
    std::string status;
    for (const auto& g : groups_) {
      status += g->describe_status();
    }
    for (const auto& g : vectors_) {
      status += g->describe_status();
    }
    for (const auto& g : multicasts_) {
      status += g->describe_status();
    }
    fabric_.violation(fmt::format("not complete after {} ms:{}", ns / milliseconds(1), status));
  }
}

void Run::finish(std::uint64_t limit_ns) {
  fabric_.set_faults({});
  complete_within(limit_ns);
  const auto parted = [&] {
    const auto has_parted = [](const auto& g) { return g->parted(); };
    return std::ranges::all_of(groups_, has_parted) && std::ranges::all_of(vectors_, has_parted);
  };
  if (!fabric_.run_until(parted, fabric_.now() + limit_ns)) {
    std::string status;
    for (const auto& g : groups_) {
      status += g->describe_status();
    }
    for (const auto& g : vectors_) {
      status += g->describe_status();
    }
    fabric_.violation("not all members have left:" + status);
  }
  if (fault_free() && shared_.empty()) { // contexts send nothing when they are left
    const auto all_arrived = [&] { return fabric_.accounting().in_flight == 0; };
    fabric_.run_until(all_arrived, fabric_.now() + milliseconds(1));
    fabric_.run_until(fabric_.now() + microseconds(10)); // switches process what arrived
    expect(fabric_.descriptors_in_use() == 0, "leaving leaves no descriptor occupied");
  }
  // The longest timer runs for twenty seconds; after it no state may be left.
  fabric_.run_until(fabric_.now() + seconds(21));
  expect(fabric_.descriptors_in_use() == 0, "no descriptor is occupied in the end");
  expect(fabric_.accounting().in_flight == 0, "no frame is in flight in the end");
  fabric_.audit();
}

bool Run::fault_free() const {
  for (std::size_t f = 0; f < fault_count; ++f) {
    if (fabric_.fault_counts().of(static_cast<Fault>(f)) > 0) {
      return false;
    }
  }
  return true;
}

void Run::expect_no_waste(bool merged) {
  Budget budget(fabric_.topology());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (const std::vector<TreePart>& tree : trees_[g]) {
      budget.add(*groups_[g], tree, merged);
    }
  }
  const std::string fault = budget.compare(fabric_);
  expect(fault.empty(), fault);
  const collective::Statistics s = report().members;
  expect(s.retried == 0 && s.requests_sent == 0 && s.resent == 0 && s.replayed == 0 &&
             s.recovered == 0 && s.double_counted == 0,
         "no host asked twice for anything");
  expect(s.stale == 0 && s.reordered == 0 && s.misdirected == 0 && s.malformed == 0 &&
             s.outbox_full == 0,
         "nothing was in vain");
  // A host shows every frame to all groups it is a member of.
  expect(s.foreign == 0 || groups_.size() > 1, "no frame went to a host it is not for");
}

RunReport Run::report() const {
  RunReport r;
  r.seed = seed_;
  r.digest = fabric_.digest();
  r.events = fabric_.events();
  r.virtual_ns = fabric_.now().value;
  r.switches = fabric_.topology().switch_count();
  r.hosts = fabric_.topology().host_count();
  for (const auto& g : groups_) {
    r.largest_group = std::max<std::uint64_t>(r.largest_group, g->size());
    r.pieces += g->pieces_complete_everywhere();
    const collective::Statistics s = g->statistics();
#define TRIBUTARY_X(name, text) r.members.name += s.name;
    TRIBUTARY_MEMBER_COUNTERS(TRIBUTARY_X)
#undef TRIBUTARY_X
  }
  r.full = fabric_.engines(&core::EngineCounters::full);
  r.partial = fabric_.engines(&core::EngineCounters::partial);
  r.faults = fabric_.fault_counts();
  for (std::size_t reason = 0; reason < r.drops.size(); ++reason) {
    r.drops[reason] = fabric_.drops(static_cast<core::DropReason>(reason));
  }
  r.accounting = fabric_.accounting();
  r.violations = fabric_.violations();
  return r;
}

} // namespace tributary::fabric
