// Answers that are ready. They are sent at the end of the turn, when their changes are on disk.
//
//   replies.give(reply, answer, true);       it reports a change
//   replies.take_back(error);                the change could not be stored
//   replies.send();                          at the end of the turn
//
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/manager/environment.hpp"

#include <utility>
#include <vector>

namespace tributary::manager {

class Replies {
public:
  explicit Replies(Environment& environment) : environment_(environment) {}

  /// `changes`: the answer reports a change.
  void give(api::Reply reply, api::Answer answer, bool changes) {
    ready_.push_back({std::move(reply), std::move(answer), changes});
    environment_.request_reconcile();
  }
  /// The changes failed: replaces the answers that report them.
  void take_back(const api::Answer& error) {
    for (Ready& one : ready_) {
      if (one.changes && one.answer.status < 300) {
        one.answer = error;
      }
    }
  }
  void send() {
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

} // namespace tributary::manager
