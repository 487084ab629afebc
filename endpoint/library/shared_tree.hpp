// A tree that a host has joined, and what the groups on it share. A group that was joined has a
// tree to itself until its first dup; from then on it uses the first half of the ids, and groups
// that are dups of it, or of its dups, use ranges of the rest (endpoint/contexts). Further trees
// for them are joined in the background, under names that their agreements make.
#pragma once

#include "endpoint/collective/group_parameters.hpp"
#include "endpoint/contexts/context.hpp"
#include "endpoint/contexts/node_table.hpp"
#include "endpoint/library/named_group.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace tributary::library {

struct SharedTree {
  /// The members, as what identifies the group that was joined; the same at all of them.
  contexts::NodeSet nodes;
  /// Its name in the host's table.
  contexts::TreeName name;
  /// This member's, for all ids of the tree.
  collective::GroupParameters parameters;
  std::optional<NamedGroup> named; ///< one that the fabric manager made
  /// It was joined by a program, whose tributary_leave ends it; others serve dups only.
  bool is_joined = true;
  /// The program gave a range of its ids: other processes have the others.
  bool is_range = false;
  /// The program keeps it for other processes, and has no ids of it itself.
  bool is_kept = false;
  std::uint32_t moves = 0; ///< how often the manager has moved it
  bool listens = false;    ///< the host keeps early frames of it
  bool leaving = false;
  /// Groups with a call that waits for long: the agent then asks for news often.
  std::uint32_t waiting_long = 0;
};

/// The names of a tree that a program has joined: of its members, and in the table.
inline void name_tree(SharedTree& tree) {
  const collective::GroupParameters& p = tree.parameters;
  std::uint64_t who = contexts::hash_of({p.cookie.value, p.vni.value, p.size});
  if (tree.named) { // the manager may have moved it at some members already, and not at others
    const manager_client::JoinRequest& request = tree.named->request;
    for (const std::string_view text :
         {std::string_view(tree.named->membership.job), std::string_view(request.group)}) {
      for (const char each : text) {
        who = contexts::hash_of({who, static_cast<unsigned char>(each)});
      }
      who = contexts::hash_of({who, text.size()});
    }
  } else {
    who = contexts::hash_of({who, p.tree.value, p.root_rank});
  }
  tree.nodes = contexts::NodeSet{who == 0 ? 1 : who};
  const std::uint64_t name = contexts::hash_of({who, 0});
  tree.name = contexts::TreeName{name == 0 ? 1 : name};
}

/// What the table knows of it.
[[nodiscard]] inline contexts::TreeFacts facts_of(const collective::GroupParameters& p) {
  return {.tree = p.tree,
          .twin = p.twin.value_or(TreeNumber{0}),
          .has_twin = p.twin.has_value(),
          .in_switch_results = p.in_switch,
          .vni = p.vni,
          .cookie = p.cookie,
          .root_nid = p.root_nid.value_or(Nid{0}),
          .root_rank = p.root_rank,
          .slots = p.ids_of_tree(),
          .payload = p.payload};
}

/// `member` on this tree: its own ids, cookie, ranks and times, and all that is the tree's.
[[nodiscard]] inline collective::GroupParameters on_tree(collective::GroupParameters member,
                                                         const collective::GroupParameters& tree) {
  member.tree = tree.tree;
  member.twin = tree.twin;
  member.vni = tree.vni;
  member.root_rank = tree.root_rank;
  member.root_nid = tree.root_nid;
  member.payload = tree.payload;
  member.in_switch = tree.in_switch;
  member.shared = tree.shared;
  member.tree_slots = tree.ids_of_tree();
  return member;
}

/// The parameters of a context of a tree. `times`: the parameters of its protocol.
[[nodiscard]] inline collective::GroupParameters
parameters_of_context(const collective::GroupParameters& tree, const contexts::Context& context,
                      const collective::GroupParameters& times) {
  collective::GroupParameters member = on_tree(times, tree);
  member.rank = tree.rank;
  member.size = tree.size;
  member.slots = context.ids.count;
  member.first_id = context.ids.first;
  member.cookie = context.cookie;
  member.first_sequence = context.first_sequence();
  return member;
}

} // namespace tributary::library
