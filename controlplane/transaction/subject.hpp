// What a change is about: one numbered thing of some kind (a tree, a set of routes), and what one
// switch holds of it.
//
// What is in a content only its kind knows (kind.hpp). Contents are never changed once made, so
// that what is wanted, what is in force and what is on its way share one copy.
//
// Plain data.
#pragma once

#include "controlplane/topology/graph.hpp"
#include "tributary/types.hpp"

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tributary::transaction {

using topology::SwitchId;

/// Epoch of the manager in the upper 32 bits, a counter from 1 in the lower.
using TransactionNumber = Strong<struct TransactionNumberTag, std::uint64_t>;
/// One channel of one switch, from its hello to its end. Never given twice.
using SessionNumber = Strong<struct SessionNumberTag, std::uint64_t>;
/// Given by the room of each kind; no two have the same.
using KindNumber = Strong<struct KindNumberTag, std::uint8_t>;

/// One thing that switches hold parts of: its kind, and its number among those.
struct Subject {
  KindNumber kind;
  std::uint64_t number = 0;
  friend auto operator<=>(const Subject&, const Subject&) = default;
};

/// What one switch holds of a subject.
class Content {
public:
  virtual ~Content() = default;
  /// Whether a switch that holds the one need not be told the other. Of the same kind.
  [[nodiscard]] virtual bool same_as(const Content& other) const = 0;
};
/// Null: the switch holds nothing of the subject.
using ContentPtr = std::shared_ptr<const Content>;

[[nodiscard]] inline bool same(const ContentPtr& a, const ContentPtr& b) {
  return a == b || (a && b && a->same_as(*b));
}

/// What one switch is to hold.
struct Part {
  SwitchId at;
  ContentPtr content; ///< not null
  friend bool operator==(const Part& a, const Part& b) {
    return a.at == b.at && same(a.content, b.content);
  }
};

/// A permission that somebody needs at a port: frames with this VNI must be let in there, and none
/// that come from another NID.
struct Need {
  topology::Attachment at;
  Vni vni;
  std::optional<Nid> nid{}; ///< none: of a host that may say what it likes
  /// And none of other VNIs, but for those that are needed there, too.
  bool closes = false;
  friend bool operator==(const Need&, const Need&) = default;
};

/// What is to be in force of one subject in all switches.
struct Target {
  Subject subject;
  std::vector<Part> parts; ///< each switch once; at least one, unless its kind has needs alone
  std::vector<Need> needs;
  friend bool operator==(const Target&, const Target&) = default;
};

} // namespace tributary::transaction
