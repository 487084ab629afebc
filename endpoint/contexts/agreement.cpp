#include "endpoint/contexts/agreement.hpp"

#include <algorithm>
#include <bit>

namespace tributary::contexts {

std::string_view text_of(Result result) {
  switch (result) {
  case Result::none: return "the agreement is not over";
  case Result::context: return "there is a context";
  case Result::used_up: return "no ids are free on the trees of these nodes";
  case Result::unowned: return "other communicators of these nodes are being made";
  case Result::differs:
    return "members made different communicators at the same time, or have different versions of "
           "the library";
  case Result::damaged: return "a member offers ids that this node did not offer";
  case Result::abandoned: return "the reduction of the parent communicator did not complete";
  }
  return "";
}

namespace {

constexpr std::uint16_t last_page(Layout layout) {
  return static_cast<std::uint16_t>(NodeTable::entries_per_pool / entries_of_page(layout) - 1);
}
static_assert(NodeTable::entries_per_pool % entries_of_page(Layout::summaries) == 0);
static_assert(NodeTable::entries_per_pool % entries_of_page(Layout::units) == 0);

} // namespace

Agreement::Agreement(ProcessId process, const Request& request)
    : process_(process), request_(request) {
  request_.page = std::min(request.page, last_page(Layout::summaries));
  page_ = request_.page;
  outcome_.page = page_;
}

std::uint32_t Agreement::first_entry() const { return page_ * entries_of_page(layout_); }

std::uint32_t Agreement::signature() const {
  const std::uint64_t hash = hash_of(
      {version, request_.nodes.value, request_.parent.cookie.value, request_.parent.tie,
       request_.number, static_cast<std::uint64_t>(request_.size), request_.short_calls ? 1U : 0U,
       static_cast<std::uint64_t>(state_), static_cast<std::uint64_t>(layout_), page_, steps_});
  return static_cast<std::uint32_t>(hash >> 40U);
}

OfferWords Agreement::begin(NodeTable& table) {
  pool_ = table.open(request_.nodes);
  outcome_.table_full = !pool_;
  if (pool_) {
    table.count_agreement(*pool_);
  }
  return offer(table);
}

OfferWords Agreement::offer(NodeTable& table) {
  Offer mine;
  mine.signature = signature();
  ++steps_;
  if (!pool_) {
    // It has nothing to give, and owns all of that: so the others do not ask again.
    mine.owns_eager = true;
    mine.owns_reserve = state_ != State::eager;
    mine.nothing_beyond = true;
    return offered_ = encode(mine);
  }
  const std::uint32_t first = first_entry();
  const std::uint32_t count = entries_of_page(layout_);
  mine.owns_reserve = state_ != State::eager && table.take_reserve(*pool_, id());
  // Later both or none: the one that has the reserve everywhere has the eager parts, too, unless an
  // agreement waits with them for a late member.
  mine.owns_eager = (state_ == State::eager || mine.owns_reserve) && table.take_eager(*pool_, id());
  mine.nothing_beyond = !table.has_tree_from(*pool_, first + count);
  mine.may_grow = table.may_grow(*pool_);
  for (std::uint32_t at = 0; at < count; ++at) {
    const PartMask free = table.free_parts(*pool_, first + at);
    if (free != 0) {
      const Partition partition(table.tree_at(*pool_, first + at)->facts.slots);
      const PartMask owned =
          (mine.owns_eager ? partition.eager() : 0) | (mine.owns_reserve ? partition.reserve() : 0);
      mine.set(layout_, at,
               layout_ == Layout::summaries ? partition.summary_of(free & owned)
                                            : free & owned & ~Partition::half);
    } else if (layout_ == Layout::summaries && table.is_vacant(*pool_, first + at)) {
      mine.vacant = static_cast<std::uint16_t>(mine.vacant | 1U << at);
    }
  }
  return offered_ = encode(mine);
}

std::optional<OfferWords> Agreement::reduced(NodeTable& table, const OfferWords& result) {
  if (is_over()) {
    return std::nullopt;
  }
  ++outcome_.reductions;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if ((result[i] & ~offered_[i]) != 0) {
      return finish(table, Result::damaged);
    }
  }
  const std::optional<Offer> common = decode(result);
  if (!common) {
    return finish(table, Result::differs);
  }
  switch (state_) {
  case State::eager: {
    const auto choice = common->owns_eager ? choose(table, *common) : std::nullopt;
    if (choice && !take(table, *choice)) {
      return finish(table, Result::damaged);
    }
    const bool grows = common->nothing_beyond && common->may_grow && is_low(table, *common);
    if (choice && !grows) {
      return finish(table, Result::context);
    }
    // All members have entered: from now on it may own the reserve.
    state_ = choice ? State::growth : State::search;
    return offer_again(table);
  }
  case State::search: return search_in(table, *common);
  case State::growth:
    if (!common->owns_reserve && ++tries_ < most_growth_tries) {
      return offer_again(table);
    }
    grow(table, *common);
    return finish(table, Result::context);
  }
  return finish(table, Result::damaged);
}

OfferWords Agreement::offer_again(NodeTable& table) {
  pool_ = table.open(request_.nodes); // it may have given way while this agreement owned nothing
  if (pool_) {
    table.let_go(*pool_, id());
    table.wait(*pool_, id());
  }
  return offer(table);
}

std::optional<OfferWords> Agreement::search_in(NodeTable& table, const Offer& common) {
  if (!common.owns_reserve) {
    if (++tries_ >= most_unowned) {
      return finish(table, Result::unowned);
    }
    return offer_again(table);
  }
  unowned_ = unowned_ || !common.owns_eager;
  if (const auto choice = choose(table, common)) {
    if (!take(table, *choice)) {
      return finish(table, Result::damaged);
    }
    grow(table, common);
    return finish(table, Result::context);
  }
  grow(table, common);
  if (!turn_page(common)) {
    return finish(table, unowned_ ? Result::unowned : Result::used_up);
  }
  return offer(table);
}

bool Agreement::turn_page(const Offer& common) {
  // Whatever the result says: this node never offers that something is beyond the last page.
  const bool was_last = common.nothing_beyond || page_ >= last_page(layout_);
  if (layout_ == Layout::units) {
    ++page_;
    return !was_last;
  }
  if (!was_last) {
    ++page_;
  } else if (!wrapped_) {
    wrapped_ = true;
    page_ = 0;
  } else {
    page_ = request_.page;
  }
  if (wrapped_ && page_ >= request_.page) { // all pages were seen
    layout_ = Layout::units;
    page_ = 0;
    return request_.short_calls && request_.size == RangeSize::full;
  }
  return true;
}

PartMask Agreement::parts_of(const NodeTable& table, const Offer& common, std::uint32_t at) const {
  const std::uint64_t bits = common.get(layout_, at);
  if (bits == 0 || !pool_) {
    return 0;
  }
  const Tree* const tree = table.tree_at(*pool_, first_entry() + at); // it was offered here
  if (tree == nullptr) {
    return 0;
  }
  return layout_ == Layout::summaries
             ? Partition(tree->facts.slots).parts_of_summary(static_cast<std::uint16_t>(bits))
             : bits;
}

std::optional<Agreement::Choice> Agreement::choose(const NodeTable& table,
                                                   const Offer& common) const {
  const auto first = [&](RangeSize size) -> std::optional<Choice> {
    for (std::uint32_t at = 0; at < entries_of_page(layout_); ++at) {
      const PartMask parts = parts_of(table, common, at);
      if (parts == 0) {
        continue;
      }
      const std::uint32_t entry = first_entry() + at;
      const Partition partition(table.tree_at(*pool_, entry)->facts.slots);
      if (const auto range = partition.first(size, parts, request_.short_calls)) {
        return Choice{static_cast<std::uint16_t>(entry), *range};
      }
    }
    return std::nullopt;
  };
  if (layout_ == Layout::summaries) {
    return first(request_.size);
  }
  const auto four = first(RangeSize::four);
  return four ? four : first(RangeSize::two);
}

bool Agreement::take(NodeTable& table, const Choice& choice) {
  const Cookie cookie = cookie_of_child(request_.parent, request_.number);
  if (!table.take(*pool_, choice.entry, choice.parts, process_, cookie)) {
    return false;
  }
  const Tree& tree = *table.tree_at(*pool_, choice.entry);
  outcome_.context =
      Context{request_.nodes, tree.name, Partition(tree.facts.slots).ids_of(choice.parts), cookie};
  outcome_.page = static_cast<std::uint16_t>(choice.entry / entries_of_page(Layout::summaries));
  taken_ = choice;
  return true;
}

bool Agreement::is_low(const NodeTable& table, const Offer& common) const {
  if (request_.size == RangeSize::half && !taken_) {
    return !choose(table, common);
  }
  PartMask left = 0;
  for (std::uint32_t at = 0; at < entries_of_page(layout_); ++at) {
    PartMask parts = parts_of(table, common, at);
    if (taken_ && taken_->entry == first_entry() + at) {
      parts &= ~taken_->parts;
    }
    if (parts != 0 && common.owns_eager) {
      parts &= Partition(table.tree_at(*pool_, first_entry() + at)->facts.slots).eager();
    }
    left |= parts;
  }
  return left == 0;
}

void Agreement::grow(NodeTable& table, const Offer& common) {
  if (grown_ || !pool_ || layout_ != Layout::summaries || !common.owns_reserve ||
      !common.nothing_beyond || !common.may_grow || !is_low(table, common)) {
    return;
  }
  grown_ = true;
  constexpr std::uint32_t entries = entries_of_page(Layout::summaries);
  std::uint32_t vacant = common.vacant;
  std::uint32_t first = first_entry();
  const std::uint32_t used = entries - static_cast<std::uint32_t>(std::popcount(vacant));
  if (vacant == 0) { // the next page is vacant everywhere
    first += entries;
    vacant = first < NodeTable::entries_per_pool ? (1U << entries) - 1 : 0;
  }
  std::uint32_t count = std::clamp(used / 4, 1U, NodeTable::most_trees_at_once);
  for (; vacant != 0 && count > 0; vacant &= vacant - 1, --count) {
    const std::uint32_t entry = first + static_cast<std::uint32_t>(std::countr_zero(vacant));
    const std::uint64_t hash = hash_of({request_.nodes.value, request_.parent.cookie.value,
                                        request_.parent.tie, request_.number, entry});
    const TreeName name{hash == 0 ? 1 : hash};
    if (table.assign(*pool_, entry, name, process_)) {
      outcome_.wanted.push_back({name, static_cast<std::uint16_t>(entry)});
    }
    if (!taken_) {
      outcome_.page = static_cast<std::uint16_t>(entry / entries);
    }
  }
}

void Agreement::abandon(NodeTable& table) {
  if (!is_over()) {
    finish(table, Result::abandoned);
  }
}

std::nullopt_t Agreement::finish(NodeTable& table, Result result) {
  outcome_.result = result;
  if (result != Result::context && outcome_.context) { // a later result showed that it is not one
    table.release(process_, *outcome_.context);
    outcome_.context.reset();
  }
  if (pool_) {
    table.end(*pool_, id());
  }
  return std::nullopt;
}

} // namespace tributary::contexts
