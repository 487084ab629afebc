// No two live contexts share an id of a tree at any node. A context is live at a node from the end
// of its agreement there until the node is done with it. Knows nothing of tables and agreements.
#pragma once

#include "endpoint/contexts/context.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tributary::test {

class Oracle {
public:
  /// `is_broken(communicator)`: one of its members has died or given up, so that none of its calls
  /// can complete any more.
  Oracle(std::size_t nodes, std::function<bool(int)> is_broken)
      : is_broken_(std::move(is_broken)), live_(nodes) {}

  /// What is wrong with this, or "". Two communicators may share ids only at different nodes, and
  /// only if one of them is broken: a member that died may have offered ids in an agreement that
  /// the others complete later. No call of that one completes.
  [[nodiscard]] std::string take(std::size_t node, int communicator,
                                 const contexts::Context& context) {
    std::string fault;
    for (std::size_t other = 0; other < live_.size(); ++other) {
      for (const auto& [cookie, one] : live_[other]) {
        const bool shares = one.context.tree == context.tree &&
                            one.context.ids.overlaps(context.ids) && cookie != context.cookie;
        const bool may =
            other != node && (is_broken_(one.communicator) || is_broken_(communicator));
        if (shares && !may) {
          fault = "communicator " + std::to_string(communicator) + " at node " +
                  std::to_string(node) + " shares ids with communicator " +
                  std::to_string(one.communicator) + " at node " + std::to_string(other);
        }
      }
    }
    if (!live_[node].emplace(context.cookie, Live{communicator, context}).second) {
      fault = "a cookie is given twice";
    }
    return fault;
  }
  void shrink(std::size_t node, const contexts::Context& context) {
    if (const auto at = live_[node].find(context.cookie); at != live_[node].end()) {
      at->second.context.ids = context.ids;
    }
  }
  void done(std::size_t node, const contexts::Context& context) {
    live_[node].erase(context.cookie);
  }
  [[nodiscard]] std::size_t live(std::size_t node) const { return live_[node].size(); }

private:
  struct Live {
    int communicator;
    contexts::Context context;
  };
  std::function<bool(int)> is_broken_;
  std::vector<std::map<Cookie, Live>> live_; ///< by node
};

} // namespace tributary::test
