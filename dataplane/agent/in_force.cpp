#include "dataplane/agent/in_force.hpp"

#include "dataplane/config/build_tables.hpp"
#include "dataplane/forwarding_table/messages/codec.hpp"

#include "tributary/wire/fabric_address.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tributary::agent {
namespace {

constexpr std::size_t vni_count = core::VniSet().size();

std::bitset<max_trees> numbers_of(const std::vector<config::Tree>& trees) {
  std::bitset<max_trees> numbers;
  for (const config::Tree& tree : trees) {
    numbers.set(tree.number.value);
  }
  return numbers;
}

bool same_trees(std::vector<config::Tree> a, std::vector<config::Tree> b) {
  std::ranges::sort(a, {}, &config::Tree::number);
  std::ranges::sort(b, {}, &config::Tree::number);
  return std::ranges::equal(
      a, b, [](const config::Tree& x, const config::Tree& y) { return x.acts_as(y); });
}

TreeNumber number_of(std::uint32_t checked) {
  return TreeNumber{static_cast<std::uint16_t>(checked)};
}

PortNumber port_of(std::uint32_t checked) { return PortNumber{static_cast<std::uint8_t>(checked)}; }

core::SlotDemand demand_of(const control::Tree& tree) {
  return {.slots =
              tree.slots() == 0 ? static_cast<std::uint32_t>(reductions_per_tree) : tree.slots(),
          .payload_bytes = tree.payload(),
          .half_floats = tree.half_floats(),
          .in_switch = tree.in_switch_results()};
}

} // namespace

InForce::InForce(config::Switch file)
    : file_(std::move(file)), of_file_(numbers_of(file_.trees)), permitted_(file_.ports.size()) {
  std::vector<configuration::Diagnostic> findings;
  if (config::build_tables(file_, 1, findings) == nullptr) {
    throw std::invalid_argument(
        fmt::format("switch \"{}\": {}", file_.name, findings.front().text));
  }
}

std::string InForce::problem_with(const control::Change& change) const {
  switch (change.kind_case()) {
  case control::Change::kSetTree: {
    const control::Tree& tree = change.set_tree();
    std::string problem =
        core::problem_with_tree(file_.ports.size(), tree.number(), tree.wait_count(), tree.parent(),
                                PortSet(tree.children()));
    if (problem.empty() && of_file_.test(tree.number())) {
      problem = fmt::format("tree {} is in the switch's own file, and only the file changes it",
                            tree.number());
    }
    if (problem.empty() && tree.in_switch_results()) {
      problem = core::problem_with_in_switch(tree.wait_count());
      problem = problem.empty() ? problem : fmt::format("tree {}: {}", tree.number(), problem);
    }
    if (problem.empty() && tree.shared()) {
      problem = core::problem_with_shared(tree.wait_count());
      problem = problem.empty() ? problem : fmt::format("tree {}: {}", tree.number(), problem);
    }
    return problem.empty() ? problem_with_frames(tree) : problem;
  }
  case control::Change::kRemoveTree:
    if (change.remove_tree() >= max_trees) {
      return fmt::format("tree {} does not exist: trees are numbered 0 to {}", change.remove_tree(),
                         max_trees - 1);
    }
    if (of_file_.test(change.remove_tree())) {
      return fmt::format("tree {} is in the switch's own file, and only the file removes it",
                         change.remove_tree());
    }
    return {};
  case control::Change::kPermit: {
    std::string problem = problem_with(change.permit());
    return problem.empty() ? problem_with_guard(change.permit()) : problem;
  }
  case control::Change::kRevoke: return problem_with(change.revoke());
  case control::Change::kSetRoutes: {
    forwarding_table::Routes routes;
    return forwarding_table::messages::decode(change.set_routes(), file_.ports.size(), routes);
  }
  case control::Change::kRemoveRoutes: return {};
  case control::Change::KIND_NOT_SET: break;
  }
  return "it is of a kind that this switch does not know; a newer one may";
}

std::uint32_t InForce::longest_wide_payload() const {
  if (file_.settings.wide_memory == 0 || file_.ports.empty()) {
    return 0;
  }
  std::uint32_t longest = ~std::uint32_t{0};
  for (const config::Port& port : file_.ports) {
    longest = std::min(longest, port.policy.longest_frame);
  }
  constexpr auto header = static_cast<std::uint32_t>(wire::ethernet_header_bytes);
  return static_cast<std::uint32_t>(wire::wide_payload_limit(longest - std::min(longest, header)));
}

std::string InForce::problem_with_frames(const control::Tree& tree) const {
  // A tree that alone exceeds an unlimited memory has invalid numbers itself.
  core::SlotDealer alone(~std::uint64_t{0});
  const core::SlotDemand demand = demand_of(tree);
  std::string problem = alone.add(number_of(tree.number()), demand);
  const std::uint32_t longest = longest_wide_payload();
  if (problem.empty() && demand.payload_bytes > longest) {
    problem = fmt::format("a payload of {} bytes makes frames that are too long: at most {} go "
                          "through, by longest_frame",
                          demand.payload_bytes, longest);
  }
  if (problem.empty() && demand.any() && tree.wait_count() == 0) {
    problem = "wide frames have no effect on a tree without contributors";
  }
  return problem.empty() ? problem : fmt::format("tree {}: {}", tree.number(), problem);
}

std::string InForce::lack_of_room(const control::Prepare& wanted,
                                  const std::map<std::uint64_t, control::Prepare>& others) const {
  const auto wants_any = [](const control::Change& change) {
    return change.has_set_tree() && demand_of(change.set_tree()).any();
  };
  if (std::ranges::none_of(wanted.changes(), wants_any)) {
    return {};
  }
  // What each tree holds or may hold; the transaction's own trees are placed after all others.
  std::map<TreeNumber, core::SlotDemand> demands;
  for (const config::Tree& tree : file_.trees) {
    demands[tree.number] = tree.slots;
  }
  for (const auto& [number, tree] : trees_) {
    demands[number] = tree.slots;
  }
  std::map<TreeNumber, core::SlotDemand> own;
  for (const control::Change& change : wanted.changes()) {
    if (change.has_set_tree()) {
      own[number_of(change.set_tree().number())] = demand_of(change.set_tree());
    } else if (change.has_remove_tree()) {
      own[number_of(change.remove_tree())] = {};
    }
  }
  for (const auto& [transaction, prepared] : others) {
    for (const control::Change& change : prepared.changes()) {
      if (change.has_set_tree()) {
        core::SlotDemand& has = demands[number_of(change.set_tree().number())];
        const core::SlotDemand may_have = demand_of(change.set_tree());
        has = may_have.bytes() > has.bytes() ? may_have : has;
      }
    }
  }
  core::SlotDealer dealer(file_.settings.wide_memory);
  for (const auto& [number, demand] : demands) {
    if (!own.contains(number)) {
      static_cast<void>(dealer.add(number, demand));
    }
  }
  for (const auto& [number, demand] : own) {
    if (std::string problem = dealer.add(number, demand); !problem.empty()) {
      return fmt::format("tree {}: {}", number.value, problem);
    }
  }
  return {};
}

std::string InForce::problem_with(const control::Permission& permission) const {
  if (permission.port() >= file_.ports.size()) {
    return fmt::format("VNI {} at port {}: the port does not exist: the switch has ports 0 to {}",
                       permission.vni(), permission.port(), file_.ports.size() - 1);
  }
  if (permission.vni() >= vni_count) {
    return fmt::format("VNI {} at port {}: the VNI does not exist: VNIs are numbered 0 to {}",
                       permission.vni(), permission.port(), vni_count - 1);
  }
  return {};
}

std::string InForce::problem_with_guard(const control::Permission& permission) const {
  if (!permission.has_nid()) {
    return {};
  }
  const Nid nid{permission.nid()};
  const auto whose = [&] { return fmt::format("NID {} at port {}", nid.value, permission.port()); };
  if (!wire::is_valid_nid(nid)) {
    return fmt::format("{}: it cannot be an address: it must have 20 bits that do not begin with "
                       "nine ones",
                       whose());
  }
  if (const auto guard = file_.ports[permission.port()].policy.nid; guard && *guard != nid) {
    return fmt::format("{}: the switch's own file says that the port is for NID {}", whose(),
                       guard->value);
  }
  return {};
}

void InForce::apply(const control::Change& change) {
  switch (change.kind_case()) {
  case control::Change::kSetTree: set_tree(change.set_tree()); break;
  case control::Change::kRemoveTree: {
    const TreeNumber number = number_of(change.remove_tree());
    if (trees_.erase(number) != 0) {
      changed_trees_.insert(number);
    }
    break;
  }
  case control::Change::kPermit: permit(change.permit()); break;
  case control::Change::kRevoke: revoke(change.revoke()); break;
  case control::Change::kSetRoutes: set_routes(change.set_routes()); break;
  case control::Change::kRemoveRoutes:
    changed_routes_ |= routes_ != nullptr;
    routes_.reset();
    break;
  case control::Change::KIND_NOT_SET: break;
  }
}

void InForce::set_tree(const control::Tree& tree) {
  const TreeNumber number = number_of(tree.number());
  const Tree wanted{tree.wait_count(), port_of(tree.parent()), PortSet(tree.children()),
                    demand_of(tree), tree.shared()};
  const auto [mine, is_new] = trees_.try_emplace(number);
  if (mine->second.shared != wanted.shared) {
    mine->second.shared = wanted.shared;
    changed_flags_.insert(number);
  }
  if (is_new || mine->second != wanted) {
    mine->second = wanted;
    changed_trees_.insert(number);
  }
}

void InForce::set_routes(const control::Routes& message) {
  auto wanted = std::make_shared<forwarding_table::Routes>();
  static_cast<void>(forwarding_table::messages::decode(message, file_.ports.size(), *wanted));
  const std::uint64_t digest = forwarding_table::digest(*wanted);
  // The same routes with another epoch are reported to the manager only.
  changed_routes_ |= routes_ == nullptr || digest != routes_digest_;
  routes_ = std::move(wanted);
  routes_digest_ = digest;
}

void InForce::permit(const control::Permission& permission) {
  const PortNumber port = port_of(permission.port());
  const Access before = access_of(port);
  const auto [place, is_new] =
      permitted_[port.value].try_emplace(static_cast<std::uint16_t>(permission.vni()));
  keep_out(port, permission.vni(), false);
  place->second = {permission.has_nid() ? std::optional(Nid{permission.nid()}) : std::nullopt,
                   permission.closes()};
  const Access now = access_of(port);
  if ((is_new && now.lists) || now != before) {
    changed_ports_.insert(port);
  }
}

void InForce::revoke(const control::Permission& permission) {
  const PortNumber port = port_of(permission.port());
  const Access before = access_of(port);
  const auto revoked = permitted_[port.value].extract(static_cast<std::uint16_t>(permission.vni()));
  if (revoked.empty()) {
    return;
  }
  // Its job is over, but processes of it may still run. Where the file lists VNIs, the list
  // suffices.
  keep_out(port, permission.vni(),
           revoked.mapped().closes && file_.ports[port.value].policy.vnis == nullptr);
  if (before.lists || access_of(port) != before) {
    changed_ports_.insert(port);
  }
}

void InForce::keep_out(PortNumber port, std::uint32_t vni, bool out) {
  if (out || kept_out_.contains(port)) {
    kept_out_[port].set(vni, out);
  }
}

std::string InForce::problem_with(const config::Switch& file) const {
  if (file.ports.size() != file_.ports.size()) {
    return fmt::format("it has {} ports, the running switch has {}; that needs a restart",
                       file.ports.size(), file_.ports.size());
  }
  for (const config::Tree& tree : file.trees) {
    if (trees_.contains(tree.number)) {
      return fmt::format("tree {} is in use by the fabric manager; give the file's another number",
                         tree.number.value);
    }
  }
  std::vector<configuration::Diagnostic> findings;
  static_cast<void>(config::build_tables(file, 1, findings));
  if (!findings.empty()) {
    return findings.front().text;
  }
  core::SlotDealer dealer(file.settings.wide_memory);
  for (const config::Tree& tree : file.trees) {
    static_cast<void>(dealer.add(tree.number, tree.slots)); // the tables accepted the same demand
  }
  for (const auto& [number, tree] : trees_) {
    if (std::string problem = dealer.add(number, tree.slots); !problem.empty()) {
      return fmt::format("its trees would take the place of tree {} of the fabric manager: {}",
                         number.value, problem);
    }
  }
  return {};
}

bool InForce::replace_file(config::Switch file) {
  const bool others = !same_trees(file_.trees, file.trees);
  file_ = std::move(file);
  of_file_ = numbers_of(file_.trees);
  rebuild_ = true;
  return others;
}

std::optional<Nid> InForce::permitted_nid(PortNumber port) const {
  // NIDs differ while the trees of a host that has moved follow it: the lowest VNI's wins.
  for (const auto& [vni, permitted] : permitted_[port.value]) {
    if (permitted.nid) {
      return permitted.nid;
    }
  }
  return std::nullopt;
}

bool InForce::is_closed(PortNumber port) const {
  return std::ranges::any_of(permitted_[port.value],
                             [](const auto& one) { return one.second.closes; });
}

InForce::Access InForce::access_of(PortNumber port) const {
  return {.guard = guard_of(port),
          .lists = file_.ports[port.value].policy.vnis != nullptr || is_closed(port) ||
                   kept_out_.contains(port)};
}

std::optional<Nid> InForce::guard_of(PortNumber port) const {
  const std::optional<Nid> of_file = file_.ports[port.value].policy.nid;
  return of_file ? of_file : permitted_nid(port);
}

std::shared_ptr<const core::VniSet> InForce::vnis_of(PortNumber port) const {
  const auto& listed = file_.ports[port.value].policy.vnis;
  const auto& permitted = permitted_[port.value];
  if (listed == nullptr && !is_closed(port)) {
    const auto out = kept_out_.find(port);
    return out == kept_out_.end() || out->second.none()
               ? nullptr
               : std::make_shared<core::VniSet>(~out->second);
  }
  auto both = listed == nullptr ? std::make_shared<core::VniSet>()
                                : std::make_shared<core::VniSet>(*listed);
  for (const auto& [vni, given] : permitted) {
    both->set(vni);
  }
  return both;
}

std::shared_ptr<const core::Tables> InForce::make_snapshot() {
  newest_ = rebuild_ ? build_all(version() + 1) : build_changed(version() + 1);
  rebuild_ = false;
  changed_trees_.clear();
  changed_flags_.clear();
  changed_ports_ = {};
  changed_routes_ = false;
  return newest_;
}

void InForce::add_tree(core::TablesBuilder& builder, TreeNumber number, const Tree& tree) {
  static_cast<void>(
      builder.add_tree(number, tree.wait_count, tree.parent, tree.children, tree.slots));
  static_cast<void>(builder.set_shared(number, tree.shared));
}

std::shared_ptr<const core::Tables> InForce::build_all(std::uint64_t version) const {
  std::vector<configuration::Diagnostic> none;
  core::TablesBuilder builder(file_.settings.timers, *config::build_tables(file_, version, none),
                              file_.settings.wide_memory);
  for (const auto& [number, tree] : trees_) {
    add_tree(builder, number, tree);
  }
  PortSet::first(file_.ports.size()).for_each([&](PortNumber port) {
    builder.set_vnis(port, vnis_of(port));
    builder.set_guard(port, guard_of(port));
  });
  builder.set_routes(routes_);
  if (newest_ != nullptr) {
    builder.keep_slots_of(*newest_);
  }
  return builder.build(version);
}

std::shared_ptr<const core::Tables> InForce::build_changed(std::uint64_t version) const {
  core::TablesBuilder builder(file_.settings.timers, *newest_, file_.settings.wide_memory);
  for (const TreeNumber number : changed_trees_) { // first: it frees their room
    builder.remove_tree(number);
  }
  for (const TreeNumber number : changed_trees_) {
    if (const auto it = trees_.find(number); it != trees_.end()) {
      add_tree(builder, number, it->second);
    }
  }
  for (const TreeNumber number : changed_flags_) { // such a tree keeps the data that it holds
    if (const auto it = trees_.find(number); it != trees_.end()) {
      static_cast<void>(builder.set_shared(number, it->second.shared));
    }
  }
  changed_ports_.for_each([&](PortNumber port) {
    builder.set_vnis(port, vnis_of(port));
    builder.set_guard(port, guard_of(port));
  });
  if (changed_routes_) {
    builder.set_routes(routes_);
  }
  return builder.build(version);
}

control::InForce InForce::describe() const {
  control::InForce out;
  const auto add = [&](TreeNumber number, ContributionCount wait_count, PortNumber parent,
                       PortSet children, const core::SlotDemand& slots, bool shared,
                       bool from_file) {
    control::Tree& tree = *out.add_trees();
    tree.set_number(number.value);
    tree.set_wait_count(wait_count);
    tree.set_parent(parent.value);
    tree.set_children(children.bits());
    tree.set_from_file(from_file);
    if (slots.any()) {
      tree.set_slots(slots.slots);
      tree.set_payload(slots.payload_bytes);
      tree.set_half_floats(slots.half_floats);
    }
    tree.set_in_switch_results(slots.in_switch);
    tree.set_shared(shared);
  };
  for (const config::Tree& tree : file_.trees) {
    add(tree.number, tree.wait_count, tree.parent, tree.children, tree.slots, tree.shared, true);
  }
  for (const auto& [number, tree] : trees_) {
    add(number, tree.wait_count, tree.parent, tree.children, tree.slots, tree.shared, false);
  }
  for (std::size_t port = 0; port < permitted_.size(); ++port) {
    for (const auto& [vni, given] : permitted_[port]) {
      control::Permission& permission = *out.add_permissions();
      permission.set_port(static_cast<std::uint32_t>(port));
      permission.set_vni(vni);
      if (given.nid) {
        permission.set_nid(given.nid->value);
      }
      permission.set_closes(given.closes);
    }
  }
  if (routes_ != nullptr) {
    out.mutable_routes()->set_epoch(routes_->epoch);
    out.mutable_routes()->set_digest(routes_digest_);
  }
  return out;
}

std::size_t InForce::permission_count() const {
  std::size_t count = 0;
  for (const auto& vnis : permitted_) {
    count += vnis.size();
  }
  return count;
}

} // namespace tributary::agent
