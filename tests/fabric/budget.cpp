#include "tests/fabric/budget.hpp"

#include "tests/fabric/describe.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::fabric {

std::uint64_t& Budget::frames(LinkIndex link, const LinkEnd& from) {
  return topology_.links()[link].ends[0] == from ? links_[link].first : links_[link].second;
}

void Budget::add(const Group& group, const std::vector<TreePart>& tree, bool merged) {
  const GroupSetup& setup = group.setup();
  const bool native = setup.parameters.dialect == collective::Dialect::native;
  const std::uint64_t pieces = setup.pieces + (native ? 1 : 0);
  const std::uint64_t ids = std::min<std::uint64_t>(pieces, reductions_per_tree);
  const std::uint64_t down = (native ? 1 : 2) * ids + pieces + (setup.parameters.armed ? ids : 0);
  const std::uint64_t up = pieces + (native ? 1 : 0);

  const HostIndex root = group.host(setup.root_rank);
  frames(topology_.link_of(root), {LinkEnd::Kind::host, root, {}}) += down;
  for (const TreePart& part : tree) {
    const auto& ports = topology_.ports(part.at);
    frames(ports[part.parent.value], {LinkEnd::Kind::in_switch, part.at, part.parent}) +=
        up * (merged ? 1 : part.wait_count);
    part.children.for_each([&](PortNumber child) {
      frames(ports[child.value], {LinkEnd::Kind::in_switch, part.at, child}) += down;
      const LinkEnd& below = topology_.neighbour(part.at, child);
      if (below.kind == LinkEnd::Kind::host) {
        frames(ports[child.value], below) += up;
      }
    });
  }
}

std::string Budget::compare(const Fabric& fabric) const {
  for (LinkIndex l = 0; l < links_.size(); ++l) {
    const auto& ends = topology_.links()[l].ends;
    for (const std::uint32_t direction : {0U, 1U}) {
      const std::uint64_t wanted = direction == 0 ? links_[l].first : links_[l].second;
      const std::uint64_t carried = fabric.carried(l, direction);
      if (carried != wanted) {
        return fmt::format("{} -> {} carried {} frames, and the protocol needs {}",
                           describe(ends[direction]), describe(ends[1 - direction]), carried,
                           wanted);
      }
    }
  }
  return {};
}

} // namespace tributary::fabric
