#include "endpoint/library/host_contexts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tributary::library {

using contexts::Context;
using contexts::NodeSet;
using contexts::NodeTable;
using contexts::Partition;
using contexts::TreeName;

namespace {

/// Limit for all members to ask for a tree, and for an unreachable manager.
constexpr std::chrono::seconds longest_wait{60};
/// With fewer places free in the table, unused trees are left.
constexpr std::uint32_t least_trees_free = 16;

} // namespace

NodeTable& HostContexts::table() {
  if (!table_) {
    table_ = std::make_unique<NodeTable>();
  }
  return *table_;
}

void HostContexts::add(const std::shared_ptr<SharedTree>& tree) {
  name_tree(*tree);
  trees_.push_back(tree);
}

void HostContexts::remove(const SharedTree& tree) {
  ended(tree);
  std::erase_if(trees_, [&](const auto& each) { return each.get() == &tree; });
}

void HostContexts::retire_if_full() {
  if (table().trees() + least_trees_free <= NodeTable::most_trees && !retires_) {
    return;
  }
  retires_ = false;
  if (const auto oldest = table().least_recently_used(); oldest && table().retire(*oldest)) {
    table().ended(*oldest);
  }
}

void HostContexts::drop_unused(MembershipAgent& agent) {
  std::erase_if(trees_, [&](const std::shared_ptr<SharedTree>& each) {
    const bool goes = is_gone(*each) && each.use_count() == 1;
    if (goes) {
      agent.leave_later(each->named->ticket);
    }
    return goes;
  });
}

std::shared_ptr<SharedTree> HostContexts::find(TreeName name) const {
  const auto tree = std::ranges::find(trees_, name, [](const auto& each) { return each->name; });
  return tree == trees_.end() ? nullptr : *tree;
}

SharedTree* HostContexts::find(MembershipAgent::Ticket ticket) const {
  const auto tree = std::ranges::find_if(
      trees_, [&](const auto& each) { return each->named && each->named->ticket == ticket; });
  return tree == trees_.end() ? nullptr : tree->get();
}

std::optional<Context> HostContexts::enter(const SharedTree& tree) {
  const auto pool = table().open(tree.nodes);
  const contexts::TreeFacts facts = facts_of(tree.parameters);
  const Context context{tree.nodes, tree.name, Partition(facts.slots).ids_of(Partition::half),
                        tree.parameters.cookie};
  // A tree that is asked for gets an entry only when this one has its.
  constexpr std::uint32_t entry = 0;
  if (!pool || !table().assign(*pool, entry, tree.name, process) ||
      !table().ready(tree.name, facts) ||
      !table().take(*pool, entry, Partition::half, process, context.cookie)) {
    return std::nullopt;
  }
  return context;
}

void HostContexts::ask_for(std::span<const contexts::Outcome::Wanted> wanted,
                           const SharedTree& like, MembershipAgent* agent) {
  if (!wanted.empty() && agent != nullptr) {
    drop_unused(*agent);
  }
  for (const auto& [name, entry] : wanted) {
    if (!like.named || agent == nullptr) {
      refusal_ = "further trees need a fabric manager, and this group was joined without one";
      table().refused(name);
      continue;
    }
    SharedTree tree = like;
    tree.name = name;
    tree.is_joined = false;
    tree.waiting_long = 0;
    tree.listens = false;
    tree.is_kept = false;
    tree.moves = 0;
    NamedGroup& named = *tree.named;
    named.request.group = fmt::format("ctx-{:016x}", name.value);
    named.request.job = like.named->membership.job;
    named.request.root_rank.reset(); // the manager chooses, as it knows the hosts' loads
    named.ticket = 0;
    named.news = {};
    named.error.clear();
    agent->ask(name.value, named.settings, named.request, longest_wait);
    asked_.push_back({name, std::move(tree)});
  }
}

bool HostContexts::take(
    const MembershipAgent::Answer& answer,
    const std::function<collective::GroupParameters(const NamedGroup&)>& parameters) {
  const TreeName name{answer.id};
  const auto asked = std::ranges::find(asked_, name, &Asked::name);
  if (asked == asked_.end()) {
    return false;
  }
  auto tree = std::make_shared<SharedTree>(std::move(asked->tree));
  asked_.erase(asked);
  std::string fault = answer.error;
  if (answer.ticket != 0) {
    tree->named->ticket = answer.ticket;
    tree->named->membership = answer.membership;
    tree->parameters = parameters(*tree->named);
    fault = collective::fault_of(tree->parameters);
    if (fault.empty() && table().ready(name, facts_of(tree->parameters))) {
      trees_.push_back(std::move(tree));
      return true;
    }
  }
  refusal_ = fault;
  retires_ = true;
  table().refused(name);
  return false;
}

bool HostContexts::awaits_tree(NodeSet nodes) const {
  return std::ranges::any_of(asked_, [&](const Asked& each) { return each.tree.nodes == nodes; });
}

void HostContexts::release(const Context& context) {
  if (table_) {
    table_->release(process, context);
  }
}

void HostContexts::moved(const SharedTree& tree) {
  if (table_) {
    table_->moved(tree.name, facts_of(tree.parameters));
  }
}

void HostContexts::ended(const SharedTree& tree) {
  if (table_) {
    table_->ended(tree.name);
  }
}

std::vector<NamedGroup> HostContexts::forget(NodeSet nodes, MembershipAgent* agent) {
  std::vector<NamedGroup> left;
  std::erase_if(asked_, [&](const Asked& each) {
    if (each.tree.nodes != nodes) {
      return false;
    }
    agent->withdraw(each.name.value);
    ended(each.tree);
    return true;
  });
  std::erase_if(trees_, [&](const auto& each) {
    if (each->nodes != nodes) {
      return false;
    }
    ended(*each);
    if (each->named && !each->is_joined) {
      left.push_back(*each->named);
    }
    return true;
  });
  return left;
}

std::uint64_t HostContexts::further_trees() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(trees_, [](const auto& each) { return !each->is_joined; }));
}

std::uint64_t HostContexts::in_use_on(const SharedTree& tree) const {
  std::uint64_t count = 0;
  if (table_) {
    table_->for_each_use([&](const contexts::Tree& on, const contexts::Use&) {
      count += on.name == tree.name ? 1 : 0;
    });
  }
  return count;
}

} // namespace tributary::library
