#include "controlplane/group/number_pool.hpp"

#include <algorithm>
#include <bit>

namespace tributary::group {

NumberPool::NumberPool(std::uint32_t first, std::uint32_t last)
    : first_(first), last_(last), next_(first), used_(last / 64 + 1) {}

std::optional<std::uint32_t> NumberPool::fresh_in(std::uint32_t from, std::uint32_t end) const {
  for (std::uint32_t at = from; at < end; at = (at / 64 + 1) * 64) {
    const std::uint64_t free = ~used_[at / 64] >> (at % 64);
    if (free != 0) {
      const std::uint32_t number = at + static_cast<std::uint32_t>(std::countr_zero(free));
      return number < end ? std::optional(number) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> NumberPool::take(std::uint32_t limit) {
  const std::uint32_t end = std::min(limit, last_ + 1);
  auto number = fresh_in(next_, end);
  if (!number) {
    number = fresh_in(first_, std::min(next_, end));
  }
  if (number) {
    next_ = *number == last_ ? first_ : *number + 1;
  } else {
    const auto rested =
        std::ranges::find_if(resting_, [end](const auto& each) { return each.second < end; });
    if (rested == resting_.end()) {
      return std::nullopt;
    }
    number = rested->second;
  }
  take_exactly(*number);
  return number;
}

bool NumberPool::take_exactly(std::uint32_t number) {
  if (!contains(number) || taken(number)) {
    return false;
  }
  if (const auto found = since_.find(number); found != since_.end()) {
    resting_.erase(found->second);
    since_.erase(found);
  }
  used_[number / 64] |= std::uint64_t{1} << (number % 64);
  ++in_use_;
  return true;
}

void NumberPool::give_back(std::uint32_t number) {
  if (contains(number) && taken(number)) {
    since_.emplace(number, given_back_);
    resting_.emplace(given_back_++, number);
    --in_use_;
  }
}

bool NumberPool::taken(std::uint32_t number) const {
  return contains(number) && (used_[number / 64] >> (number % 64) & 1) != 0 &&
         !since_.contains(number);
}

void NumberPool::go_on_at(std::uint32_t next) {
  if (contains(next)) {
    next_ = next;
  }
}

} // namespace tributary::group
