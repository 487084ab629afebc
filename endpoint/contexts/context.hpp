// A context: what one communicator needs of a tree that it shares with others. What members know of
// their communicator's agreements (Parent), how cookies are made, and how long a context is used.
//
// Everything here is the same at all members of a communicator without a message: it is made from
// the results of agreements and from the order of collective calls.
#pragma once

#include "endpoint/contexts/ranges.hpp"
#include "tributary/random.hpp"
#include "tributary/types.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <initializer_list>

namespace tributary::contexts {

/// A set of nodes and their job, as a hash of what identifies them (the job, the NIDs in ascending
/// order). Communicators over the same nodes have the same one, whatever the order of their ranks.
/// 0 is none.
using NodeSet = Strong<struct NodeSetTag, std::uint64_t>;
/// A tree that an agreement asked for; the name of its group at the manager is made from it. 0 is
/// none. A number is never used again.
using TreeName = Strong<struct TreeNameTag, std::uint64_t>;

/// A communicator in the order of precedence: where two agreements meet, the lower one goes first.
struct ParentIdentity {
  Cookie cookie;         ///< of its context; without one, a random number that its ranks share
  std::uint32_t tie = 0; ///< tells communicators with equal cookies apart
  friend constexpr auto operator<=>(const ParentIdentity&, const ParentIdentity&) = default;
};

struct Context {
  NodeSet nodes{};
  TreeName tree{};
  IdRange ids{};
  Cookie cookie{};
  friend constexpr bool operator==(const Context&, const Context&) = default;

  /// The sequence that the root begins with. A frame of the range's previous context would have to
  /// have the same cookie and a sequence that fits.
  [[nodiscard]] constexpr SequenceNumber first_sequence() const {
    return SequenceNumber{cookie.value * 0x9E3779B1U >> 16U & 511U};
  }
  /// As the parent of further ones.
  [[nodiscard]] constexpr ParentIdentity identity() const {
    return {cookie, static_cast<std::uint32_t>(tree.value) << 8U | ids.first.value};
  }
};

/// A hash of numbers in their order.
[[nodiscard]] constexpr std::uint64_t hash_of(std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t hash = 0x243F6A8885A308D3;
  for (const std::uint64_t number : numbers) {
    hash = Random(hash ^ number).next();
  }
  return hash;
}

/// The cookie of what the parent's agreement of that number makes. Not 0.
[[nodiscard]] constexpr Cookie cookie_of_child(ParentIdentity parent, std::uint32_t number) {
  const std::uint64_t hash = hash_of({parent.cookie.value, parent.tie, number});
  const auto cookie = static_cast<std::uint32_t>(hash ^ hash >> 32U);
  return Cookie{cookie == 0 ? 1 : cookie};
}

/// One agreement, as all members of the communicator begin it.
struct Request {
  NodeSet nodes;
  ParentIdentity parent;
  std::uint32_t number = 0; ///< counts the agreements of the parent
  /// `full` for a child. `half` for a context that moves because its calls are long (call_history.
  /// hpp): it is given the first half of a tree.
  RangeSize size = RangeSize::full;
  /// The parent makes short calls only, so four or two ids do where no full range is free.
  bool short_calls = false;
  std::uint16_t page = 0; ///< where the search begins
  friend constexpr bool operator==(const Request&, const Request&) = default;
};

/// What the members of a communicator know of its agreements; each member has its own copy.
class Parent {
public:
  /// Dups without a search, after several that found nothing.
  static constexpr std::uint32_t longest_pause = 63;

  Parent(NodeSet nodes, ParentIdentity identity, std::uint16_t page = 0)
      : nodes_(nodes), identity_(identity), page_(page) {}

  [[nodiscard]] ParentIdentity identity() const { return identity_; }
  [[nodiscard]] std::uint16_t page() const { return page_; }
  /// Whether this dup looks for a context; asked once for each. The MPI library serves a child
  /// without one, which may look again by itself (call_history.hpp).
  [[nodiscard]] bool looks() {
    if (pause_ > 0) {
      --pause_;
      return false;
    }
    return true;
  }
  /// The next agreement: of a dup, or of a move. One at a time; they are as collective as calls.
  [[nodiscard]] Request next(RangeSize size, bool short_calls) {
    return {nodes_, identity_, number_++, size, short_calls, page_};
  }
  /// The agreement of a dup is over, at this page of the pool. The next one begins there.
  void learn(std::uint16_t page, bool found) {
    page_ = page;
    misses_ = found ? 0 : misses_ + 1;
    pause_ = found ? 0 : std::min((1U << std::min(misses_ - 1, 30U)) - 1, longest_pause);
  }

private:
  NodeSet nodes_;
  ParentIdentity identity_;
  std::uint32_t number_ = 0;
  std::uint32_t misses_ = 0; ///< in a row
  std::uint32_t pause_ = 0;
  std::uint16_t page_;
};

/// When this node is done with a context: it was freed, and its calls here are complete. Only then
/// may the range be marked free (NodeTable::release).
class Lifetime {
public:
  /// A call begins. False: the context was freed, which a correct program never sees.
  [[nodiscard]] bool begin() {
    calls_ += freed_ ? 0 : 1;
    return !freed_;
  }
  /// A call is complete here. True: the node is done with the context.
  [[nodiscard]] bool end() { return --calls_ == 0 && freed_; }
  /// True: the node is done with it. Freed once.
  [[nodiscard]] bool free() {
    freed_ = true;
    return calls_ == 0;
  }
  [[nodiscard]] std::uint32_t calls() const { return calls_; }

private:
  std::uint32_t calls_ = 0;
  bool freed_ = false;
};

} // namespace tributary::contexts
