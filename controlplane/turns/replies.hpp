// Answers that are ready. They are sent at the end of the turn, when their changes are stored.
//
//   replies.give(reply, answer, true);       it reports a change
//
// Where other managers may take the lead (`confirms`), an answer is sent only once it is known that
// this manager led after the request had arrived: a write that began after the answer was ready
// shows it, and where no write follows the store's confirmation does, one for all answers of a
// turn.
//
//   replies.write_begins(); ... replies.write_ends(true);
//   finish; if (replies.await_confirmation()) ... replies.confirmed({})
//
// Pure.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/environment.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace tributary::turns {

class Replies final : public Controller {
public:
  explicit Replies(Environment& environment, bool confirms = false)
      : environment_(environment), confirms_(confirms) {}

  /// `changes`: the answer reports a change.
  void give(api::Reply reply, api::Answer answer, bool changes) {
    if (auto* const later = reply.target<Deferred>()) {
      reply = api::Reply(std::move(later->reply)); // it comes this way anyhow
    }
    ready_.push_back({std::move(reply), std::move(answer), changes});
    is_unconfirmed_ |= !ends_with_write_;
    environment_.request_reconcile();
  }
  /// At once, also while no turn runs: for an answer that says nothing about jobs, groups or
  /// allocations.
  static void refuse(api::Reply reply, const api::Answer& answer) {
    if (auto* const later = reply.target<Deferred>()) {
      reply = api::Reply(std::move(later->reply));
    }
    reply(answer);
  }
  /// For a request that has just arrived: a reply that waits for the end of the turn, and for a
  /// write that begins from now on, or the confirmation, although its handler answers at once.
  [[nodiscard]] api::Reply deferred(api::Reply reply) {
    is_unconfirmed_ = true;
    return Deferred{this, std::move(reply)};
  }

  // ---- confirmation ----

  /// Answers that are ready need no other confirmation than this write.
  void write_begins() { is_unconfirmed_ = false; }
  /// Answers that are made in the rest of the turn are those of requests from before the write.
  void write_ends(bool stored) {
    ends_with_write_ = stored;
    is_unconfirmed_ |= !stored && !ready_.empty();
  }
  /// After `finish`: whether answers wait for a confirmation.
  [[nodiscard]] bool await_confirmation() const { return !unconfirmed_.empty(); }
  /// Sends them; with an error, in their place.
  void confirmed(const std::optional<api::Answer>& error) {
    for (Ready& one : std::exchange(unconfirmed_, {})) {
      one.reply(error ? *error : std::move(one.answer));
    }
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
    std::vector<Ready> ready = std::exchange(ready_, {});
    ends_with_write_ = false;
    if (std::exchange(is_unconfirmed_, false) && confirms_) {
      unconfirmed_ = std::move(ready);
      return;
    }
    for (Ready& one : ready) {
      one.reply(std::move(one.answer));
    }
  }

private:
  struct Deferred {
    Replies* replies;
    api::Reply reply;
    void operator()(api::Answer answer) const { replies->give(reply, std::move(answer), false); }
  };
  struct Ready {
    api::Reply reply;
    api::Answer answer;
    bool changes = false;
  };
  Environment& environment_;
  bool confirms_;
  std::vector<Ready> ready_;
  bool is_unconfirmed_ = false;  ///< one of `ready_`, or a request that has arrived, by no write
  bool ends_with_write_ = false; ///< a write of this turn has ended
  std::vector<Ready> unconfirmed_;
};

} // namespace tributary::turns
