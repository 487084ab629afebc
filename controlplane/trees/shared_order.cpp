#include "controlplane/trees/shared_order.hpp"

#include "controlplane/trees/tree_kind.hpp"

#include <algorithm>
#include <memory>

namespace tributary::trees {

using transaction::Content;
using transaction::ContentPtr;
using transaction::Inventory;
using transaction::Part;
using transaction::Subject;

namespace {

bool has_ports_of(const Content& held, const Content& wanted) {
  const multicast::TreePart& a = part_of(held);
  const multicast::TreePart& b = part_of(wanted);
  return a.parent == b.parent && a.children == b.children;
}

/// Whether shared frames may leave the part's switch by ports that it is not to have.
bool may_stray(const Subject& subject, const Part& part, const Inventory& inventory) {
  const std::vector<const Content*> held = inventory.held(part.at, subject);
  return !inventory.is_heard(part.at) || std::ranges::any_of(held, [&](const Content* content) {
    return frames_of(*content).shared && !has_ports_of(*content, *part.content);
  });
}

} // namespace

bool may_share(const Subject& subject, std::span<const Part> wanted, topology::SwitchId at,
               const Inventory& inventory) {
  return std::ranges::none_of(wanted, [&](const Part& part) {
    return part.at != at && may_stray(subject, part, inventory);
  });
}

bool needs_two_steps(const Subject& subject, std::span<const Part> wanted,
                     const Inventory& inventory) {
  return std::ranges::any_of(wanted, [&](const Part& part) {
    return frames_of(*part.content).shared && may_stray(subject, part, inventory);
  });
}

ContentPtr not_shared(const ContentPtr& content) {
  records::WideFrames frames = frames_of(*content);
  if (!frames.shared) {
    return content;
  }
  frames.shared = false;
  return std::make_shared<TreeContent>(part_of(*content), frames);
}

} // namespace tributary::trees
