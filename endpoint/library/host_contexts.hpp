// The contexts of a host: groups that share a tree with the group that they are a dup of. Owns the
// table of what is free here (endpoint/contexts/node_table.hpp) and knows the trees that the host
// has joined. One per host; used under the loop's lock.
//
// A host is used by one thread at a time, so it makes one agreement at a time; the table's tokens
// are never contended. Trees are asked for by the thread of the membership agent.
#pragma once

#include "endpoint/contexts/agreement.hpp"
#include "endpoint/contexts/node_table.hpp"
#include "endpoint/library/membership_agent.hpp"
#include "endpoint/library/shared_tree.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tributary::library {

class HostContexts {
public:
  /// The host in its own table.
  static constexpr contexts::ProcessId process{1};

  /// Made with the first dup.
  [[nodiscard]] contexts::NodeTable& table();

  /// A tree that the host has joined; named here (name_tree).
  void add(const std::shared_ptr<SharedTree>& tree);
  /// Its group has been left.
  void remove(const SharedTree& tree);
  /// Null without one.
  [[nodiscard]] std::shared_ptr<SharedTree> find(contexts::TreeName name) const;
  [[nodiscard]] SharedTree* find(MembershipAgent::Ticket ticket) const;

  /// The tree of a group that was joined is entered into the table, where its members' agreements
  /// find it, and the group has the half of it. nullopt: the table is full.
  [[nodiscard]] std::optional<contexts::Context> enter(const SharedTree& tree);
  /// Gives up the tree that was not used for longest, if there is too little room for others, or
  /// the manager has refused one.
  void retire_if_full();
  /// Whether a tree that served dups is of no use any more.
  [[nodiscard]] bool is_gone(const SharedTree& tree) const {
    return !tree.is_joined && table_->find(tree.name) == nullptr;
  }
  /// Asks for the trees that an agreement wants, of the same members as `like`.
  void ask_for(std::span<const contexts::Outcome::Wanted> wanted, const SharedTree& like,
               MembershipAgent* agent);
  /// The manager's answer to that. `parameters`: of this member in a group. Returns whether the
  /// host keeps the tree; otherwise its group is to be left.
  bool take(const MembershipAgent::Answer& answer,
            const std::function<collective::GroupParameters(const NamedGroup&)>& parameters);
  /// Whether an answer is awaited that the members' next agreement may need.
  [[nodiscard]] bool awaits_tree(contexts::NodeSet nodes) const;
  /// Why the last tree was refused, or "".
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  /// This host is done with the context.
  void release(const contexts::Context& context);
  void moved(const SharedTree& tree);
  /// The group of the tree has ended.
  void ended(const SharedTree& tree);
  /// The members' joined group has been left: forgets its trees, and what was asked for. Returns
  /// those that are to be left at the manager.
  [[nodiscard]] std::vector<NamedGroup> forget(contexts::NodeSet nodes, MembershipAgent* agent);

  /// Calls `f(tree)` for all trees.
  template <typename F> void for_each(F&& f) {
    for (const auto& tree : trees_) {
      f(*tree);
    }
  }
  /// Contexts in use here, and trees that serve dups alone.
  [[nodiscard]] std::uint64_t in_use() const { return table_ ? table_->contexts() : 0; }
  [[nodiscard]] std::uint64_t further_trees() const;
  /// Contexts in use here on one tree.
  [[nodiscard]] std::uint64_t in_use_on(const SharedTree& tree) const;

private:
  /// Leaves those that are gone, and that no group uses any more.
  void drop_unused(MembershipAgent& agent);
  /// A tree that the manager was asked for.
  struct Asked {
    contexts::TreeName name;
    SharedTree tree; ///< as it will be
  };

  std::unique_ptr<contexts::NodeTable> table_;
  std::vector<std::shared_ptr<SharedTree>> trees_;
  std::vector<Asked> asked_;
  std::string refusal_;
  bool retires_ = false; ///< a tree was refused: an unused one goes before the next is asked for
};

} // namespace tributary::library
