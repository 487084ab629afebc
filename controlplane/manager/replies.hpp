// Answers that are ready. They go out at the end of the turn, when what they tell of is on disk.
//
//   replies.give(reply, answer, true);       it says that something was changed
//   replies.take_back(error);                which could not be stored
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

  /// `changes`: says that something was changed.
  void give(api::Reply reply, api::Answer answer, bool changes) {
    ready_.push_back({std::move(reply), std::move(answer), changes});
    environment_.request_reconcile();
  }
  /// What was to be changed was not: those who were to hear that it was hear this.
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
