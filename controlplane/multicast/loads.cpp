#include "controlplane/multicast/loads.hpp"

#include <algorithm>
#include <cassert>

namespace tributary::multicast {

Loads::Loads(const RoutingView& view) : view_(&view), changed_(remembered_changes) { rebind(view); }

void Loads::rebind(const RoutingView& view) {
  view_ = &view;
  const auto links_before = static_cast<std::uint32_t>(links_.size());
  links_.resize(view.link_count());
  rooted_.resize(view.switch_count());
  through_.resize(view.switch_count());
  seen_.resize(view.switch_count());
  count_at_.resize(std::max<std::size_t>(count_at_.size(), 1));
  count_at_[0] += view.link_count() - links_before;
}

void Loads::add(const Tree& tree) {
  ++rooted_[tree.root_switch.value];
  for_each_switch(tree, [this](SwitchId s) { ++through_[s.value]; });
  for (const LinkId c : tree.links) {
    move(c, links_[c.value] + 1);
  }
  total_ += tree.links.size();
}

void Loads::remove(const Tree& tree) {
  assert(rooted_[tree.root_switch.value] > 0);
  --rooted_[tree.root_switch.value];
  for_each_switch(tree, [this](SwitchId s) {
    assert(through_[s.value] > 0);
    --through_[s.value];
  });
  for (const LinkId c : tree.links) {
    assert(links_[c.value] > 0);
    move(c, links_[c.value] - 1);
  }
  total_ -= tree.links.size();
}

void Loads::clear() {
  for (LinkId c{0}; c.value < links_.size(); ++c.value) {
    if (links_[c.value] != 0) {
      move(c, 0); // recorded for followers of the changes
    }
  }
  std::ranges::fill(rooted_, 0);
  std::ranges::fill(through_, 0);
  total_ = 0;
}

template <typename Visit> void Loads::for_each_switch(const Tree& tree, Visit visit) {
  ++visits_;
  const auto once = [&](SwitchId s) {
    if (seen_[s.value] != visits_) {
      seen_[s.value] = visits_;
      visit(s);
    }
  };
  once(tree.root_switch);
  for (const LinkId c : tree.links) {
    for (const SwitchId s : view_->ends(c)) {
      once(s);
    }
  }
}

void Loads::move(LinkId c, std::uint32_t to) {
  --count_at_[links_[c.value]];
  links_[c.value] = to;
  changed_[changes_++ % remembered_changes] = c;
  if (to >= count_at_.size()) {
    count_at_.resize(to + 1);
  }
  ++count_at_[to];
  max_ = std::max(max_, to);
  while (max_ > 0 && count_at_[max_] == 0) {
    --max_;
  }
}

} // namespace tributary::multicast
