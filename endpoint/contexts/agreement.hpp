// The agreement of a communicator's nodes on a context: which tree, which ids, which cookie. One
// object at the leader of each node; between them nothing but reductions (BAND) of four words.
//
//   Agreement agreement(process, parent.next(RangeSize::full, history.is_short()));
//   lock; OfferWords words = agreement.begin(table); unlock
//   for (;;) {
//     result = reduce(words, BAND)               by the parent's context or by the MPI library
//     lock; auto next = agreement.reduced(table, result); unlock
//     if (!next) break;
//     words = *next;
//   }
//   const Outcome& outcome = agreement.outcome();
//   parent.learn(outcome.page, outcome.context.has_value());
//
// When a reduction has no result (the parent's group has ended, a member is missing): `abandon`.
//
// Every step follows from the request and from the results alone, which are the same at all nodes;
// the table only adds what this node offers. So all nodes take the same steps and end alike.
//
//   state      the node offers                         result, and what follows
//
//   eager      eager parts of the first page, if       common range: taken
//              this agreement can own them here        none: search
//   search     the page's eager parts and reserve,     a node did not own its reserve: again
//              as far as it owns them here             common range: taken
//                                                      none: the next page; after the last one, for
//                                                      short calls, pages of units; then no context
//   growth     the same                                owned everywhere: a tree is asked for
//
// Two agreements at once. What an agreement offers it owns at its node until the result is here, so
// two are never given the same parts at a node on which both are alive. An agreement that does not
// own offers nothing, and does not wait until it does. In the state eager it may own for hours, for
// a member may be late; but only the eager parts. In the other states all members have entered: it
// owns the reserve for the time of a reduction only. Among those that wait for the reserve the
// lowest parent goes first at every node (NodeTable::wait). So the lowest of all that their members
// have entered succeeds after the reductions that are under way, and two that own a node each both
// end. Leaders must not leave an agreement to a program that computes: its steps are made by a call
// that blocks, or by a thread.
//
// Order. Agreements that own the reserve at all nodes are made in one order, the same at all nodes.
// What only they do, as the places of new trees, needs no other agreement.
//
// Asking ahead. The eager parts are three quarters of the ranges. The agreement that takes the last
// of them that is free at all nodes asks for the next trees: one for four that the page has, at
// most four at once, and none while another one is awaited.
//
// A hostile member can refuse everything, and forge results of its own communicator: parts that
// this node did not offer are `damaged`. It cannot make this node give a part to two contexts.
//
// Pure. One thread at a time; each call with the lock of the table held.
#pragma once

#include "endpoint/contexts/context.hpp"
#include "endpoint/contexts/node_table.hpp"
#include "endpoint/contexts/offer.hpp"
#include "tributary/types.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tributary::contexts {

/// How an agreement has ended. `context` to `unowned` are the same at all nodes.
enum class Result : std::uint8_t {
  none,      ///< not yet
  context,   ///< there is one
  used_up,   ///< no range is free at all nodes on any tree of these nodes
  unowned,   ///< other agreements owned what may be free
  differs,   ///< members began different agreements, or have different versions
  damaged,   ///< the result has what this node did not offer
  abandoned, ///< the owner gave up
};
/// For a message: "no ids are free on the trees of these nodes".
[[nodiscard]] std::string_view text_of(Result result);

struct Outcome {
  /// A tree that this node now joins, in the background, under a name made from `name`: then
  /// NodeTable::ready or ::refused. The same at all nodes.
  struct Wanted {
    TreeName name;
    std::uint16_t entry = 0;
    friend bool operator==(const Wanted&, const Wanted&) = default;
  };

  Result result = Result::none;
  std::optional<Context> context; ///< with Result::context
  std::vector<Wanted> wanted;     ///< with any result
  std::uint16_t page = 0;         ///< for Parent::learn
  std::uint32_t reductions = 0;   ///< made
  /// The table of this node has no room for the pool: it offered nothing.
  bool table_full = false;
};

class Agreement {
public:
  /// Version of the words and of the rules.
  static constexpr std::uint32_t version = 1;
  /// Reductions in which some node owned no reserve, after which the agreement ends.
  static constexpr std::uint32_t most_unowned = 10'000;

  Agreement(ProcessId process, const Request& request);

  /// The words of the first reduction. Called once.
  [[nodiscard]] OfferWords begin(NodeTable& table);
  /// Takes the result of the last words; returns the next ones, or nullopt: it is over.
  [[nodiscard]] std::optional<OfferWords> reduced(NodeTable& table, const OfferWords& result);
  /// Ends it without a result; nothing if it is over. This node takes nothing, though others may
  /// have: they hold it until they free it.
  void abandon(NodeTable& table);

  [[nodiscard]] bool is_over() const { return outcome_.result != Result::none; }
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }
  [[nodiscard]] const Request& request() const { return request_; }

private:
  enum class State : std::uint8_t { eager, search, growth };
  struct Choice {
    std::uint16_t entry;
    PartMask parts;
  };
  static constexpr std::uint32_t most_growth_tries = 3;

  [[nodiscard]] AgreementId id() const { return {process_, request_.parent}; }
  [[nodiscard]] std::uint32_t first_entry() const;
  [[nodiscard]] std::uint32_t signature() const;
  [[nodiscard]] OfferWords offer(NodeTable& table);
  /// Lets others go first that have precedence, and offers again.
  [[nodiscard]] OfferWords offer_again(NodeTable& table);
  [[nodiscard]] PartMask parts_of(const NodeTable& table, const Offer& common,
                                  std::uint32_t at) const;
  [[nodiscard]] std::optional<Choice> choose(const NodeTable& table, const Offer& common) const;
  [[nodiscard]] bool take(NodeTable& table, const Choice& choice);
  [[nodiscard]] bool is_low(const NodeTable& table, const Offer& common) const;
  void grow(NodeTable& table, const Offer& common);
  /// The next page of the search; false: there is none.
  [[nodiscard]] bool turn_page(const Offer& common);
  [[nodiscard]] std::optional<OfferWords> search_in(NodeTable& table, const Offer& common);
  std::nullopt_t finish(NodeTable& table, Result result);

  ProcessId process_;
  Request request_;
  State state_ = State::eager;
  Layout layout_ = Layout::summaries;
  std::uint16_t page_ = 0;
  bool wrapped_ = false; ///< the search went on at page 0
  bool unowned_ = false; ///< eager parts were not owned everywhere, so some may be free
  bool grown_ = false;
  std::uint32_t tries_ = 0; ///< reductions of this state in which some node owned no reserve
  std::uint32_t steps_ = 0; ///< reductions begun
  std::optional<NodeTable::PoolNumber> pool_; ///< none: the table is full
  std::optional<Choice> taken_;
  OfferWords offered_{};
  Outcome outcome_;
};

} // namespace tributary::contexts
