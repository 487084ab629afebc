#include "controlplane/multicast/tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tributary::multicast {

namespace {

/// One end of a link of the tree, seen from the switch it is plugged into.
struct End {
  SwitchId at;
  SwitchId to;
  topology::Port port = 0;
  topology::Port port_there = 0;
};

/// Switches of one tree, numbered densely in the order of their ids.
class LocalNumbers {
public:
  explicit LocalNumbers(std::vector<SwitchId> switches) : switches_(std::move(switches)) {
    std::sort(switches_.begin(), switches_.end());
    switches_.erase(std::unique(switches_.begin(), switches_.end()), switches_.end());
  }
  [[nodiscard]] std::size_t size() const { return switches_.size(); }
  [[nodiscard]] std::size_t of(SwitchId s) const {
    return static_cast<std::size_t>(std::lower_bound(switches_.begin(), switches_.end(), s) -
                                    switches_.begin());
  }

private:
  std::vector<SwitchId> switches_;
};

std::vector<HostId> each_once(std::span<const HostId> hosts) {
  std::vector<HostId> sorted(hosts.begin(), hosts.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

std::vector<End> ends_by_switch(const Graph& graph, const Tree& tree) {
  std::vector<End> ends;
  ends.reserve(2 * tree.links.size());
  for (const LinkId c : tree.links) {
    const auto& [a, b] = graph[c].ends;
    ends.push_back({a.at, b.at, a.port, b.port});
    ends.push_back({b.at, a.at, b.port, a.port});
  }
  std::sort(ends.begin(), ends.end(), [](const End& x, const End& y) {
    return std::pair(x.at, x.port) < std::pair(y.at, y.port);
  });
  return ends;
}

} // namespace

std::vector<TreePart> orient(const Graph& graph, const Tree& tree, std::span<const HostId> members,
                             HostId root) {
  const std::vector<HostId> hosts = each_once(members);
  if (!std::binary_search(hosts.begin(), hosts.end(), root)) {
    throw std::invalid_argument(fmt::format(
        "host \"{}\" cannot be the root of a group that it is not in", graph[root].name));
  }
  const std::vector<End> ends = ends_by_switch(graph, tree);
  std::vector<SwitchId> touched;
  touched.reserve(ends.size() + hosts.size());
  for (const End& end : ends) {
    touched.push_back(end.at);
  }
  for (const HostId h : hosts) {
    touched.push_back(graph[h].at.at);
  }
  const LocalNumbers numbers(std::move(touched));

  std::vector<std::size_t> first_end(numbers.size() + 1, 0);
  for (const End& end : ends) {
    ++first_end[numbers.of(end.at) + 1];
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    first_end[i + 1] += first_end[i];
  }

  // From the root's switch outwards: a switch's part follows its parent's.
  constexpr std::size_t unseen = ~std::size_t{0};
  struct Parent {
    std::size_t part;
    topology::Port port; ///< port of the parent, towards this switch
  };
  std::vector<TreePart> parts;
  std::vector<Parent> parents;
  std::vector<std::size_t> part_of(numbers.size(), unseen);
  parts.reserve(numbers.size());
  parents.reserve(numbers.size());
  const auto begin_part = [&](TreePart part, Parent parent) {
    std::size_t& mine = part_of[numbers.of(part.at)];
    if (mine != unseen) {
      throw std::invalid_argument(
          fmt::format("the tree closes a loop at switch \"{}\"", graph[part.at].name));
    }
    mine = parts.size();
    parts.push_back(std::move(part));
    parents.push_back(parent);
  };
  begin_part({graph[root].at.at, graph[root].at.port, {}, 0, 0}, {0, 0});
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::size_t number = numbers.of(parts[p].at);
    for (std::size_t e = first_end[number]; e < first_end[number + 1]; ++e) {
      if (ends[e].port != parts[p].parent) {
        begin_part({ends[e].to, ends[e].port_there, {}, 0, parts[p].depth + 1}, {p, ends[e].port});
      }
    }
  }

  for (const HostId h : hosts) {
    const std::size_t p = part_of[numbers.of(graph[h].at.at)];
    if (p == unseen) {
      throw std::invalid_argument(
          fmt::format("the tree does not reach host \"{}\"", graph[h].name));
    }
    if (h != root) {
      parts[p].children.push_back(graph[h].at.port);
      ++parts[p].wait_count;
    }
  }
  // In reverse order, every switch is complete before its parent counts it.
  for (std::size_t p = parts.size(); p-- > 0;) {
    std::sort(parts[p].children.begin(), parts[p].children.end());
    if (p > 0 && parts[p].wait_count > 0) {
      TreePart& parent = parts[parents[p].part];
      parent.children.push_back(parents[p].port);
      parent.wait_count += parts[p].wait_count;
    }
  }
  const auto memberless = [](const TreePart& part) {
    return part.depth > 0 && part.wait_count == 0;
  };
  parts.erase(std::remove_if(parts.begin(), parts.end(), memberless), parts.end());
  return parts;
}

} // namespace tributary::multicast
