#include "tests/unit/endpoint/contexts/world.hpp"

#include <algorithm>

namespace tributary::test {

using contexts::Context;
using contexts::NodeSet;
using contexts::OfferWords;
using contexts::Outcome;
using contexts::ParentIdentity;
using contexts::ProcessId;
using contexts::RangeSize;
using contexts::Result;
using contexts::TreeName;

namespace {

NodeSet name_of_set(std::size_t set) { return NodeSet{0x5E7 + set}; }

} // namespace

World::World(std::uint64_t seed, const Faults& faults)
    : random_(seed), faults_(faults), nodes_(2 + random_.below(3)), slots_(8U << random_.below(5)),
      most_trees_(1 + random_.below(6)),
      oracle_(nodes_.size(), [this](int communicator) { return is_broken(communicator); }) {
  std::uint64_t id = 1;
  for (Node& node : nodes_) {
    node.processes.resize(1 + below(3));
    for (std::size_t p = 0; p < node.processes.size(); ++p) {
      node.processes[p].id = ProcessId{id++};
      for (std::size_t threads = 1 + below(3); threads > 0; --threads) {
        node.threads.push_back({.process = p, .operations = {}, .agreement = {}});
      }
    }
  }
  sets_.emplace_back();
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    sets_[0].insert(node);
  }
  if (nodes_.size() > 2) {
    sets_.push_back(sets_[0]);
    sets_[1].erase(below(nodes_.size()));
  }
  make_program();
}

// ---- the program ----

void World::make_program() {
  std::vector<int> alive;
  const std::size_t first = 2 + below(5);
  for (std::size_t i = 0; i < first; ++i) {
    Communicator one;
    one.set = below(sets_.size());
    one.cookie = Cookie{static_cast<std::uint32_t>(random_.next())};
    one.short_calls = random_.chance(0.3);
    one.at.resize(nodes_.size());
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      one.at[node].thread = below(nodes_[node].threads.size());
      one.at[node].parent.emplace(name_of_set(one.set), ParentIdentity{one.cookie, 0});
    }
    alive.push_back(static_cast<int>(communicators_.size()));
    communicators_.push_back(std::move(one));
  }
  const auto add = [&](Kind kind, int communicator, int child = -1) {
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      const Communicator& it = communicators_[static_cast<std::size_t>(communicator)];
      if (sets_[it.set].contains(node)) {
        nodes_[node].threads[it.at[node].thread].operations.push_back(operations_.size());
      }
    }
    operations_.push_back({kind, communicator, child, {}});
  };
  const std::size_t count = 40 + below(60);
  while (operations_.size() < count) {
    const std::size_t at = below(alive.size());
    const int parent = alive[at];
    switch (below(10)) {
    case 0:
    case 1:
    case 2:
    case 3: {
      Communicator child;
      const Communicator& from = communicators_[static_cast<std::size_t>(parent)];
      child.set = from.set;
      child.short_calls = random_.chance(0.3);
      child.cookie = Cookie{static_cast<std::uint32_t>(random_.next())};
      child.at.resize(nodes_.size());
      for (std::size_t node = 0; node < nodes_.size(); ++node) {
        // Another thread of the same process may use it.
        const auto& threads = nodes_[node].threads;
        do {
          child.at[node].thread = below(threads.size());
        } while (threads[child.at[node].thread].process != threads[from.at[node].thread].process);
      }
      const int name = static_cast<int>(communicators_.size());
      communicators_.push_back(std::move(child));
      add(Kind::dup, parent, name);
      alive.push_back(name);
      break;
    }
    case 4:
    case 5:
      if (static_cast<std::size_t>(parent) >= first) {
        add(Kind::free, parent);
        alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
      }
      break;
    case 6: add(Kind::move, parent); break;
    case 7: add(Kind::shrink, parent); break;
    default: add(Kind::call, parent);
    }
  }
  for (const int communicator : alive) {
    add(Kind::free, communicator);
  }
}

// ---- what is true of a communicator ----

bool World::is_member(int communicator, std::size_t node) const {
  return sets_[communicators_[static_cast<std::size_t>(communicator)].set].contains(node);
}

World::Process& World::process_of(int communicator, std::size_t node) {
  const Communicator& it = communicators_[static_cast<std::size_t>(communicator)];
  return nodes_[node].processes[nodes_[node].threads[it.at[node].thread].process];
}

bool World::is_broken(int communicator) const {
  const Communicator& it = communicators_[static_cast<std::size_t>(communicator)];
  return it.failed || std::any_of(sets_[it.set].begin(), sets_[it.set].end(), [&](std::size_t n) {
           return !nodes_[n].processes[nodes_[n].threads[it.at[n].thread].process].alive;
         });
}

void World::fail(const std::string& what) {
  if (fault_.empty()) {
    fault_ = what;
  }
}

bool World::is_over() const {
  const bool idle = std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return std::all_of(node.threads.begin(), node.threads.end(), [&](const Thread& thread) {
      return thread.operations.empty() || !node.processes[thread.process].alive;
    });
  });
  return idle && calls_.empty();
}

std::string World::run() {
  constexpr int most_steps = 2'000'000;
  for (int steps = 0; !is_over() && fault_.empty(); ++steps) {
    if (steps == most_steps) {
      fail("it does not end");
    }
    step();
  }
  if (fault_.empty()) {
    clean_up();
  }
  return fault_;
}

void World::step() {
  switch (below(20)) {
  case 0: manage(); break;
  case 1:
  case 2: notify(); break;
  case 3: notice_deaths(); break;
  case 4:
    if (faults_.deaths && seen_.deaths < 3 && random_.chance(0.004)) {
      kill();
    }
    break;
  case 5:
    if (!calls_.empty()) { // one whose members do not all make it ends with an error
      const std::size_t index = below(calls_.size());
      const int communicator = operations_[calls_[index].key.first].communicator;
      if (is_broken(communicator) && reductions_.at(calls_[index].key).missing > 0) {
        end_call(index);
      }
    }
    break;
  case 6:
  case 7:
  case 8:
  case 9:
  case 10:
  case 11: deliver(); break;
  default: {
    const std::size_t node = below(nodes_.size());
    run_thread(node, nodes_[node].threads[below(nodes_[node].threads.size())]);
  }
  }
}

// ---- threads and reductions ----

void World::run_thread(std::size_t node, Thread& thread) {
  if (thread.operations.empty() || !nodes_[node].processes[thread.process].alive) {
    return;
  }
  if (!thread.agreement) {
    start(node, thread, thread.operations.front());
    return;
  }
  stop_waiting(node, thread);
}

void World::start(std::size_t node, Thread& thread, std::size_t operation) {
  Operation& it = operations_[operation];
  Communicator& on = communicators_[static_cast<std::size_t>(it.communicator)];
  AtNode& here = on.at[node];
  const auto begin = [&](RangeSize size) {
    thread.agreement.emplace(process_of(it.communicator, node).id,
                             here.parent->next(size, on.short_calls));
    ++seen_.agreements;
    give(operation, 0, node, thread.agreement->begin(*nodes_[node].table));
  };
  if (here.gone) {
    if (it.kind == Kind::dup) {
      give_up(it.child, node);
    }
    thread.operations.pop_front();
    return;
  }
  if (!here.parent) {
    return; // another thread has not ended its dup here
  }
  switch (it.kind) {
  case Kind::dup:
    if (here.parent->looks()) {
      begin(RangeSize::full);
      return;
    }
    child_without_context(it.child, node, here.parent->page());
    break;
  case Kind::move:
    if (here.held == nullptr) {
      begin(RangeSize::full);
      return;
    }
    if (here.held->context.ids.first.value != 0) {
      begin(RangeSize::half);
      return;
    }
    break;
  case Kind::shrink:
    if (here.held != nullptr && here.held->context.ids.count == 8 &&
        here.held->context.ids.first.value != 0) {
      Held& held = *here.held;
      if (!nodes_[node].table->shrink(held.process, held.context, 2)) {
        fail("a context cannot shrink");
      }
      oracle_.shrink(node, held.context);
      ++seen_.shrunk;
    }
    break;
  case Kind::call:
    if (here.held != nullptr && !here.held->lifetime.begin()) {
      fail("a call of a freed context");
    }
    calls_.push_back({{operation, 0}, node, here.held});
    give(operation, 0, node, {});
    break;
  case Kind::free:
    let_go(here.held);
    here.held = nullptr;
    break;
  }
  thread.operations.pop_front();
}

void World::child_without_context(int communicator, std::size_t node, std::uint16_t page) {
  Communicator& child = communicators_[static_cast<std::size_t>(communicator)];
  child.at[node].parent.emplace(name_of_set(child.set), ParentIdentity{child.cookie, 0}, page);
}

void World::give(std::size_t operation, std::uint32_t number, std::size_t node,
                 const OfferWords& words) {
  const int communicator = operations_[operation].communicator;
  const auto& members = sets_[communicators_[static_cast<std::size_t>(communicator)].set];
  const auto [at, is_new] = reductions_.try_emplace({operation, number});
  Reduction& reduction = at->second;
  if (is_new) {
    reduction.given.resize(nodes_.size());
    reduction.missing = members.size();
    reduction.result.fill(~std::uint64_t{0});
  }
  if (reduction.given[node]) {
    fail("a node contributes twice");
  }
  reduction.given[node] = words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    reduction.result[i] &= words[i];
  }
  if (--reduction.missing == 0) {
    for (const std::size_t member : members) {
      deliveries_.emplace_back(at->first, member);
    }
  }
}

void World::deliver() {
  if (deliveries_.empty()) {
    return;
  }
  if (faults_.losses && random_.chance(0.2)) {
    ++seen_.losses; // it is asked for again
    return;
  }
  std::swap(deliveries_[below(deliveries_.size())], deliveries_.back());
  const auto [key, node] = deliveries_.back();
  deliveries_.pop_back();
  take_result(key, node);
}

void World::take_result(const Key& key, std::size_t node) {
  const Operation& operation = operations_[key.first];
  if (operation.kind == Kind::call) {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (calls_[i].key == key && calls_[i].node == node) {
        end_call(i);
        return;
      }
    }
    return;
  }
  const Communicator& on = communicators_[static_cast<std::size_t>(operation.communicator)];
  Thread& thread = nodes_[node].threads[on.at[node].thread];
  if (!process_of(operation.communicator, node).alive || thread.operations.empty() ||
      thread.operations.front() != key.first || !thread.agreement) {
    return; // dead, or it has given up
  }
  const auto next = thread.agreement->reduced(*nodes_[node].table, reductions_.at(key).result);
  if (next) {
    give(key.first, key.second + 1, node, *next);
  } else {
    finish(node, thread);
  }
}

void World::finish(std::size_t node, Thread& thread) {
  Operation& operation = operations_[thread.operations.front()];
  Communicator& on = communicators_[static_cast<std::size_t>(operation.communicator)];
  const Outcome outcome = thread.agreement->outcome();
  thread.agreement.reset();
  thread.operations.pop_front();
  if (!operation.expected) {
    operation.expected = outcome;
  }
  const Outcome& first = *operation.expected;
  if (outcome.result != first.result || outcome.context != first.context ||
      outcome.wanted != first.wanted || outcome.page != first.page ||
      outcome.reductions != first.reductions) {
    fail("nodes ended one agreement differently");
  }
  if (outcome.result == Result::differs || outcome.result == Result::damaged) {
    fail(std::string(text_of(outcome.result)));
  }
  seen_.contexts += outcome.context ? 1 : 0;
  seen_.in_one_reduction += outcome.context && outcome.reductions == 1 ? 1 : 0;
  seen_.repeated += outcome.reductions > 4 ? 1 : 0;
  seen_.used_up += outcome.result == Result::used_up ? 1 : 0;
  seen_.unowned += outcome.result == Result::unowned ? 1 : 0;
  for (const auto& wanted : outcome.wanted) {
    want(wanted.name, on.set, node);
  }
  AtNode& here = on.at[node];
  here.parent->learn(outcome.page, outcome.context.has_value());
  if (operation.kind == Kind::dup) {
    if (outcome.context) {
      communicators_[static_cast<std::size_t>(operation.child)].at[node].parent.emplace(
          name_of_set(on.set), outcome.context->identity(), outcome.page);
      hold(operation.child, node, *outcome.context);
    } else {
      child_without_context(operation.child, node, outcome.page);
    }
  } else if (outcome.context) {
    const std::shared_ptr<Held> before = here.held;
    hold(operation.communicator, node, *outcome.context);
    let_go(before);
    ++seen_.moves;
  }
}

void World::hold(int communicator, std::size_t node, const Context& context) {
  if (const std::string fault = oracle_.take(node, communicator, context); !fault.empty()) {
    fail(fault);
  }
  auto& before = had_[{context.tree, context.ids.first.value}];
  before.insert(context.cookie);
  seen_.reused += before.size() > 1 ? 1 : 0;
  communicators_[static_cast<std::size_t>(communicator)].at[node].held = std::make_shared<Held>(
      Held{communicator, node, process_of(communicator, node).id, context, {}, false});
}

void World::let_go(const std::shared_ptr<Held>& held) {
  if (held == nullptr) {
    return;
  }
  if (held->lifetime.free()) {
    release(*held);
  } else {
    ++seen_.freed_in_flight;
  }
}

void World::release(Held& held) {
  if (!nodes_[held.node].table->release(held.process, held.context)) {
    fail("a context cannot be released");
  }
  held.released = true;
  oracle_.done(held.node, held.context);
}

void World::end_call(std::size_t index) {
  const Call call = calls_[index];
  calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(index));
  if (call.held != nullptr && process_of(call.held->communicator, call.node).alive &&
      call.held->lifetime.end()) {
    release(*call.held);
  }
}

void World::give_up(int communicator, std::size_t node) {
  Communicator& on = communicators_[static_cast<std::size_t>(communicator)];
  on.failed = true;
  on.at[node].gone = true;
  let_go(on.at[node].held);
  on.at[node].held = nullptr;
}

void World::stop_waiting(std::size_t node, Thread& thread) {
  const std::size_t operation = thread.operations.front();
  const Key key{operation, thread.agreement->outcome().reductions};
  if (!is_broken(operations_[operation].communicator) || reductions_.at(key).missing == 0 ||
      !random_.chance(0.1)) {
    return;
  }
  thread.agreement->abandon(*nodes_[node].table);
  thread.agreement.reset();
  thread.operations.pop_front();
  ++seen_.abandoned;
  if (operations_[operation].kind == Kind::dup) {
    give_up(operations_[operation].child, node);
  }
  give_up(operations_[operation].communicator, node);
}

// ---- the fabric manager ----

void World::want(TreeName name, std::size_t set, std::size_t node) {
  Tree& tree = trees_[name];
  tree.set = set;
  tree.joined.insert(node);
  ++seen_.trees;
  if (tree.decided) {
    notices_.push_back({name, node, News::refused});
  } else if (tree.joined == sets_[set]) {
    const auto existing = std::count_if(trees_.begin(), trees_.end(), [](const auto& each) {
      return each.second.decided && !each.second.refused && !each.second.ended;
    });
    decide(name, tree, static_cast<std::size_t>(existing) >= most_trees_ || random_.chance(0.1));
  }
}

void World::decide(TreeName name, Tree& tree, bool refuse) {
  tree.decided = true;
  tree.refused = refuse;
  seen_.refused += refuse ? 1 : 0;
  for (const std::size_t node : tree.joined) {
    notices_.push_back({name, node, refuse ? News::refused : News::ready});
  }
}

void World::manage() {
  if (trees_.empty()) {
    return;
  }
  auto at = trees_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(below(trees_.size())));
  Tree& tree = at->second;
  if (!tree.decided && random_.chance(0.02)) {
    decide(at->first, tree, true); // some node does not join in time
  } else if (tree.decided && !tree.refused && !tree.ended) {
    if (faults_.ended_groups && random_.chance(0.01)) {
      tree.ended = true;
      ++seen_.ended;
      for (const std::size_t node : tree.joined) {
        notices_.push_back({at->first, node, News::ended});
      }
    } else if (random_.chance(0.02)) {
      retire();
    }
  }
}

void World::retire() {
  const std::size_t node = below(nodes_.size());
  const auto name = nodes_[node].table->least_recently_used();
  if (!name || !nodes_[node].table->retire(*name)) {
    return;
  }
  Tree& tree = trees_.at(*name); // this node leaves its group, which ends with that
  if (!tree.ended) {
    tree.ended = true;
    ++seen_.retired;
    for (const std::size_t member : tree.joined) {
      notices_.push_back({*name, member, News::ended});
    }
  }
}

void World::notify() {
  if (notices_.empty()) {
    return;
  }
  std::swap(notices_[below(notices_.size())], notices_.back());
  const Notice notice = notices_.back();
  notices_.pop_back();
  contexts::NodeTable& table = *nodes_[notice.node].table;
  switch (notice.news) {
  case News::ready:
    table.ready(notice.tree,
                {.tree = TreeNumber{static_cast<std::uint16_t>(notice.tree.value & 8191U)},
                 .slots = slots_});
    break;
  case News::refused: table.refused(notice.tree); break;
  case News::ended: table.ended(notice.tree); break;
  }
}

// ---- processes that die ----

void World::kill() {
  const std::size_t node = below(nodes_.size());
  const std::size_t index = below(nodes_[node].processes.size());
  Process& process = nodes_[node].processes[index];
  if (!process.alive) {
    return;
  }
  process.alive = false;
  ++seen_.deaths;
  for (std::size_t c = 0; c < communicators_.size(); ++c) {
    const int communicator = static_cast<int>(c);
    AtNode& here = communicators_[c].at[node];
    if (is_member(communicator, node) && &process_of(communicator, node) == &process &&
        here.held != nullptr) {
      oracle_.done(node, here.held->context);
      here.held = nullptr;
    }
  }
  for (std::size_t i = calls_.size(); i-- > 0;) {
    if (calls_[i].node == node &&
        !process_of(operations_[calls_[i].key.first].communicator, node).alive) {
      if (calls_[i].held != nullptr) {
        oracle_.done(node, calls_[i].held->context);
      }
      calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

void World::notice_deaths() {
  for (Node& node : nodes_) {
    for (Process& process : node.processes) {
      if (process.alive || process.noticed || !random_.chance(0.1)) {
        continue;
      }
      process.noticed = true;
      node.table->process_ended(process.id);
      const auto heir = std::find_if(node.processes.begin(), node.processes.end(),
                                     [](const Process& each) { return each.alive; });
      while (heir != node.processes.end() && node.table->adopt(heir->id)) {
        ++seen_.adopted;
      }
    }
  }
}

// ---- the end ----

void World::clean_up() {
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    for (const Process& process : nodes_[node].processes) {
      if (!process.alive) {
        nodes_[node].table->process_ended(process.id);
      }
    }
    if (nodes_[node].table->contexts() != 0 || oracle_.live(node) != 0) {
      fail("contexts are left that were all freed");
    }
    if (!nodes_[node].table->is_quiet()) {
      fail("something is owned or waited for, and all agreements are over");
    }
  }
}

} // namespace tributary::test
