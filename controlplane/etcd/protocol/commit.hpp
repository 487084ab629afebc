// One write, or one confirmation: fenced, in parts, and repeated until its outcome is known.
//
//   Commit commit(keys, fence, sequence, parts_of(changes));      no parts: a confirmation
//   while (commit.state() == Commit::State::running) {
//     commit.answered(reply of etcd to commit.request());
//     if (commit.pauses()) ... wait a moment
//   }
//
// Every part compares two keys. The leader's has to be the one that this manager made: otherwise it
// is fenced. `commit` has to hold the number of the write before, and is raised: so a part takes
// effect once, also if a request whose answer was lost, and that was repeated, arrives at last. A
// part whose condition on `commit` fails because it holds its own number was accepted before.
//
//   answer                            meaning
//   the conditions held               accepted
//   another leader's key, or none     fenced
//   `commit` is this part's number    accepted by an earlier attempt
//   none, no leader, a time-out       unknown: the same part again
//   refused (no room, permission)     refused, if nothing of the write may be stored; otherwise as
//                                     unknown: what is stored cannot be taken back
//
// A confirmation reads the leader's key, and has no number.
//
// Pure.
#pragma once

#include "controlplane/etcd/protocol/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tributary::etcd::protocol {

/// The right to write: a key that has to be as it was made.
struct Fence {
  std::string name; ///< "leader", or "import"
  Revision created = 0;
  std::string term; ///< in `commit`: the epoch, or "import"
};

class Commit {
public:
  enum class State : std::uint8_t { running, done, fenced, refused };

  /// `sequence`: the number of the write before.
  Commit(Keys keys, Fence fence, std::uint64_t sequence, std::vector<Part> parts);

  [[nodiscard]] State state() const { return state_; }
  /// While it runs.
  [[nodiscard]] Request request() const;
  void answered(const Reply& reply);
  /// Whether the last attempt brought no progress.
  [[nodiscard]] bool pauses() const { return pauses_; }
  /// What the last attempt that failed was answered.
  [[nodiscard]] const Failure& failure() const { return failure_; }
  /// The number of its last accepted part.
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  /// Attempts without a known outcome.
  [[nodiscard]] std::uint64_t unknown_attempts() const { return unknown_attempts_; }

private:
  [[nodiscard]] std::string number(std::uint64_t sequence) const;
  void failed(const Failure& failure);
  void accepted();
  void judge(const TransactionAnswer& answer);

  Keys keys_;
  Fence fence_;
  std::uint64_t sequence_;
  std::vector<Part> parts_;
  std::size_t part_ = 0;
  State state_ = State::running;
  bool pauses_ = false;
  bool may_be_stored_ = false; ///< something of the write
  std::uint64_t unknown_attempts_ = 0;
  Failure failure_;
};

} // namespace tributary::etcd::protocol
