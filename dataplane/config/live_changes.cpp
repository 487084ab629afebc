#include "dataplane/config/live_changes.hpp"

#include "lib/configuration/findings.hpp"

#include <algorithm>
#include <map>

namespace tributary::config {

using configuration::Findings;

namespace {

template <typename T> const T* find_by_name(const std::vector<T>& all, const std::string& name) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const T& x) { return x.name == name; });
  return it == all.end() ? nullptr : &*it;
}

/// Translates port numbers of one version of a switch into those of the running one.
class PortTranslation {
public:
  PortTranslation(const Switch& running, const Switch& wanted, Findings& findings)
      : running_(running), wanted_(wanted), findings_(findings) {}

  PortNumber operator()(PortNumber port, int line, const char* key) const {
    const std::string& name = wanted_.ports[port.value].name;
    const auto it = std::find_if(running_.ports.begin(), running_.ports.end(),
                                 [&](const Port& p) { return p.name == name; });
    if (it == running_.ports.end()) {
      findings_.add(line, key,
                    "uses port \"{}\", which the running switch \"{}\" does not have; a new port "
                    "needs a restart",
                    name, running_.name);
      return no_port;
    }
    return PortNumber{static_cast<std::uint8_t>(it - running_.ports.begin())};
  }

private:
  const Switch& running_;
  const Switch& wanted_;
  Findings& findings_;
};

struct Count {
  int added = 0, changed = 0, removed = 0;
  [[nodiscard]] bool any() const { return added + changed + removed > 0; }
};

/// Compares two lists by the number that identifies an element.
template <typename T, typename Number, typename Same>
Count count_changes(const std::vector<T>& before, const std::vector<T>& after, Number number,
                    Same same) {
  std::map<std::uint32_t, const T*> old;
  for (const T& t : before) {
    old[number(t)] = &t;
  }
  Count count;
  for (const T& t : after) {
    const auto it = old.find(number(t));
    if (it == old.end()) {
      ++count.added;
      continue;
    }
    count.changed += same(*it->second, t) ? 0 : 1;
    old.erase(it);
  }
  count.removed = static_cast<int>(old.size());
  return count;
}

bool same_guard(const core::PortPolicy& a, const core::PortPolicy& b) {
  const bool same_vnis =
      (a.vnis == nullptr) == (b.vnis == nullptr) && (a.vnis == nullptr || *a.vnis == *b.vnis);
  return same_vnis && a.nid == b.nid && a.verify_checksum == b.verify_checksum;
}

LiveChanges::PerSwitch compare(const Switch& before, const Switch& after) {
  const Count trees = count_changes(
      before.trees, after.trees, [](const Tree& t) { return std::uint32_t{t.number.value}; },
      [](const Tree& a, const Tree& b) { return a.acts_as(b); });
  const Count routes = count_changes(
      before.routes, after.routes, [](const Route& r) { return r.nid.value; },
      [](const Route& a, const Route& b) { return a.port == b.port; });
  int guards = 0;
  for (std::size_t i = 0; i < before.ports.size(); ++i) {
    guards += same_guard(before.ports[i].policy, after.ports[i].policy) ? 0 : 1;
  }
  return {trees.any() || routes.any() || guards > 0,
          fmt::format("trees {} added, {} changed, {} removed; routes {} added, {} changed, "
                      "{} removed; {} port guards changed",
                      trees.added, trees.changed, trees.removed, routes.added, routes.changed,
                      routes.removed, guards)};
}

/// `sw` is the running switch, and receives the live keys of `wanted`.
void take_over(Switch& sw, const Switch& wanted, Findings& findings) {
  const PortTranslation translate(sw, wanted, findings);
  std::vector<Tree> trees;
  for (const Tree& tree : wanted.trees) {
    Tree& mine = trees.emplace_back(tree);
    mine.parent = translate(tree.parent, tree.line, "switch.tree.parent");
    mine.children = PortSet();
    tree.children.for_each([&](PortNumber child) {
      mine.children.insert(translate(child, tree.line, "switch.tree.children"));
    });
  }
  std::vector<Route> routes;
  for (const Route& route : wanted.routes) {
    routes.push_back(
        {route.nid, translate(route.port, route.line, "switch.route.port"), route.line});
  }
  sw.trees = std::move(trees);
  sw.routes = std::move(routes);
  for (Port& port : sw.ports) {
    if (const Port* other = find_by_name(wanted.ports, port.name)) {
      port.policy.nid = other->policy.nid;
      port.policy.vnis = other->policy.vnis;
      port.policy.verify_checksum = other->policy.verify_checksum;
    }
  }
}

} // namespace

LiveChanges plan_live_changes(const Parsed& running, const Parsed& wanted) {
  LiveChanges changes{.config = running.config,
                      .switches = {},
                      .ignored =
                          configuration::restart_differences(running.document, wanted.document)};
  changes.config.process.log_level = wanted.config.process.log_level;
  Findings findings;
  for (Switch& sw : changes.config.switches) {
    const Switch before = sw;
    if (const Switch* other = find_by_name(wanted.config.switches, sw.name)) {
      take_over(sw, *other, findings);
    }
    changes.switches.push_back(compare(before, sw));
  }
  findings.throw_if_any(wanted.config.file);
  return changes;
}

} // namespace tributary::config
