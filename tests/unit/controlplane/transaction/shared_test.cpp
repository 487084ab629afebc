// Trees that are shared: whatever mixture of old and new entries is in force while they are moved,
// also after losses, no frame that any member multicasts circles.
#include "controlplane/trees/shared_order.hpp"

#include "coordinator_fixture.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace tributary::transaction {
namespace {

using Parents = std::map<std::uint32_t, std::uint32_t>; // the root is its own parent

Target shared_tree(const Parents& parents, bool shared = true) {
  const test::TreeTarget tree = test::mesh_tree(tree7, vni, parents);
  return trees::target_of(tree.number, tree.parts, tree.vni, tree.edges, {.shared = shared});
}

/// What a switch does with shared frames: the switches that its ports lead to, in a full mesh.
struct Entry {
  std::vector<std::uint32_t> neighbours;
  bool shared = false;
};
using Entries = std::map<std::uint32_t, Entry>;

Entry entry_of(const Content& content) {
  const multicast::TreePart& part = trees::part_of(content);
  Entry entry{.neighbours = {part.children.begin(), part.children.end()},
              .shared = trees::frames_of(content).shared};
  entry.neighbours.push_back(part.parent);
  std::erase_if(entry.neighbours, [](std::uint32_t port) { return port >= test::first_host_port; });
  return entry;
}

/// Whether a shared frame can come back to a switch. It crosses a link if both ends share, and the
/// link is among the ports of both; it never leaves by the port that it came by.
bool circles(const Entries& entries) {
  std::vector<std::uint32_t> group(64);
  std::iota(group.begin(), group.end(), 0U);
  const auto find = [&](std::uint32_t at) {
    while (group[at] != at) {
      at = group[at];
    }
    return at;
  };
  for (const auto& [a, entry] : entries) {
    for (const std::uint32_t b : entry.neighbours) {
      const auto other = entries.find(b);
      if (b < a || !entry.shared || other == entries.end() || !other->second.shared ||
          std::ranges::count(other->second.neighbours, a) == 0) {
        continue;
      }
      if (find(a) == find(b)) {
        return true;
      }
      group[find(a)] = find(b);
    }
  }
  return false;
}

/// Calls `visit` with every state that the switches may be in while the moves are made: within a
/// stage with each subset of its moves.
void visit_states(std::map<std::uint32_t, ContentPtr> state, const Order& order,
                  const std::function<void(const std::map<std::uint32_t, ContentPtr>&)>& visit) {
  for (auto first = order.moves.begin(); first != order.moves.end();) {
    const auto last = std::find_if(first, order.moves.end(),
                                   [&](const Move& m) { return m.stage != first->stage; });
    const auto count = static_cast<unsigned>(last - first);
    for (unsigned subset = 0; subset < 1U << count; ++subset) {
      auto during = state;
      for (unsigned i = 0; i < count; ++i) {
        if ((subset >> i & 1U) != 0) {
          during[first[i].at.value] = first[i].content;
        }
      }
      visit(during);
    }
    for (; first != last; ++first) {
      state[first->at.value] = first->content;
    }
  }
  visit(state);
}

Entries entries_of(const std::map<std::uint32_t, ContentPtr>& state, bool all_share = false) {
  Entries entries;
  for (const auto& [at, content] : state) {
    if (content != nullptr) {
      entries[at] = entry_of(*content);
      entries[at].shared |= all_share;
    }
  }
  return entries;
}

/// All switches are connected, and hold this.
Inventory inventory_of(const topology::Graph& graph, const Target& held) {
  Inventory inventory(graph);
  for (std::uint32_t i = 0; i < graph.switches().size(); ++i) {
    Hello hello;
    hello.ports = 64;
    hello.capacity.emplace(trees::tree_kind, 8192);
    for (const Part& part : held.parts) {
      if (part.at.value == i) {
        hello.in_force.emplace_back(held.subject, part.content);
      }
    }
    inventory.hello(SwitchId{i}, SessionNumber{i + 1}, hello);
  }
  inventory.want(held.subject, held);
  return inventory;
}

TEST(SharedTrees, never_circle_in_any_order_of_installation) {
  test::Random random(test::seed());
  const topology::Graph graph = test::full_mesh(6);
  const trees::TreeKind kind(graph);
  unsigned would_circle = 0;
  for (unsigned pair = 0; pair < 2000; ++pair) {
    const Target from = shared_tree(test::random_parents(random, 6));
    const Target to = shared_tree(test::random_parents(random, 6));
    const Inventory inventory = inventory_of(graph, from);
    const Order order = kind.order(to.subject, &to, inventory);
    ASSERT_EQ(order.objection, "");
    std::map<std::uint32_t, ContentPtr> state;
    for (const Part& part : from.parts) {
      state[part.at.value] = part.content;
    }
    bool would = false;
    std::map<std::uint32_t, ContentPtr> end;
    visit_states(state, order, [&](const std::map<std::uint32_t, ContentPtr>& during) {
      ASSERT_FALSE(circles(entries_of(during))) << "pair " << pair;
      would = would || circles(entries_of(during, true));
      end = during;
    });
    would_circle += would ? 1 : 0;
    for (const Part& part : to.parts) {
      ASSERT_TRUE(same(end.at(part.at.value), part.content)) << "pair " << pair;
      end.erase(part.at.value);
    }
    for (const auto& [at, content] : end) {
      ASSERT_EQ(content, nullptr) << "pair " << pair << ": switch " << at << " keeps its old part";
    }
  }
  EXPECT_GT(would_circle, 100U) << "the two steps are needed";
}

TEST(SharedTrees, that_no_switch_has_are_installed_in_one_step) {
  const topology::Graph graph = test::full_mesh(4);
  const Target none{.subject = trees::subject_of(tree7), .parts = {}, .needs = {}};
  const Target to = shared_tree({{0, 0}, {1, 0}, {2, 1}});
  Inventory inventory = inventory_of(graph, none);
  const Order order = trees::TreeKind(graph).order(to.subject, &to, inventory);
  EXPECT_EQ(order.moves.size(), 3U);
  for (const Move& move : order.moves) {
    EXPECT_TRUE(trees::frames_of(*move.content).shared);
  }
}

TEST(SharedTrees, keep_the_flag_where_their_ports_stay) {
  const topology::Graph graph = test::full_mesh(5);
  const Target from = shared_tree({{0, 0}, {1, 0}, {2, 1}, {3, 0}});
  const Target to = shared_tree({{0, 0}, {1, 0}, {2, 1}, {4, 0}});
  const Inventory inventory = inventory_of(graph, from);
  const Order order = trees::TreeKind(graph).order(to.subject, &to, inventory);
  std::map<std::uint32_t, unsigned> moves;
  for (const Move& move : order.moves) {
    ++moves[move.at.value];
  }
  EXPECT_EQ(moves, (std::map<std::uint32_t, unsigned>{{0, 2}, {3, 1}, {4, 2}}));
}

/// A coordinator and its switches, with the check after each message.
class SharedTreeTest : public CoordinatorTest {
protected:
  [[nodiscard]] bool circles_now() {
    Entries entries;
    for (std::uint32_t i = 0; i < fabric.switches.size(); ++i) {
      const auto tree = fabric.switches[i]->trees.find(tree7.value);
      if (tree == fabric.switches[i]->trees.end()) {
        continue;
      }
      Entry& entry = entries[i];
      entry.shared = tree->second.shared;
      PortSet ports(tree->second.children);
      ports.insert(PortNumber{static_cast<std::uint8_t>(tree->second.parent)});
      ports.for_each([&](PortNumber port) {
        if (port.value < test::first_host_port) {
          entry.neighbours.push_back(port.value);
        }
      });
    }
    return circles(entries);
  }
  [[nodiscard]] unsigned sharing() const {
    return static_cast<unsigned>(std::ranges::count_if(fabric.switches, [](const auto& s) {
      const auto tree = s->trees.find(tree7.value);
      return tree != s->trees.end() && tree->second.shared;
    }));
  }
};

TEST_F(SharedTreeTest, a_move_takes_the_flag_off_and_sets_it_when_all_have_their_ports) {
  fabric.set_tree(shared_tree({{0, 0}, {1, 0}, {2, 1}}));
  fabric.run();
  EXPECT_EQ(sharing(), 3U);
  const auto number = fabric.set_tree(shared_tree({{0, 0}, {2, 0}, {1, 2}}));
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_EQ(sharing(), 3U);
  EXPECT_TRUE(fabric.out_of_sync(tree7).empty());
}

TEST_F(SharedTreeTest, a_switch_lost_with_its_old_ports_keeps_the_others_from_sharing) {
  fabric.set_tree(shared_tree({{0, 0}, {1, 0}, {2, 1}, {3, 2}}));
  fabric.run();
  const auto number = fabric.set_tree(shared_tree({{0, 0}, {3, 0}, {2, 3}, {1, 2}}));
  fabric.deliver_all_down(); // Prepare
  for (std::size_t i = 0; i < 4; ++i) {
    while (!fabric.channels[i].up.empty()) {
      fabric.deliver_up(i);
    }
  }
  fabric.break_channel(s2); // before its Commit
  fabric.run();
  EXPECT_EQ(ended(number).result, Result::committed);
  EXPECT_FALSE(circles_now());
  EXPECT_TRUE(at(s2).trees.at(7).shared) << "it still has its old part";
  EXPECT_EQ(sharing(), 1U);
  fabric.connect(s2);
  fabric.run();
  EXPECT_EQ(sharing(), 4U);
  EXPECT_TRUE(fabric.out_of_sync(tree7).empty());
}

TEST_F(SharedTreeTest, nothing_circles_whatever_is_lost_and_when) {
  test::Random random(test::seed());
  for (unsigned round = 0; round < 400; ++round) {
    if (random() % 8 == 0) {
      fabric.remove_tree(tree7);
    } else {
      fabric.set_tree(shared_tree(test::random_parents(random, 4), random() % 8 != 0));
    }
    for (unsigned step = random() % 60; step > 0; --step) {
      const std::size_t i = random() % 4;
      const SwitchId s{static_cast<std::uint32_t>(i)};
      switch (random() % 24) {
      case 0: fabric.break_channel(s); break;
      case 1: fabric.kill_switch(s); break;
      case 2: fabric.connect_all(); break;
      case 3: fabric.advance(random() % 3'000'000'000); break;
      default:
        if (random() % 2 == 0 && fabric.can_deliver_down(i)) {
          fabric.deliver_down(i);
        } else if (!fabric.channels[i].up.empty()) {
          fabric.deliver_up(i);
        }
      }
      ASSERT_FALSE(circles_now()) << "round " << round;
    }
    if (random() % 4 == 0) {
      fabric.connect_all();
      fabric.run();
      ASSERT_FALSE(circles_now()) << "round " << round;
      ASSERT_TRUE(fabric.out_of_sync(tree7).empty()) << "round " << round;
      const Target* const wanted = fabric.wanted(tree7);
      ASSERT_EQ(sharing(),
                wanted != nullptr && trees::frames_of(*wanted->parts.front().content).shared
                    ? wanted->parts.size()
                    : 0U);
    }
  }
}

} // namespace
} // namespace tributary::transaction
