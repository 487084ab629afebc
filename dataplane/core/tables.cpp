#include "dataplane/core/tables.hpp"

#include "tributary/wire/fabric_address.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace tributary::core {
namespace {

std::string number(std::uint64_t n) { return std::to_string(n); }

constexpr std::size_t upper_ids = most_reductions_per_tree - reductions_per_tree;

std::string ports_there_are(std::size_t count) {
  return count == 0 ? "the switch has no ports yet"
                    : "the switch has ports 0 to " + number(count - 1);
}

} // namespace

TablesBuilder::TablesBuilder(const EngineTimers& timers, const Tables& base,
                             std::uint64_t wide_memory)
    : timers_(timers), wide_memory_(wide_memory), tables_(std::make_shared<Tables>(base)) {
  if (!base.has_slots()) {
    return;
  }
  for (std::size_t t = 0; t < max_trees; ++t) {
    const TreeNumber tree{static_cast<std::uint16_t>(t)};
    if (const SlotPlace& place = base.slot_place(tree); place.slots != 0) {
      if (slots_.add(tree, place.demand()).empty()) {
        slots_.keep(tree, place);
      } else { // more slot memory than there is now
        tables_->trees_[t].slots_log2 = 0;
        slots_changed_ = true;
      }
    }
  }
}

std::string TablesBuilder::add_port(const PortPolicy& policy) {
  if (tables_->ports_.size() == max_ports) {
    return "port " + number(max_ports) + " is one too many: a switch has at most " +
           number(max_ports) + " ports";
  }
  if (policy.nid && !wire::is_valid_nid(*policy.nid)) {
    return "port " + number(tables_->ports_.size()) + ": NID " + number(policy.nid->value) +
           " cannot be an address: it must have 20 bits that do not begin with nine ones";
  }
  tables_->ports_.push_back(policy);
  return {};
}

std::string problem_with_tree(std::size_t port_count, std::uint32_t tree, std::uint32_t wait_count,
                              std::uint32_t parent, PortSet children) {
  const std::string name = "tree " + number(tree);
  if (tree >= max_trees) {
    return name + " does not exist: trees are numbered 0 to " + number(max_trees - 1);
  }
  if (wait_count > max_contributions) {
    return name + ": wait count " + number(wait_count) + " is larger than " +
           number(max_contributions);
  }
  if (parent >= port_count) {
    return name + ": parent port " + number(parent) +
           " does not exist: " + ports_there_are(port_count);
  }
  if (children.empty()) {
    return name + " has no child port";
  }
  const std::uint64_t missing = children.bits() & ~PortSet::first(port_count).bits();
  if (missing != 0) {
    return name + ": child port " + number(static_cast<unsigned>(std::countr_zero(missing))) +
           " does not exist: " + ports_there_are(port_count);
  }
  if (children.contains(PortNumber{static_cast<std::uint8_t>(parent)})) {
    return name + ": port " + number(parent) + " is both its parent and its child";
  }
  return {};
}

std::string problem_with_in_switch(std::uint32_t wait_count) {
  return wait_count >= 2
             ? std::string()
             : "a tree with in-switch results waits for the root and at least one other, and its "
               "wait count is " +
                   number(wait_count) + "; give the size of the group";
}

std::string problem_with_shared(std::uint32_t wait_count) {
  return wait_count > 0 ? std::string()
                        : "only the root may send on an ordinary multicast; a tree that is shared "
                          "has a wait count above 0";
}

std::string TablesBuilder::add_tree(TreeNumber tree, ContributionCount wait_count,
                                    PortNumber parent, PortSet children, const SlotDemand& demand) {
  if (std::string problem =
          problem_with_tree(tables_->ports_.size(), tree.value, wait_count, parent.value, children);
      !problem.empty()) {
    return problem;
  }
  MulticastEntry& entry = tables_->trees_[tree.value];
  if (entry.valid) {
    return "tree " + number(tree.value) + " is there twice";
  }
  MulticastEntry wanted{.children = children,
                        .wait_count = wait_count,
                        .parent = parent,
                        .timer = timers_.choose(wait_count),
                        .valid = true,
                        .in_switch = demand.in_switch,
                        .one_behind_each = wait_count == static_cast<ContributionCount>(
                                                             children.size() + demand.in_switch)};
  std::string problem = demand.in_switch ? problem_with_in_switch(wait_count) : std::string();
  if (problem.empty()) {
    problem = problem_with_slots(wanted, demand);
  }
  if (problem.empty()) {
    problem = slots_.add(tree, demand);
  }
  if (!problem.empty()) {
    return "tree " + number(tree.value) + ": " + problem;
  }
  if (demand.any()) {
    wanted.slots_log2 = static_cast<std::uint8_t>(std::countr_zero(demand.slots)) & 7U;
    slots_changed_ = true;
  }
  entry = wanted;
  ++tables_->tree_count_;
  return {};
}

std::string TablesBuilder::problem_with_slots(const MulticastEntry& entry,
                                              const SlotDemand& demand) const {
  if (!demand.any()) {
    return {};
  }
  if (entry.wait_count == 0) {
    return "an ordinary multicast has no wide reduction frames; give it a wait count, or no "
           "payload";
  }
  PortSet ports = entry.children;
  ports.insert(entry.parent);
  std::string problem;
  ports.for_each([&](PortNumber port) {
    const std::uint32_t longest = tables_->port(port).longest_frame;
    if (problem.empty() && demand.payload_bytes + wire::wide_header_bytes > longest) {
      problem = "a payload of " + number(demand.payload_bytes) + " bytes makes frames of " +
                number(demand.payload_bytes + wire::wide_header_bytes) + ", and port " +
                number(port.value) + " takes frames of at most " + number(longest) +
                "; give at most " +
                number(wire::wide_payload_limit(longest - wire::ethernet_header_bytes)) +
                ", or raise longest_frame";
    }
  });
  return problem;
}

void TablesBuilder::keep_slots_of(const Tables& before) {
  slots_.forget_places();
  for (std::size_t t = 0; t < max_trees && before.has_slots(); ++t) {
    const TreeNumber tree{static_cast<std::uint16_t>(t)};
    slots_.keep(tree, before.slot_place(tree));
  }
  slots_changed_ = true;
}

void TablesBuilder::deal_slots() {
  tables_->slot_places_ = Tables::no_slot_places();
  tables_->slot_lines_ = 0;
  tables_->keys_ = reduction_keys;
  if (slots_.size() == 0) {
    return;
  }
  slots_.deal();
  auto places = std::make_shared<Tables::SlotPlaces>();
  for (std::size_t t = 0; t < max_trees; ++t) {
    SlotPlace& place = (*places)[t];
    place = slots_.place(TreeNumber{static_cast<std::uint16_t>(t)});
    tables_->slot_lines_ = std::max(tables_->slot_lines_, place.first_line + place.lines());
    if (tables_->trees_[t].has_upper_ids()) {
      tables_->keys_ = reduction_keys + std::bit_ceil(t + 1) * upper_ids;
    }
  }
  tables_->slot_places_ = std::move(places);
}

std::string TablesBuilder::set_shared(TreeNumber tree, bool shared) {
  MulticastEntry& entry = tables_->trees_[tree.value];
  if (std::string problem = shared ? problem_with_shared(entry.wait_count) : std::string();
      !problem.empty()) {
    return "tree " + number(tree.value) + ": " + problem;
  }
  entry.shared = shared;
  return {};
}

void TablesBuilder::remove_tree(TreeNumber tree) {
  if (tree.value >= max_trees) {
    return;
  }
  const MulticastEntry was = std::exchange(tables_->trees_[tree.value], {});
  if (was.valid) {
    --tables_->tree_count_;
  }
  if (was.has_place()) {
    slots_.remove(tree);
    slots_changed_ = true;
  }
}

std::string TablesBuilder::add_route(Nid nid, PortNumber port) {
  const std::string name = "the route to NID " + number(nid.value);
  if (!wire::is_valid_nid(nid)) {
    return name + " leads nowhere: a NID has 20 bits that do not begin with nine ones";
  }
  if (port.value >= tables_->ports_.size()) {
    return name + ": port " + number(port.value) +
           " does not exist: " + ports_there_are(tables_->ports_.size());
  }
  if (tables_->place(nid).is_by_file()) {
    return name + " is there twice";
  }
  own_places()[nid.value] = Place::by_file(port);
  return {};
}

void TablesBuilder::set_routes(std::shared_ptr<const forwarding_table::Routes> routes) {
  const bool had_some = tables_->routes_ != nullptr;
  tables_->routes_ = std::move(routes);
  if (!had_some && tables_->routes_ == nullptr) {
    return;
  }
  Tables::Places& places = own_places();
  for (Place& place : places) {
    if (!place.is_by_file()) {
      place = Place();
    }
  }
  if (tables_->routes_ == nullptr) {
    return;
  }
  const forwarding_table::Routes& given = *tables_->routes_;
  const auto set = [&](std::uint32_t nid, Place place) {
    if (!places[nid].is_by_file()) {
      places[nid] = place;
    }
  };
  for (const forwarding_table::HostRun& run : *given.hosts) {
    if (run.destination < given.table.destinations) {
      for (std::uint32_t i = 0; i < run.count; ++i) {
        set(run.first_nid + i, Place::at_switch(run.destination));
      }
    }
  }
  for (const forwarding_table::LocalHost& host : given.local) {
    set(host.nid.value, Place::local(PortNumber{static_cast<std::uint8_t>(host.port)}));
  }
}

Tables::Places& TablesBuilder::own_places() {
  if (places_ == nullptr) {
    // Another snapshot may share the current ones.
    places_ = std::make_shared<Tables::Places>(*tables_->places_);
    tables_->places_ = places_;
  }
  return *places_;
}

void TablesBuilder::set_vnis(PortNumber port, std::shared_ptr<const VniSet> vnis) {
  tables_->ports_.at(port.value).vnis = std::move(vnis);
}

void TablesBuilder::set_guard(PortNumber port, std::optional<Nid> nid) {
  tables_->ports_.at(port.value).nid = nid;
}

/// Shared and never written, so that it costs no memory, and needs no null check.
std::shared_ptr<const Tables::Places> Tables::no_places() {
  static Places nowhere;
  return {std::shared_ptr<void>(), &nowhere};
}

std::shared_ptr<const Tables::SlotPlaces> Tables::no_slot_places() {
  static constexpr SlotPlaces none{};
  return {std::shared_ptr<void>(), &none};
}

bool Tables::any_counts_ports() const {
  return std::ranges::any_of(ports_, [](const PortPolicy& p) { return p.nid.has_value(); }) ||
         std::ranges::any_of(trees_, &MulticastEntry::one_behind_each) || any_in_switch_;
}

std::shared_ptr<const Tables> TablesBuilder::build(std::uint64_t version) {
  tables_->version_ = version;
  tables_->any_in_switch_ = std::ranges::any_of(
      tables_->trees_, [](const MulticastEntry& entry) { return entry.in_switch; });
  tables_->counts_ports_ = tables_->any_counts_ports();
  if (std::exchange(slots_changed_, false)) {
    deal_slots();
  }
  slots_ = SlotDealer(wide_memory_);
  places_.reset();
  return std::exchange(tables_, std::make_shared<Tables>());
}

} // namespace tributary::core
