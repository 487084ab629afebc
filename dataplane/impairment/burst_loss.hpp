// Loss in bursts: the model of Gilbert (1960) and Elliott (1963). A chain of two states determines
// the probability of a loss. Before each frame the state may change; then the frame is lost with
// the probability of the state. A run of frames in the bad state has the mean length 1 /
// bad_to_good, and the share of frames in it is good_to_bad / (good_to_bad + bad_to_good).
#pragma once

#include "dataplane/impairment/chance.hpp"
#include "dataplane/impairment/settings.hpp"

namespace tributary::impairment {

class BurstLoss {
public:
  explicit BurstLoss(const Settings& settings)
      : good_to_bad_(settings.good_to_bad), bad_to_good_(settings.bad_to_good),
        loss_good_(settings.loss_good), loss_bad_(settings.loss_bad) {}

  /// Whether the next frame is lost. Draws once for the state and once for the loss, if each is
  /// possible.
  bool next(Chance& chance) {
    bad_ = bad_ != chance.occurs(bad_ ? bad_to_good_ : good_to_bad_);
    return chance.occurs(bad_ ? loss_bad_ : loss_good_);
  }

private:
  bool bad_ = false;
  Probability good_to_bad_;
  Probability bad_to_good_;
  Probability loss_good_;
  Probability loss_bad_;
};

} // namespace tributary::impairment
