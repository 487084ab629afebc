// Answers that are ready. They are sent at the end of the turn, when their changes are on disk.
//
//   replies.give(reply, answer, true);       it reports a change
//
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/environment.hpp"

#include <utility>
#include <vector>

namespace tributary::turns {

class Replies final : public Controller {
public:
  explicit Replies(Environment& environment) : environment_(environment) {}

  /// `changes`: the answer reports a change.
  void give(api::Reply reply, api::Answer answer, bool changes) {
    ready_.push_back({std::move(reply), std::move(answer), changes});
    environment_.request_reconcile();
  }

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "answers"; }
  /// Replaces the answers that report changes.
  void requests_failed(std::uint64_t /*turn*/, const api::Answer& error) override {
    for (Ready& one : ready_) {
      if (one.changes && one.answer.status < 300) {
        one.answer = error;
      }
    }
  }
  void finish(const Turn& /*turn*/) override {
    for (Ready& one : std::exchange(ready_, {})) {
      one.reply(std::move(one.answer));
    }
  }

private:
  struct Ready {
    api::Reply reply;
    api::Answer answer;
    bool changes = false;
  };
  Environment& environment_;
  std::vector<Ready> ready_;
};

} // namespace tributary::turns
