#include "mpi/core/trial.hpp"

namespace tributary::mpi {

namespace {

constexpr int margin_of_long_calls = 2;

std::size_t rounds_of_block(Trial::Calls calls) { return calls == Trial::Calls::brief ? 3 : 1; }
/// Timed calls of each way in a round.
std::size_t timed_calls(Trial::Calls calls) { return calls == Trial::Calls::brief ? 2 : 1; }

/// Every other round begins with the network.
bool is_turned(std::size_t round) { return round % 2 == 1; }

} // namespace

Trial::Trial(Calls calls, Way before)
    : calls_(calls),
      contest_(before, calls == Calls::brief ? Contest::usual_margin : margin_of_long_calls) {
  if (calls_ == Calls::lengthy) {
    block_.push_back({.way = Way::library, .is_timed = false});
  }
  plan_block();
}

void Trial::plan_half(Way way) {
  if (calls_ == Calls::brief) {
    block_.push_back({.way = way, .is_timed = false});
  }
  block_.insert(block_.end(), timed_calls(calls_), {.way = way, .is_timed = true});
}

void Trial::plan_block() {
  for (std::size_t i = 0; i < rounds_of_block(calls_); ++i) {
    const bool turned = is_turned(contest_.rounds() + i);
    plan_half(turned ? Way::network : Way::library);
    plan_half(turned ? Way::library : Way::network);
  }
}

void Trial::took(double microseconds) {
  if (block_[at_].is_timed) {
    times_.push_back(microseconds);
  }
  ++at_;
}

void Trial::agree(std::span<const double> combined) {
  const std::size_t each = timed_calls(calls_);
  for (std::size_t at = 0; at + 2 * each <= combined.size(); at += 2 * each) {
    double first = 0;
    double second = 0;
    for (std::size_t i = 0; i < each; ++i) {
      first += combined[at + i] / static_cast<double>(each);
      second += combined[at + each + i] / static_cast<double>(each);
    }
    const bool turned = is_turned(contest_.rounds());
    contest_.add({.network_us = turned ? first : second, .library_us = turned ? second : first});
  }
  times_.clear();
  at_ = 0;
  block_.clear();
  plan_block();
}

} // namespace tributary::mpi
