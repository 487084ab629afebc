#include "mpi/core/trial.hpp"

namespace tributary::mpi {

namespace {

constexpr std::size_t block_rounds = 3;

} // namespace

Trial::Trial(Calls calls, Way before)
    : calls_(calls), rounds_(calls == Calls::lengthy ? block_rounds + 1 : block_rounds),
      contest_(before) {}

Way Trial::way() const {
  const std::size_t half = at_ / run();
  const bool second = half % 2 == 1;
  const bool turned = half / 2 % 2 == 1; // every other round begins with the network
  return second != turned ? Way::network : Way::library;
}

bool Trial::is_timed() const {
  if (calls_ == Calls::brief) {
    return at_ % run() != 0;
  }
  return !first_block_ || at_ >= 2;
}

void Trial::took(double microseconds) {
  if (is_timed()) {
    times_.push_back(microseconds);
  }
  ++at_;
}

void Trial::agree(std::span<const double> combined) {
  const std::size_t each = calls_ == Calls::brief ? run() - 1 : 1; // timed calls of a half
  const bool skips = calls_ == Calls::lengthy && first_block_;
  std::size_t round = skips ? 1 : 0;
  for (std::size_t at = 0; at + 2 * each <= combined.size(); at += 2 * each, ++round) {
    double first = 0;
    double second = 0;
    for (std::size_t i = 0; i < each; ++i) {
      first += combined[at + i] / static_cast<double>(each);
      second += combined[at + each + i] / static_cast<double>(each);
    }
    const bool turned = round % 2 == 1;
    contest_.add({.network_us = turned ? first : second, .library_us = turned ? second : first});
  }
  times_.clear();
  at_ = 0;
  first_block_ = false;
  rounds_ = block_rounds;
}

} // namespace tributary::mpi
