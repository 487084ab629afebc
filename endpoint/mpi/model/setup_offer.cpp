#include "endpoint/mpi/model/setup_offer.hpp"

#include <bit>
#include <utility>

namespace tributary::mpi {

namespace {

constexpr std::uint64_t ones = ~std::uint64_t{0};
constexpr std::uint64_t is_able = 1;
constexpr std::uint64_t is_useful = 2;
constexpr std::uint64_t is_untold = 4;

std::optional<TeamNumber> lowest(std::uint64_t numbers) {
  return numbers == 0 ? std::nullopt
                      : std::optional(static_cast<TeamNumber>(std::countr_zero(numbers)));
}

} // namespace

SetupOffer::Words SetupOffer::words() const {
  std::uint64_t answers = ones;
  answers &= able ? ones : ~is_able;
  answers &= useful ? ones : ~is_useful;
  answers &= untold ? ones : ~is_untold;
  return {signature, ~signature, answers, idle, vacant, key.value_or(ones), key ? page : ones};
}

SetupVerdict SetupVerdict::from(const SetupOffer::Words& all) {
  SetupVerdict verdict;
  verdict.alike = all[0] == ~all[1];
  verdict.able = (all[2] & is_able) != 0;
  verdict.useful = (all[2] & is_useful) != 0;
  verdict.untold = (all[2] & is_untold) != 0;
  verdict.idle = lowest(all[3]);
  if (!verdict.idle) {
    verdict.vacant = lowest(all[4]);
  }
  verdict.key = all[5];
  verdict.page = static_cast<std::uint16_t>(all[6]);
  return verdict;
}

bool TeamNumbers::try_to_own() { return !std::exchange(owned_, true); }

void TeamNumbers::take(TeamNumber number) {
  idle_ &= ~bit(number);
  vacant_ &= ~bit(number);
}

void TeamNumbers::give_back(TeamNumber number) {
  idle_ &= ~bit(number);
  vacant_ |= bit(number);
}

} // namespace tributary::mpi
