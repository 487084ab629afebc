// Trees as subjects of transactions: what a switch holds of one, what no table can hold, and the
// order of updates (order.hpp).
//
// Pure. The graph provides the other end of a port.
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
/// Nothing for a subject of another kind.
[[nodiscard]] std::optional<TreeNumber> tree_of(const std::optional<transaction::Subject>& subject);

/// The trees among these contents, by number.
[[nodiscard]] std::vector<TreeNumber>
trees_among(const std::map<transaction::Subject, transaction::ContentPtr>& contents);

/// One tree in the table of one switch.
class TreeContent final : public transaction::Content {
public:
  explicit TreeContent(multicast::TreePart part, const records::WideFrames& frames = {})
      : part_(std::move(part)), frames_(frames) {}
  /// The depth of content that a switch reported is unknown.
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

/// The port of a member's host: frames with the tree's VNI may enter there, and only from the
/// host's NID.
struct Edge {
  topology::Attachment at;
  std::optional<Nid> nid{}; ///< nothing: a host whose NID is not checked
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// A tree under the number in its frames. Parts are those of `multicast::orient`: at least one,
/// without repetition, the root host's at depth 0. With `frames.in_switch`, that switch sends
/// in-switch results, and waits for the root as well.
[[nodiscard]] transaction::Target target_of(TreeNumber number,
                                            std::span<const multicast::TreePart> parts, Vni vni,
                                            std::span<const Edge> edges,
                                            const records::WideFrames& frames = {});

class TreeKind final : public transaction::Kind {
public:
  /// The graph must outlive it.
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
  /// Null while frames could then loop back to the switch, given what all others may hold; not
  /// shared while shared frames could (shared_order.hpp).
  [[nodiscard]] transaction::ContentPtr
  alone(const transaction::Subject& subject, const transaction::Part& part,
        const transaction::Inventory& inventory) const override;

private:
  /// The switch at the other end of a port, if any.
  [[nodiscard]] std::optional<topology::SwitchId> neighbour(topology::SwitchId at,
                                                            topology::Port port) const;
  /// The switches to which this one may send the tree's frames up.
  [[nodiscard]] std::vector<topology::SwitchId>
  pointers(topology::SwitchId at, const transaction::Subject& subject,
           const transaction::Inventory& inventory) const;

  const topology::Graph* graph_;
};

} // namespace tributary::trees
