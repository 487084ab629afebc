#include "endpoint/contexts/node_table.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <type_traits>

namespace tributary::contexts {

// It is shared between processes, at different addresses, and outlives those that wrote it.
static_assert(std::is_trivially_copyable_v<NodeTable> && std::is_standard_layout_v<NodeTable>);
static_assert(std::is_trivially_destructible_v<NodeTable>);

namespace {

/// What was written before is in memory before what is written afterwards, as a process sees that
/// finds this one killed. (Between processors the caller's lock does that.)
void before_the_last_write() { std::atomic_signal_fence(std::memory_order_release); }

constexpr bool is_none(const AgreementId& agreement) { return agreement.process == ProcessId{}; }

} // namespace

bool Tree::is_used() const {
  return std::any_of(uses.begin(), uses.end(),
                     [](const Use& use) { return use.process != ProcessId{}; });
}

PartMask Tree::used_parts() const {
  PartMask parts = 0;
  for (const Use& use : uses) {
    parts |= use.process != ProcessId{} ? use.parts : 0;
  }
  return parts;
}

// ---- trees ----

bool NodeTable::is_in_place(const Tree& tree) const {
  return tree.state != TreeState::vacant &&
         pools_[tree.pool].trees[tree.entry] == 1 + (&tree - trees_.data());
}

std::size_t NodeTable::index_of(TreeName name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  const auto index = static_cast<std::size_t>(at - names_.begin());
  return name != TreeName{} && at != names_.end() && is_in_place(trees_[index]) ? index
                                                                                : most_trees;
}

Tree* NodeTable::find_tree(TreeName name) {
  const std::size_t index = index_of(name);
  return index < most_trees ? &trees_[index] : nullptr;
}

const Tree* NodeTable::find(TreeName name) const {
  const std::size_t index = index_of(name);
  return index < most_trees ? &trees_[index] : nullptr;
}

NodeSet NodeTable::set_of(TreeName name) const {
  const Tree* const tree = find(name);
  return tree == nullptr ? NodeSet{} : sets_[tree->pool];
}

bool NodeTable::ready(TreeName name, const TreeFacts& facts) {
  Tree* const tree = find_tree(name);
  if (tree == nullptr || tree->state != TreeState::asked || !Partition::is_possible(facts.slots)) {
    return false;
  }
  tree->facts = facts;
  tree->used_at = ++operations_;
  pools_[tree->pool].refusals = 0;
  before_the_last_write();
  tree->state = TreeState::ready;
  return true;
}

bool NodeTable::refused(TreeName name) {
  Tree* const tree = find_tree(name);
  if (tree == nullptr || tree->state != TreeState::asked) {
    return false;
  }
  Pool& pool = pools_[tree->pool];
  const std::uint64_t wait =
      std::min(std::uint64_t{1} << std::min(pool.refusals, 32U), most_quiet_agreements);
  pool.refusals = std::min(pool.refusals + 1, 32U);
  pool.grows_from = pool.agreements + wait + 1;
  before_the_last_write();
  vacate(*tree);
  return true;
}

bool NodeTable::moved(TreeName name, const TreeFacts& facts) {
  Tree* const tree = find_tree(name);
  if (tree == nullptr || (tree->state != TreeState::ready && tree->state != TreeState::retiring) ||
      facts.slots != tree->facts.slots) {
    return false;
  }
  tree->facts = facts;
  ++tree->moves;
  return true;
}

bool NodeTable::ended(TreeName name) {
  Tree* const tree = find_tree(name);
  if (tree == nullptr) {
    return false;
  }
  tree->state = TreeState::ended;
  sweep(pools_[tree->pool]);
  return true;
}

bool NodeTable::retire(TreeName name) {
  Tree* const tree = find_tree(name);
  if (tree == nullptr || tree->state != TreeState::ready || tree->is_used() ||
      is_owned(pools_[tree->pool])) {
    return false;
  }
  tree->state = TreeState::retiring;
  return true;
}

bool NodeTable::withdraw(TreeName name) {
  Tree* const tree = find_tree(name);
  if (tree == nullptr || tree->state != TreeState::ready) {
    return false;
  }
  tree->state = TreeState::retiring;
  return true;
}

bool NodeTable::has_ready(NodeSet nodes) const {
  return std::any_of(trees_.begin(), trees_.end(), [&](const Tree& tree) {
    return is_in_place(tree) && tree.state == TreeState::ready && sets_[tree.pool] == nodes;
  });
}

std::optional<TreeName> NodeTable::least_recently_used() const {
  const Tree* oldest = nullptr;
  for (const Tree& tree : trees_) {
    if (is_in_place(tree) && tree.state == TreeState::ready && !tree.is_used() &&
        (oldest == nullptr || tree.used_at < oldest->used_at)) {
      oldest = &tree;
    }
  }
  return oldest == nullptr ? std::nullopt : std::optional(oldest->name);
}

std::optional<TreeName> NodeTable::adopt(ProcessId process) {
  for (Tree& tree : trees_) {
    if (is_in_place(tree) && tree.state != TreeState::ended && tree.keeper == ProcessId{}) {
      tree.keeper = process;
      return tree.name;
    }
  }
  return std::nullopt;
}

void NodeTable::vacate(Tree& tree) {
  const auto index = static_cast<std::size_t>(&tree - trees_.data());
  pools_[tree.pool].trees[tree.entry] = 0; // from here on the entry is vacant
  before_the_last_write();
  names_[index] = {};
  tree = {};
}

void NodeTable::sweep(Pool& pool) {
  if (is_owned(pool)) {
    return;
  }
  for (const std::uint16_t index : pool.trees) {
    if (index != 0 && trees_[index - 1].state == TreeState::ended && !trees_[index - 1].is_used()) {
      vacate(trees_[index - 1]);
    }
  }
}

// ---- contexts ----

bool NodeTable::take(PoolNumber pool, std::uint32_t entry, PartMask parts, ProcessId process,
                     Cookie cookie) {
  const std::uint16_t index = pools_[pool].trees[entry];
  if (index == 0 || parts == 0 || process == ProcessId{}) {
    return false;
  }
  Tree& tree = trees_[index - 1];
  // Not its state: what was offered while it was ready may be taken after the group has ended.
  if (tree.state < TreeState::ready ||
      (parts & ~(Partition(tree.facts.slots).whole() & ~tree.used_parts())) != 0) {
    return false;
  }
  Use& use = tree.uses[static_cast<std::size_t>(std::countr_zero(parts))];
  use.cookie = cookie;
  use.parts = parts;
  tree.used_at = ++operations_;
  before_the_last_write();
  use.process = process;
  return true;
}

namespace {

/// Null if the process does not have the context.
Use* use_of(Tree* tree, ProcessId process, const Context& context) {
  if (tree == nullptr || tree->state < TreeState::ready) {
    return nullptr;
  }
  const PartMask parts = Partition(tree->facts.slots).parts_of(context.ids);
  if (parts == 0) {
    return nullptr;
  }
  Use& use = tree->uses[static_cast<std::size_t>(std::countr_zero(parts))];
  const bool is_it = use.process == process && process != ProcessId{} &&
                     use.cookie == context.cookie && use.parts == parts;
  return is_it ? &use : nullptr;
}

} // namespace

bool NodeTable::release(ProcessId process, const Context& context) {
  Tree* const tree = find_tree(context.tree);
  Use* const use = use_of(tree, process, context);
  if (use == nullptr) {
    return false;
  }
  tree->used_at = ++operations_;
  use->process = {};
  sweep(pools_[tree->pool]);
  return true;
}

bool NodeTable::shrink(ProcessId process, Context& context, std::uint8_t count) {
  Tree* const tree = find_tree(context.tree);
  Use* const use = use_of(tree, process, context);
  if (use == nullptr || count == 0 || count >= context.ids.count) {
    return false;
  }
  const IdRange kept{context.ids.first, count};
  const PartMask parts = Partition(tree->facts.slots).parts_of(kept);
  if (parts == 0) {
    return false;
  }
  use->parts = parts;
  context.ids = kept;
  return true;
}

bool NodeTable::is_over(const Context& context) const {
  const Tree* const tree = find(context.tree);
  return tree == nullptr || tree->state == TreeState::ended;
}

// ---- processes ----

void NodeTable::process_ended(ProcessId process) {
  if (process == ProcessId{}) {
    return;
  }
  for (Tree& tree : trees_) {
    for (Use& use : tree.uses) {
      use.process = use.process == process ? ProcessId{} : use.process;
    }
    tree.keeper = tree.keeper == process ? ProcessId{} : tree.keeper;
  }
  const auto forget = [process](AgreementId& agreement) {
    if (agreement.process == process) {
      agreement = {};
    }
  };
  for (Pool& pool : pools_) {
    forget(pool.eager);
    forget(pool.reserve);
    std::for_each(pool.waiting.begin(), pool.waiting.end(), forget);
    sweep(pool);
  }
}

void NodeTable::repair() {
  for (std::size_t i = 0; i < most_trees; ++i) {
    Tree& tree = trees_[i];
    if (!is_in_place(tree)) {
      names_[i] = {};
      tree = {};
      continue;
    }
    names_[i] = tree.name;
    for (std::size_t at = 0; at < tree.uses.size(); ++at) {
      Use& use = tree.uses[at];
      if (use.process == ProcessId{}) {
        use = {};
      }
    }
  }
  for (std::size_t p = 0; p < most_pools; ++p) {
    for (std::uint16_t& index : pools_[p].trees) {
      if (index != 0 && trees_[index - 1].state == TreeState::vacant) {
        index = 0;
      }
    }
  }
}

// ---- agreements ----

bool NodeTable::is_owned(const Pool& pool) {
  return !is_none(pool.eager) || !is_none(pool.reserve);
}

bool NodeTable::is_unused(const Pool& pool) {
  return !is_owned(pool) && std::all_of(pool.waiting.begin(), pool.waiting.end(), is_none) &&
         std::all_of(pool.trees.begin(), pool.trees.end(),
                     [](std::uint16_t index) { return index == 0; });
}

std::optional<NodeTable::PoolNumber> NodeTable::open(NodeSet nodes) {
  if (nodes == NodeSet{}) {
    return std::nullopt;
  }
  auto at = std::find(sets_.begin(), sets_.end(), nodes);
  if (at == sets_.end()) {
    at = std::find(sets_.begin(), sets_.end(), NodeSet{});
  }
  if (at == sets_.end()) { // one whose trees have all gone gives way
    const auto unused = std::find_if(pools_.begin(), pools_.end(), is_unused);
    if (unused == pools_.end()) {
      return std::nullopt;
    }
    at = sets_.begin() + (unused - pools_.begin());
  }
  const auto number = static_cast<PoolNumber>(at - sets_.begin());
  if (*at != nodes) {
    *at = {};
    pools_[number] = {};
    before_the_last_write();
    *at = nodes;
  }
  return number;
}

bool NodeTable::take_eager(PoolNumber pool, const AgreementId& agreement) {
  AgreementId& owner = pools_[pool].eager;
  if (is_none(owner)) {
    owner.parent = agreement.parent;
    before_the_last_write();
    owner.process = agreement.process;
  }
  return owner == agreement;
}

bool NodeTable::take_reserve(PoolNumber pool, const AgreementId& agreement) {
  Pool& p = pools_[pool];
  const auto goes_first = [&](const AgreementId& other) {
    return !is_none(other) && other.parent < agreement.parent;
  };
  if (is_none(p.reserve) && std::none_of(p.waiting.begin(), p.waiting.end(), goes_first)) {
    p.reserve.parent = agreement.parent;
    before_the_last_write();
    p.reserve.process = agreement.process;
  }
  return p.reserve == agreement;
}

void NodeTable::wait(PoolNumber pool, const AgreementId& agreement) {
  auto& waiting = pools_[pool].waiting;
  if (std::find(waiting.begin(), waiting.end(), agreement) != waiting.end()) {
    return;
  }
  auto place = std::find_if(waiting.begin(), waiting.end(), is_none);
  if (place == waiting.end()) { // the lowest have a place, so that the lowest of all goes first
    place = std::max_element(
        waiting.begin(), waiting.end(),
        [](const AgreementId& a, const AgreementId& b) { return a.parent < b.parent; });
    if (place->parent < agreement.parent) {
      return;
    }
  }
  *place = {};
  place->parent = agreement.parent;
  before_the_last_write();
  place->process = agreement.process;
}

void NodeTable::let_go(PoolNumber pool, const AgreementId& agreement) {
  Pool& p = pools_[pool];
  if (p.eager == agreement) {
    p.eager = {};
  }
  if (p.reserve == agreement) {
    p.reserve = {};
  }
}

void NodeTable::end(PoolNumber pool, const AgreementId& agreement) {
  let_go(pool, agreement);
  for (AgreementId& waiting : pools_[pool].waiting) {
    if (waiting == agreement) {
      waiting = {};
    }
  }
  sweep(pools_[pool]);
}

bool NodeTable::is_vacant(PoolNumber pool, std::uint32_t entry) const {
  return pools_[pool].trees[entry] == 0;
}

bool NodeTable::has_tree_from(PoolNumber pool, std::uint32_t entry) const {
  const auto& trees = pools_[pool].trees;
  return entry < trees.size() && std::any_of(trees.begin() + entry, trees.end(),
                                             [](std::uint16_t index) { return index != 0; });
}

bool NodeTable::may_grow(PoolNumber pool) const {
  const Pool& mine = pools_[pool];
  if (mine.agreements < mine.grows_from) {
    return false;
  }
  for (const std::uint16_t index : mine.trees) {
    if (index != 0 && trees_[index - 1].state == TreeState::asked) {
      return false;
    }
  }
  // Every other agreement that owns a reserve may ask for as many at the same time.
  std::uint32_t promised = most_trees_at_once;
  for (const Pool& other : pools_) {
    promised += &other != &mine && !is_none(other.reserve) ? most_trees_at_once : 0;
  }
  return trees() + promised <= most_trees;
}

const Tree* NodeTable::tree_at(PoolNumber pool, std::uint32_t entry) const {
  const std::uint16_t index = pools_[pool].trees[entry];
  return index == 0 ? nullptr : &trees_[index - 1];
}

PartMask NodeTable::free_parts(PoolNumber pool, std::uint32_t entry) const {
  const Tree* const tree = tree_at(pool, entry);
  return tree == nullptr || tree->state != TreeState::ready
             ? 0
             : Partition(tree->facts.slots).whole() & ~tree->used_parts();
}

bool NodeTable::assign(PoolNumber pool, std::uint32_t entry, TreeName name, ProcessId keeper) {
  if (entry >= entries_per_pool || pools_[pool].trees[entry] != 0 || name == TreeName{}) {
    return false;
  }
  const auto free = std::find_if_not(trees_.begin(), trees_.end(),
                                     [this](const Tree& tree) { return is_in_place(tree); });
  if (free == trees_.end()) {
    return false;
  }
  const auto index = static_cast<std::size_t>(free - trees_.begin());
  *free = {};
  free->name = name;
  free->pool = pool;
  free->entry = static_cast<std::uint16_t>(entry);
  free->keeper = keeper;
  free->state = TreeState::asked;
  names_[index] = name;
  before_the_last_write();
  pools_[pool].trees[entry] = static_cast<std::uint16_t>(1 + index);
  return true;
}

// ---- for people and tests ----

std::uint32_t NodeTable::trees() const {
  return static_cast<std::uint32_t>(std::count_if(
      names_.begin(), names_.end(), [](TreeName name) { return name != TreeName{}; }));
}

std::uint32_t NodeTable::pools() const {
  return static_cast<std::uint32_t>(
      std::count_if(sets_.begin(), sets_.end(), [](NodeSet set) { return set != NodeSet{}; }));
}

std::uint32_t NodeTable::contexts() const {
  std::uint32_t count = 0;
  for_each_use([&count](const Tree&, const Use&) { ++count; });
  return count;
}

bool NodeTable::is_quiet() const {
  return std::all_of(pools_.begin(), pools_.end(), [](const Pool& pool) {
    return !is_owned(pool) && std::all_of(pool.waiting.begin(), pool.waiting.end(), is_none);
  });
}

} // namespace tributary::contexts
