#include "endpoint/mpi/model/experiment.hpp"

#include "endpoint/mpi/model/middle.hpp"

#include <algorithm>

namespace tributary::mpi {

namespace {

/// One clear visit, or two others, decide.
constexpr Comparison::Rules of_visits{.clear = 1.25, .margin = 2, .most_rounds = 4};
/// Single calls differ by a third and more from each other, so one of them decides nothing unless
/// the difference is large.
constexpr Comparison::Rules of_rounds{
    .clear = 1.25, .margin = 3, .most_rounds = 6, .beyond_doubt = Experiment::hopeless};

constexpr std::size_t cold_calls = 4;
constexpr std::size_t timed_calls = Experiment::run_calls - cold_calls;
constexpr std::size_t timed_in_probe = Experiment::probe_calls - 1;

std::vector<double> part(std::span<const double> all, std::size_t from, std::size_t count) {
  const std::span<const double> found = all.subspan(from, count);
  return {found.begin(), found.end()};
}

} // namespace

Experiment::Experiment(Calls calls, Transport before)
    : incumbent_(before),
      challenger_(before == Transport::network ? Transport::library : Transport::network),
      part_(calls == Calls::brief ? Part::probe : Part::round),
      comparison_(before, calls == Calls::brief ? of_visits : of_rounds) {
  plan_block();
}

void Experiment::plan(Transport transport, std::size_t untimed, std::size_t timed) {
  block_.insert(block_.end(), untimed, {.transport = transport, .is_timed = false});
  block_.insert(block_.end(), timed, {.transport = transport, .is_timed = true});
}

void Experiment::plan_block() {
  block_.clear();
  times_.clear();
  at_ = 0;
  switch (part_) {
  case Part::round: {
    const bool swapped = comparison_.rounds() % 2 == 1;
    plan(swapped ? challenger_ : incumbent_, 0, 1);
    plan(swapped ? incumbent_ : challenger_, 0, 1);
    break;
  }
  case Part::probe:
    plan(incumbent_, 0, timed_calls);
    plan(challenger_, 1, timed_in_probe);
    break;
  case Part::visit:
    plan(incumbent_, cold_calls, timed_calls);
    plan(challenger_, cold_calls, timed_calls);
    break;
  case Part::run: plan(challenger_, 0, run_calls); break;
  }
}

void Experiment::took(double microseconds) {
  if (block_[at_].is_timed) {
    times_.push_back(microseconds);
  }
  ++at_;
}

void Experiment::agree(std::span<const double> combined) {
  if (part_ == Part::round) {
    agree_on_round(combined);
  } else {
    agree_on_part(combined);
  }
  calls_before_ += block_.size();
  plan_block();
}

void Experiment::agree_on_round(std::span<const double> combined) {
  const bool swapped = comparison_.rounds() % 2 == 1;
  const double incumbent = combined[swapped ? 1 : 0];
  const double challenger = combined[swapped ? 0 : 1];
  slower_ = challenger / std::max(incumbent, 1e-3);
  add_round(incumbent, challenger);
}

void Experiment::agree_on_part(std::span<const double> combined) {
  double challenger = 0;
  std::size_t calls = run_calls;
  if (part_ == Part::run) {
    challenger = middle(part(combined, 0, run_calls));
    ++runs_;
  } else {
    incumbent_us_ = middle(part(combined, 0, timed_calls));
    std::vector<double> others = part(combined, timed_calls, combined.size() - timed_calls);
    calls = part_ == Part::probe ? probe_calls : run_calls;
    challenger =
        part_ == Part::probe ? *std::min_element(others.begin(), others.end()) : middle(others);
    runs_ = 0;
    lost_ = 0;
  }
  slower_ = challenger / std::max(incumbent_us_, 1e-3);
  // A probe is over before anything could decide whether to continue.
  lost_ += part_ == Part::probe ? 0 : static_cast<double>(calls) * std::max(slower_ - 1, 0.0);
  if (visit_continues()) {
    part_ = Part::run;
    return;
  }
  // Three cold calls are no evidence against a challenger that is slower by no more than coldness
  // explains.
  const bool is_close = slower_ < hopeless && slower_ * of_visits.clear > 1;
  if (part_ != Part::probe || !is_close) {
    add_round(incumbent_us_, challenger);
  }
  part_ = Part::visit;
}

bool Experiment::visit_continues() const {
  const double next = static_cast<double>(run_calls) * std::max(slower_ - 1, 0.0);
  return slower_ * of_visits.clear > 1 && runs_ < most_runs && lost_ + next <= most_lost;
}

void Experiment::add_round(double incumbent, double challenger) {
  const bool challenges = challenger_ == Transport::network;
  comparison_.add({.network_us = challenges ? challenger : incumbent,
                   .library_us = challenges ? incumbent : challenger});
}

double Experiment::next_loss() const {
  const double slower = std::max(slower_ - 1, 0.0);
  if (part_ == Part::round) {
    return slower;
  }
  return run_calls * slower +
         (challenger_ == Transport::network && part_ != Part::run ? aftermath : 0);
}

} // namespace tributary::mpi
