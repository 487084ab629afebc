#include "controlplane/turns/controller.hpp"

#include "controlplane/turns/stall_detector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>

namespace tributary::turns {

Controllers::Controllers(StallDetector& stalls, std::vector<Controller*> in_order)
    : stalls_(stalls), in_order_(std::move(in_order)) {
  for (auto one = in_order_.begin(); one != in_order_.end(); ++one) {
    for (const Controller* const later : std::span(one + 1, in_order_.end())) {
      if (later->name() == (*one)->name()) {
        throw std::logic_error(fmt::format("two controllers have the name {}", later->name()));
      }
      if (std::ranges::find((*one)->after(), later->name()) != (*one)->after().end()) {
        throw std::logic_error(fmt::format("the controller of {} must come after the one of {}",
                                           (*one)->name(), later->name()));
      }
    }
  }
}

void Controllers::run(void (Controller::*phase)(const Turn&), const Turn& turn) const {
  for (Controller* const one : in_order_) {
    const Section section(stalls_, one->name());
    (one->*phase)(turn);
  }
}

bool Controllers::handle(const Turn& turn) const {
  return std::ranges::any_of(in_order_, [&](Controller* one) {
    const Section section(stalls_, one->name());
    return one->handle(turn);
  });
}

bool Controllers::are_idle(const Turn& turn) const {
  return std::ranges::all_of(in_order_, [&](const Controller* one) { return one->is_idle(turn); });
}

TimeNs Controllers::next_deadline(const Turn& turn) const {
  TimeNs next = never;
  for (const Controller* const one : in_order_) {
    next = std::min(next, one->next_deadline(turn));
  }
  return next;
}

} // namespace tributary::turns
