#include "endpoint/mpi/model/experiment.hpp"

#include <algorithm>
#include <utility>

namespace tributary::mpi {

namespace {

/// By Experiment::Calls.
constexpr Comparison::Rules rules[] = {
    // One clear visit, or two others, decide.
    {.clear = 1.25, .margin = 2, .most_rounds = 4},
    // Single calls differ by a third and more from each other, so one of them decides nothing.
    {.clear = 1.25, .margin = 3, .most_rounds = 6},
    // Both ways are cold.
    {},
};

} // namespace

Experiment::Experiment(Calls calls, Transport before, std::size_t run)
    : incumbent_(before),
      challenger_(before == Transport::network ? Transport::library : Transport::network),
      part_(calls == Calls::brief     ? Part::probe
            : calls == Calls::lengthy ? Part::single
                                      : Part::start),
      run_(run), comparison_(before, rules[static_cast<std::size_t>(calls)]) {
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
  const std::size_t cold = (run_ + 1) / 3;
  const std::size_t timed = run_ - cold;
  switch (part_) {
  case Part::probe:
    plan(incumbent_, 0, timed);
    plan(challenger_, 1, probe_calls - 1);
    break;
  case Part::run: plan(challenger_, 0, run_); break;
  case Part::visit:
  case Part::start:
    plan(incumbent_, cold, timed);
    plan(challenger_, cold, timed);
    break;
  case Part::single: {
    const bool swapped = comparison_.rounds() % 2 == 1;
    plan(swapped ? challenger_ : incumbent_, 0, 1);
    plan(swapped ? incumbent_ : challenger_, 0, 1);
  }
  }
}

void Experiment::took(double microseconds) {
  if (block_[at_].is_timed) {
    times_.push_back(microseconds);
  }
  ++at_;
  ++calls_;
}

void Experiment::agree(std::span<const double> combined) {
  std::vector<double> incumbent;
  std::vector<double> challenger;
  auto time = combined.begin();
  for (const Step& step : block_) {
    if (step.is_timed) {
      (step.transport == incumbent_ ? incumbent : challenger).push_back(*time++);
    }
  }
  if (part_ == Part::run) {
    ++runs_;
  } else {
    incumbent_us_ = median(std::move(incumbent));
    runs_ = 0;
    lost_ = 0;
  }
  const double challenger_us = part_ == Part::probe
                                   ? *std::min_element(challenger.begin(), challenger.end())
                                   : median(std::move(challenger));
  slower_ = challenger_us / std::max(incumbent_us_, 1e-3);
  // A probe is over before anything could decide whether to continue.
  lost_ += part_ == Part::probe ? 0 : loss_of_run();
  const bool is_visit = part_ == Part::probe || part_ == Part::run || part_ == Part::visit;
  const bool is_faster = slower_ * rules[0].clear <= 1;
  if (is_visit && !is_faster && runs_ < most_runs && lost_ + loss_of_run() <= most_lost) {
    part_ = Part::run;
  } else {
    // Three cold calls are no evidence against a challenger that is slower by no more than coldness
    // explains.
    if (part_ != Part::probe || is_faster || slower_ >= hopeless) {
      const bool challenges = challenger_ == Transport::network;
      comparison_.add({.network_us = challenges ? challenger_us : incumbent_us_,
                       .library_us = challenges ? incumbent_us_ : challenger_us});
    }
    part_ = is_visit ? Part::visit : part_;
  }
  plan_block();
}

double Experiment::loss_of_run() const {
  return static_cast<double>(run_calls) * std::max(slower_ - 1, 0.0);
}

double Experiment::next_loss() const {
  if (part_ == Part::single) {
    return std::max(slower_ - 1, 0.0);
  }
  return loss_of_run() + (challenger_ == Transport::network && part_ != Part::run ? aftermath : 0);
}

} // namespace tributary::mpi
