#include "mpi/core/trial.hpp"

#include <algorithm>
#include <numeric>

namespace tributary::mpi {

namespace {

/// One clear round decides, or two.
constexpr Contest::Rules rules{.clear = 1.25, .margin = 2, .most_rounds = 4};

constexpr std::size_t cold_calls = 4;
constexpr std::size_t timed_calls = Trial::round_calls - cold_calls;
constexpr std::size_t timed_in_probe = Trial::probe_calls - 1;

/// Mean without the quarters at both ends: what a program spends, but for what disturbed it.
double middle(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  const std::size_t outside = all.size() / 4;
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(outside);
  const auto end = all.end() - static_cast<std::ptrdiff_t>(outside);
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

std::vector<double> part(std::span<const double> all, std::size_t from, std::size_t count) {
  const std::span<const double> found = all.subspan(from, count);
  return {found.begin(), found.end()};
}

} // namespace

Trial::Trial(Calls calls, Way before)
    : length_(calls), incumbent_(before),
      challenger_(before == Way::network ? Way::library : Way::network), contest_(before, rules),
      probes_(calls == Calls::brief) {
  plan_block();
}

void Trial::plan(Way way, std::size_t untimed, std::size_t timed) {
  block_.insert(block_.end(), untimed, {.way = way, .is_timed = false});
  block_.insert(block_.end(), timed, {.way = way, .is_timed = true});
}

void Trial::plan_block() {
  block_.clear();
  times_.clear();
  at_ = 0;
  if (length_ == Calls::lengthy) {
    const bool turned = contest_.rounds() % 2 == 1;
    plan(turned ? challenger_ : incumbent_, 0, 1);
    plan(turned ? incumbent_ : challenger_, 0, 1);
  } else if (probes_) {
    plan(incumbent_, 0, timed_calls);
    plan(challenger_, 1, timed_in_probe);
  } else {
    plan(incumbent_, cold_calls, timed_calls);
    plan(challenger_, cold_calls, timed_calls);
  }
}

void Trial::took(double microseconds) {
  if (block_[at_].is_timed) {
    times_.push_back(microseconds);
  }
  ++at_;
}

void Trial::agree(std::span<const double> combined) {
  double incumbent = 0;
  double challenger = 0;
  if (length_ == Calls::lengthy) {
    const bool turned = contest_.rounds() % 2 == 1;
    incumbent = combined[turned ? 1 : 0];
    challenger = combined[turned ? 0 : 1];
  } else {
    incumbent = middle(part(combined, 0, timed_calls));
    std::vector<double> others = part(combined, timed_calls, combined.size() - timed_calls);
    challenger = probes_ ? *std::min_element(others.begin(), others.end()) : middle(others);
  }
  slower_ = challenger / std::max(incumbent, 1e-3);
  const bool decides = !probes_ || slower_ >= hopeless || slower_ * rules.clear <= 1;
  if (decides) {
    const bool challenges = challenger_ == Way::network;
    contest_.add({.network_us = challenges ? challenger : incumbent,
                  .library_us = challenges ? incumbent : challenger});
  }
  probes_ = false;
  calls_before_ += block_.size();
  plan_block();
}

double Trial::next_loss() const {
  if (slower_ <= 1) {
    return 0;
  }
  if (length_ == Calls::lengthy) {
    return slower_ - 1;
  }
  return round_calls * (slower_ - 1) + (challenger_ == Way::network ? aftermath : 0);
}

} // namespace tributary::mpi
