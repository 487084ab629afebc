// A whole group on a perfect wire with a script: every frame of the root reaches every leaf, every
// frame of a leaf reaches the root, immediately and in order, unless the script says otherwise. No
// switch reduces anything; tests/fabric tests switches and hosts together.
#pragma once

#include "frames.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

namespace tributary::collective::test {

class StarGroup {
public:
  /// How many copies of a frame reach `to`: 0 loses it, 2 duplicates it.
  using Script =
      std::function<int(std::uint32_t from, std::uint32_t to, const wire::ReductionFrame&)>;
  using Change = std::function<void(GroupParameters&)>;

  explicit StarGroup(std::uint32_t size, const Change& change = {}) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      GroupParameters parameters = group_of(size, rank);
      if (change) {
        change(parameters);
      }
      members_.push_back(std::make_unique<Member>(parameters));
    }
  }

  [[nodiscard]] Member& operator[](std::uint32_t rank) { return *members_[rank]; }
  [[nodiscard]] Member& root() { return *members_[0]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }
  [[nodiscard]] TimeNs now() const { return now_; }
  void set_script(Script script) { script_ = std::move(script); }

  /// Carries frames until none is left.
  void carry() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::uint32_t from = 0; from < size(); ++from) {
        for (const wire::ReductionFrame& frame : drain(*members_[from])) {
          moved = true;
          if (from == 0) {
            for (std::uint32_t to = 1; to < size(); ++to) {
              deliver(from, to, frame);
            }
          } else {
            deliver(from, 0, frame);
          }
        }
      }
    }
  }

  /// Lets this much time pass, with everything that falls due meanwhile.
  void pass(std::uint64_t ns) {
    const TimeNs end = now_ + ns;
    carry();
    while (next_deadline() <= end) {
      now_ = std::max(now_, next_deadline());
      for (const auto& member : members_) {
        member->poll(now_);
      }
      carry();
    }
    now_ = end;
  }

  void inject_everywhere(const std::function<Operand(std::uint32_t rank)>& operand) {
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      members_[rank]->inject(operand(rank), now_);
    }
  }

private:
  [[nodiscard]] TimeNs next_deadline() const {
    TimeNs deadline = never;
    for (const auto& member : members_) {
      deadline = std::min(deadline, member->next_deadline());
    }
    return deadline;
  }
  void deliver(std::uint32_t from, std::uint32_t to, const wire::ReductionFrame& frame) {
    const int copies = script_ ? script_(from, to, frame) : 1;
    for (int i = 0; i < copies; ++i) {
      members_[to]->receive(frame, now_);
    }
  }

  std::vector<std::unique_ptr<Member>> members_;
  Script script_;
  TimeNs now_{1000};
};

} // namespace tributary::collective::test
