// The functions of tributary.h that make a group out of another one: the members agree on a context
// (endpoint/contexts/agreement.hpp) in reductions of the parent.
//
//   parent                    reductions
//
//   joined, its first dup     one in which it offers nothing, for its calls may still use all ids
//                             of the tree. When it and all calls before it are complete here, the
//                             group uses the half, and this host offers the rest: so an id that
//                             all offer is one under which no member misses a result
//   any                       those of the agreement
//   any, no ids are free      one that says whether a tree is awaited anywhere; then all wait for
//                             those that they await, and agree again
//
// All members do the same, for it follows from the results alone.
#include "endpoint/contexts/agreement.hpp"
#include "endpoint/library/boundary.hpp"
#include "endpoint/library/failure_text.hpp"
#include "endpoint/library/host.hpp"
#include "endpoint/library/multicast.hpp"
#include "endpoint/library/operations.hpp"
#include "endpoint/library/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

using tributary::collective::ElementType;
using tributary::collective::GroupParameters;
using tributary::contexts::Agreement;
using tributary::contexts::OfferWords;
using tributary::contexts::Outcome;
using tributary::contexts::Result;
using tributary::engine::Loop;
using tributary::library::fail;
using tributary::library::guarded;
using tributary::library::require;
namespace collective = tributary::collective;
namespace contexts = tributary::contexts;
namespace library = tributary::library;
namespace wire = tributary::wire;

namespace {

/// Trees that one dup waits for: another one is awaited only if other dups took the ids of the
/// last.
constexpr int most_trees_awaited = 8;

class Dup {
public:
  Dup(Loop::Lock& lock, tributary_group& parent, contexts::RangeSize size)
      : lock_(lock), parent_(parent), host_(*parent.host), size_(size) {}

  /// Returns a code of the C API; with TRIBUTARY_OK there is a context, which the host has taken.
  [[nodiscard]] int agree();
  [[nodiscard]] const contexts::Context& context() const { return *outcome_.context; }

private:
  /// The AND of all members' words.
  [[nodiscard]] int reduce(const OfferWords& words, OfferWords& result);
  /// One agreement. An outcome without a context is none of its errors.
  [[nodiscard]] int agree_once();
  /// Waits for the calls that use the tree's other ids, and gives these up.
  void halve();
  /// `awaited`: whether a tree was awaited here, and afterwards at any member; none is any more.
  [[nodiscard]] int await_trees(bool& awaited);
  [[nodiscard]] bool awaits_tree() const {
    return host_.contexts().awaits_tree(parent_.tree->nodes);
  }
  [[nodiscard]] bool uses_whole_tree() const {
    return !parent_.is_dup &&
           parent_.member.parameters().slots == parent_.member.parameters().ids_of_tree();
  }

  Loop::Lock& lock_;
  tributary_group& parent_;
  tributary_host& host_;
  contexts::RangeSize size_;
  Outcome outcome_;
};

int Dup::reduce(const OfferWords& words, OfferWords& result) {
  return library::run_task(lock_, parent_,
                           {.op = wire::Opcode::bit_and,
                            .type = ElementType::uint64,
                            .in = reinterpret_cast<const std::byte*>(words.data()),
                            .out = reinterpret_cast<std::byte*>(result.data()),
                            .elements = words.size()},
                           nullptr);
}

int Dup::agree() {
  for (int trees = 0;; ++trees) {
    // One that is there since may not have been offered everywhere.
    const bool awaited_before = awaits_tree();
    if (const int code = agree_once(); code != TRIBUTARY_OK) {
      return code;
    }
    if (outcome_.context) {
      return TRIBUTARY_OK;
    }
    bool awaited = awaited_before || !outcome_.wanted.empty() || awaits_tree();
    if (outcome_.result != Result::used_up || trees == most_trees_awaited) {
      break;
    }
    if (const int code = await_trees(awaited); code != TRIBUTARY_OK) {
      return code;
    }
    if (!awaited) {
      break;
    }
  }
  const std::string& refusal = host_.contexts().refusal();
  const std::string_view why = contexts::text_of(outcome_.result);
  if (outcome_.result == Result::used_up || outcome_.result == Result::unowned) {
    return fail(host_.last_error, TRIBUTARY_ERR_FULL,
                fmt::format("{}{}{}; leave groups that are not needed, or join one of another name",
                            why, refusal.empty() ? "" : ": the last tree was refused: ", refusal));
  }
  return fail(host_.last_error, TRIBUTARY_ERR_OP_MISMATCH,
              fmt::format("the members did not agree on a group: {}", why));
}

int Dup::agree_once() {
  library::HostContexts& all = host_.contexts();
  contexts::NodeTable& table = all.table();
  if (!parent_.parent) {
    const contexts::Context identity = parent_.context.value_or(contexts::Context{
        parent_.tree->nodes, parent_.tree->name, {}, parent_.tree->parameters.cookie});
    parent_.parent.emplace(parent_.tree->nodes, identity.identity());
  }
  Agreement agreement(library::HostContexts::process, parent_.parent->next(size_, false));
  const auto end = [&] {
    outcome_ = agreement.outcome();
    parent_.parent->learn(outcome_.page, outcome_.context.has_value());
    host_.ask_for(outcome_.wanted, *parent_.tree);
  };
  std::optional<OfferWords> words = agreement.begin(table);
  while (words) {
    OfferWords result{};
    int code = TRIBUTARY_OK;
    try {
      code = reduce(*words, result);
    } catch (...) {
      agreement.abandon(table);
      end();
      throw;
    }
    if (code == TRIBUTARY_OK && uses_whole_tree() && contexts::decode(result)) {
      halve();
      code = parent_.member.failure() ? library::failure_code(parent_) : code;
    }
    if (code != TRIBUTARY_OK) {
      agreement.abandon(table);
      end();
      return code;
    }
    words = agreement.reduced(table, result);
  }
  end();
  return TRIBUTARY_OK;
}

void Dup::halve() {
  host_.loop().wait_through(
      lock_, [&] { return parent_.pipeline.is_idle() || parent_.member.failure().has_value(); });
  if (parent_.member.failure()) {
    host_.last_error = library::failure_text(parent_);
    return;
  }
  host_.divide(parent_);
}

int Dup::await_trees(bool& awaited) {
  // All bits are set where nothing is awaited.
  OfferWords words;
  words.fill(awaited ? 0 : ~std::uint64_t{0});
  OfferWords result{};
  if (const int code = reduce(words, result); code != TRIBUTARY_OK) {
    return code;
  }
  awaited = result !=
            OfferWords{~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}};
  host_.look_for_answers(true);
  host_.loop().wait_through(lock_,
                            [&] { return !awaits_tree() || parent_.member.failure().has_value(); });
  host_.look_for_answers(false);
  return TRIBUTARY_OK;
}

/// The parameters that a dup's protocol has: those of the options, or of its parent.
GroupParameters times_of(const tributary_group& parent, const tributary_group_options* options) {
  const GroupParameters& own = parent.member.parameters();
  if (options == nullptr) {
    return own;
  }
  tributary_group_options protocol = *options;
  const tributary_group_options usual = tributary_group_defaults();
  protocol.tree = own.tree.value;
  protocol.twin_tree = TRIBUTARY_NO_TREE;
  protocol.rank = own.rank;
  protocol.size = own.size;
  protocol.root_rank = own.root_rank;
  protocol.root_nid = TRIBUTARY_NID_UNKNOWN;
  protocol.slots = usual.slots;
  protocol.payload = usual.payload;
  protocol.in_switch_results = 0;
  protocol.shared = 0;
  protocol.cxi_compatible = 0;
  protocol.first_id = 0;
  protocol.ids = 0;
  protocol.first_sequence = 0;
  GroupParameters times = library::parameters_of(*parent.host, protocol);
  if (const std::string fault = fault_of(times); !fault.empty()) {
    throw std::invalid_argument(fault);
  }
  return times;
}

/// Faults that this host can see before it asks the others.
void require_possible(const tributary_group& parent) {
  require(parent.member.parameters().dialect == collective::Dialect::native,
          "a group that talks to cxi hosts has all ids of its tree, and no dups");
  library::require_ids(parent);
  require(!parent.tree->is_range,
          "this group was joined with a range of a tree's ids, and its host does not know who has "
          "the others; make dups where the whole tree was joined");
}

int make_dup(Loop::Lock& lock, tributary_group& parent, const GroupParameters& times,
             tributary_group** child, contexts::RangeSize size = contexts::RangeSize::full,
             std::optional<library::Lane> lane = {}) {
  Dup made(lock, parent, size);
  if (const int code = made.agree(); code != TRIBUTARY_OK) {
    return code;
  }
  tributary_host& host = *parent.host;
  try {
    *child = &host.add(lock, made.context(), times, lane);
  } catch (...) {
    host.contexts().release(made.context());
    throw;
  }
  return TRIBUTARY_OK;
}

} // namespace

int library::make_context(Loop::Lock& lock, tributary_group& parent, Lane lane,
                          contexts::RangeSize size, tributary_group** child) {
  require_possible(parent);
  return make_dup(lock, parent, times_of(parent, nullptr), child, size, lane);
}

int tributary_group_dup(tributary_group* parent, const tributary_group_options* options,
                        tributary_group** child) {
  if (child != nullptr) {
    *child = nullptr;
  }
  if (parent == nullptr) {
    return library::no_host("the parent");
  }
  return guarded(parent->host->last_error, [&] {
    require(child != nullptr, "no place for the group: child is NULL");
    auto lock = parent->host->loop().lock();
    require_possible(*parent);
    return make_dup(lock, *parent, times_of(*parent, options), child);
  });
}

int tributary_group_split(tributary_group* parent, int32_t colour,
                          const tributary_group_options* options, tributary_group** child) {
  if (child != nullptr) {
    *child = nullptr;
  }
  if (parent == nullptr) {
    return library::no_host("the parent");
  }
  std::string& message = parent->host->last_error;
  return guarded(message, [&] {
    require(child != nullptr, "no place for the group: child is NULL");
    auto lock = parent->host->loop().lock();
    require_possible(*parent);
    const GroupParameters times = times_of(*parent, options);
    const std::int64_t mine = std::max<std::int64_t>(colour, -1);
    const std::array<std::int64_t, 2> in{mine, -mine};
    std::array<std::int64_t, 2> largest{};
    const int code = library::run_task(lock, *parent,
                                       {.op = wire::Opcode::int_max,
                                        .type = ElementType::int64,
                                        .in = reinterpret_cast<const std::byte*>(in.data()),
                                        .out = reinterpret_cast<std::byte*>(largest.data()),
                                        .elements = in.size()},
                                       nullptr);
    if (code != TRIBUTARY_OK) {
      return code;
    }
    if (largest[0] != -largest[1]) {
      return fail(message, TRIBUTARY_ERR_ARGUMENT,
                  fmt::format("members have different colours, {} to {}: groups share a tree with "
                              "all its members; have the members of each part join a group of its "
                              "own by name",
                              -largest[1], largest[0]));
    }
    return mine < 0 ? static_cast<int>(TRIBUTARY_OK) : make_dup(lock, *parent, times, child);
  });
}
