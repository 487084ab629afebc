#include "endpoint/mpi/model/comparison.hpp"

#include <algorithm>
#include <cstdlib>

namespace tributary::mpi {

double median(std::vector<double> all) {
  if (all.empty()) {
    return 0;
  }
  std::sort(all.begin(), all.end());
  return (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2;
}

void Comparison::add(const Round& round) {
  constexpr double least_us = 1e-3;
  const double ratio = std::max(round.network_us, least_us) / std::max(round.library_us, least_us);
  network_us_.push_back(round.network_us);
  library_us_.push_back(round.library_us);
  ratios_.push_back(ratio);
  const int steps = std::max(ratio, 1 / ratio) >= rules_.clear ? 2 : 1;
  score_ += ratio >= 1 ? -steps : ratio <= needed_gain ? steps : 0;
}

bool Comparison::is_decided() const {
  return std::abs(score_) >= rules_.margin || rounds() >= rules_.most_rounds;
}

Transport Comparison::winner() const {
  if (std::abs(score_) >= rules_.margin) {
    return score_ > 0 ? Transport::network : Transport::library;
  }
  // Median of the ratios, not of the times: both ways of a round ran under the same conditions.
  const double ratio = median(ratios_);
  return rounds() == 0          ? before_
         : ratio <= needed_gain ? Transport::network
         : ratio < 1            ? before_
                                : Transport::library;
}

} // namespace tributary::mpi
