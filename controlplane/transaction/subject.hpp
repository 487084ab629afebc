// The subject of a change: one numbered object of some kind (a tree, a set of routes), and what one
// switch holds of it.
//
// Only its kind interprets a content (kind.hpp). Contents are immutable, so that wanted, installed
// and pending state share one copy.
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
/// One channel of one switch, from its hello to its end. Never reused.
using SessionNumber = Strong<struct SessionNumberTag, std::uint64_t>;
/// Defined by the room of each kind; unique.
using KindNumber = Strong<struct KindNumberTag, std::uint8_t>;

/// An object that switches hold parts of: its kind, and its number in the kind.
struct Subject {
  KindNumber kind;
  std::uint64_t number = 0;
  friend auto operator<=>(const Subject&, const Subject&) = default;
};

/// What one switch holds of a subject.
class Content {
public:
  virtual ~Content() = default;
  /// Whether a switch that holds one needs no update to the other. Both of the same kind.
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

/// A permission needed at a port: frames with this VNI may enter there, and only from this NID.
struct Need {
  topology::Attachment at;
  Vni vni;
  std::optional<Nid> nid{}; ///< nothing: a host whose NID is not checked
  /// Also only with VNIs that are needed there.
  bool closes = false;
  friend bool operator==(const Need&, const Need&) = default;
};

/// The wanted state of one subject in all switches.
struct Target {
  Subject subject;
  std::vector<Part> parts; ///< without repetition; at least one, unless its kind has only needs
  std::vector<Need> needs;
  friend bool operator==(const Target&, const Target&) = default;
};

} // namespace tributary::transaction
