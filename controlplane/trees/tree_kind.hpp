// Trees as subjects of transactions: what a switch holds of one, what no table can hold, and in
// which order switches are told (order.hpp).
//
// Pure. The graph is looked at for what is at the other end of a port.
#pragma once

#include "controlplane/multicast/tree.hpp"
#include "controlplane/records/wide_frames.hpp"
#include "controlplane/topology/graph.hpp"
#include "controlplane/transaction/kind.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tributary::trees {

inline constexpr transaction::KindNumber tree_kind{1};

[[nodiscard]] constexpr transaction::Subject subject_of(TreeNumber tree) {
  return {tree_kind, tree.value};
}
/// None for a subject of another kind.
[[nodiscard]] std::optional<TreeNumber> tree_of(const std::optional<transaction::Subject>& subject);

/// Of what a switch is to hold, the trees, by number.
[[nodiscard]] std::vector<TreeNumber>
trees_among(const std::map<transaction::Subject, transaction::ContentPtr>& contents);

/// One tree in the table of one switch.
class TreeContent final : public transaction::Content {
public:
  explicit TreeContent(multicast::TreePart part, const records::WideFrames& frames = {})
      : part_(std::move(part)), frames_(frames) {}
  /// The depth is not known of what a switch has told of itself.
  [[nodiscard]] const multicast::TreePart& part() const { return part_; }
  [[nodiscard]] const records::WideFrames& frames() const { return frames_; }
  [[nodiscard]] bool same_as(const transaction::Content& other) const override;

private:
  multicast::TreePart part_;
  records::WideFrames frames_;
};

/// Requires content of a tree.
[[nodiscard]] const multicast::TreePart& part_of(const transaction::Content& content);
[[nodiscard]] const records::WideFrames& frames_of(const transaction::Content& content);

/// The port of a member's host: frames with the tree's VNI must be let in there, and none that come
/// from another NID than the host's.
struct Edge {
  topology::Attachment at;
  std::optional<Nid> nid{}; ///< none: of a host that may say what it likes
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// A tree under the number its frames carry. Parts are as `multicast::orient` gives them: at least
/// one, each switch once, the root host's at depth 0. Where `frames.turns`, that one turns results
/// round, and waits for the root as well.
[[nodiscard]] transaction::Target target_of(TreeNumber number,
                                            std::span<const multicast::TreePart> parts, Vni vni,
                                            std::span<const Edge> edges,
                                            const records::WideFrames& frames = {});

class TreeKind final : public transaction::Kind {
public:
  /// The graph outlives it.
  explicit TreeKind(const topology::Graph& graph) : graph_(&graph) {}

  [[nodiscard]] transaction::KindNumber number() const override { return tree_kind; }
  [[nodiscard]] std::string describe(const transaction::Subject& subject) const override;
  [[nodiscard]] std::optional<std::string>
  object_to(const transaction::Target& target) const override;
  [[nodiscard]] std::optional<std::string>
  object_to(const transaction::Subject& subject, const transaction::Part& part,
            const transaction::Inventory::Switch& at) const override;
  [[nodiscard]] transaction::Order order(const transaction::Subject& subject,
                                         const transaction::Target* target,
                                         const transaction::Inventory& inventory) const override;
  /// Nothing while frames could come back to the switch then, by what all others may hold.
  [[nodiscard]] transaction::ContentPtr
  alone(const transaction::Subject& subject, const transaction::Part& part,
        const transaction::Inventory& inventory) const override;

private:
  /// The switch at the other end of a port, if a switch is there.
  [[nodiscard]] std::optional<topology::SwitchId> neighbour(topology::SwitchId at,
                                                            topology::Port port) const;
  /// The switches to which this one may send the tree's frames up.
  [[nodiscard]] std::vector<topology::SwitchId>
  pointers(topology::SwitchId at, const transaction::Subject& subject,
           const transaction::Inventory& inventory) const;

  const topology::Graph* graph_;
};

} // namespace tributary::trees
