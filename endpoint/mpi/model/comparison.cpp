#include "endpoint/mpi/model/comparison.hpp"

#include <algorithm>
#include <cstdlib>

namespace tributary::mpi {

namespace {

double median(std::vector<double> all) {
  if (all.empty()) {
    return 0;
  }
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  if (all.size() % 2 == 1) {
    return *middle;
  }
  return (*std::max_element(all.begin(), middle) + *middle) / 2;
}

int step(const Round& round, const Comparison::Rules& rules) {
  if (round.network_us >= round.library_us) {
    const double factor = round.network_us / std::max(round.library_us, 1e-3);
    return rules.beyond_doubt > 0 && factor >= rules.beyond_doubt ? -rules.margin
           : factor >= rules.clear                                ? -2
                                                                  : -1;
  }
  const double factor = round.library_us / std::max(round.network_us, 1e-3);
  if (rules.beyond_doubt > 0 && factor >= rules.beyond_doubt) {
    return rules.margin;
  }
  if (factor >= rules.clear) {
    return 2;
  }
  return round.network_us <= round.library_us * Comparison::needed_gain ? 1 : 0;
}

} // namespace

void Comparison::add(const Round& round) {
  rounds_.push_back(round);
  score_ += step(round, rules_);
}

bool Comparison::is_decided() const {
  return std::abs(score_) >= rules_.margin || rounds_.size() >= rules_.most_rounds;
}

Transport Comparison::winner() const {
  if (std::abs(score_) >= rules_.margin) {
    return score_ > 0 ? Transport::network : Transport::library;
  }
  // Median of the ratios, not of the times: both ways of a round ran under the same conditions.
  std::vector<double> gains;
  for (const Round& round : rounds_) {
    gains.push_back(round.network_us / std::max(round.library_us, 1e-3));
  }
  if (gains.empty()) {
    return before_;
  }
  const double gain = median(std::move(gains));
  return gain <= needed_gain ? Transport::network : gain < 1 ? before_ : Transport::library;
}

Round Comparison::medians() const {
  std::vector<double> network;
  std::vector<double> library;
  for (const Round& round : rounds_) {
    network.push_back(round.network_us);
    library.push_back(round.library_us);
  }
  return {.network_us = median(std::move(network)), .library_us = median(std::move(library))};
}

} // namespace tributary::mpi
