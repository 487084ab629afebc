// Agreement when the fabric fails in mid-run: the coordinator's half, as a state machine.
//
// The difficulty. A reduction of the fabric may have reached some nodes and not others. Those that
// have it return to their program, and may never call again before the others have it, too: a rank
// may wait for a message of a rank that still waits for its result. So no node may be asked to
// repeat what it has completed, and nothing may wait for a program to call MPI.
//
// The leaders of the nodes therefore have a thread each and a TCP connection to the coordinator's
// process (the leader of rank 0), which answer while programs compute. Nodes are 0 to n - 1. There
// is one agreement for each team, and teams know nothing of each other.
//
//   watching     A leader whose step is stuck sends `suspect` now and then. The coordinator polls.
//                A node that does not answer is named after `answer_limit`; no more follows.
//                The fabric lost the oldest step that some node waits for only when all nodes
//                have contributed to it, it is still the oldest `grace` later and no node has had
//                another piece of it meanwhile: otherwise some rank is late, which MPI allows, or
//                a long step takes its time. A leader whose group has ended sends `failed`.
//   freezing     `freeze` to all. From now on no leader takes a result of the fabric, and no rank
//                begins a call before the decision. Each answers `frozen`: the last step it has
//                completed, with its result, and the last call that one of its ranks has begun.
//   frozen       When all have answered: `decision`. Calls up to the last that any rank has begun
//                are completed here; all later ones are made by the MPI library, at all ranks
//                alike.
//
// All nodes contributed to a step that some node has completed, so all completed the one before it:
// the last results of all nodes are of two steps at most, and a node that lacks one is sent it. Of
// every later step each node sends its `contribution`; when all are here they are combined in the
// order of the nodes, and all get the `result`. A node contributes when its ranks have made the
// call, as in MPI's own way.
//
// Ranks that make different calls of one communicator cannot be served: `mismatch`, from the leader
// that saw it, is `broken` to all.
//
// A leader that is gone while the others wait for it cannot be replaced: `broken` to all, and the
// program ends.
//
// The end. A node that has completed its last call may have a result that another one lacks, so it
// keeps its result and answers until all have completed theirs: each sends `left`, and goes when
// all have, at `ended`. The first `left` is `vacate` to the others, which may keep the team for a
// later communicator: it gets none any more. So freeing a communicator waits for no other node.
#pragma once

#include "endpoint/mpi/model/message.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tributary::mpi {

class Agreement {
public:
  using Time = std::chrono::steady_clock::time_point;
  struct Sending {
    std::uint32_t node;
    Message message;
  };

  /// How long a leader may take to answer: its thread answers while its program computes.
  static constexpr std::chrono::seconds answer_limit{3};

  /// `leaders`: the leader of each node, such as "rank 4 on h2".
  Agreement(std::vector<std::string> leaders, std::chrono::milliseconds grace);

  /// Handles a message from a node; returns the messages to send.
  [[nodiscard]] std::vector<Sending> receive(std::uint32_t node, Message message, Time now);
  /// A node's connection has ended.
  [[nodiscard]] std::vector<Sending> lost(std::uint32_t node);

  [[nodiscard]] bool is_frozen() const { return state_ == State::frozen; }
  /// All nodes have left, or are gone: nothing is received any more.
  [[nodiscard]] bool is_over() const { return over_; }
  /// When `overdue` may return a text; nullopt: no answer is awaited.
  [[nodiscard]] std::optional<Time> deadline() const;
  /// Leaders that have not answered in time, each named once; or, once, those on whose nodes a rank
  /// has kept the others waiting for two graces, which is not an error. "" without any.
  [[nodiscard]] std::string overdue(Time now);

private:
  enum class State : std::uint8_t { watching, freezing, frozen, broken };
  struct Polled {
    StepNumber contributed = 0;
    StepNumber completed = 0;
    std::uint64_t pieces = 0; ///< pieces of all steps that the fabric has completed here
  };
  struct Gathering {
    std::vector<std::optional<Message>> contributions;
    std::uint32_t here = 0;
  };

  void suspect(std::uint32_t node, const Message& message, Time now);
  [[nodiscard]] std::string late(Time now);
  void count_status(std::uint32_t node, const Message& message, Time now);
  void freeze(const std::string& why);
  void count_frozen(std::uint32_t node, Message message);
  void decide();
  void count_left(std::uint32_t node);
  void end_when_all_have_left();
  void gather(std::uint32_t node, Message message);
  void finish(StepNumber step, Gathering& gathering);
  void end(const std::string& why);
  void end_without(std::uint32_t node);
  void end_differing(std::uint32_t node, const std::string& what);
  void to_all(const Message& message);

  std::vector<std::string> leaders_;
  std::uint32_t nodes_;
  std::chrono::milliseconds grace_;
  State state_ = State::watching;
  std::vector<bool> gone_;
  std::vector<bool> left_;
  bool over_ = false;
  std::vector<Sending> out_;

  // watching
  bool polling_ = false;
  Time polled_at_;
  bool said_overdue_ = false;
  std::string suspicion_;
  std::vector<std::optional<Polled>> polled_;
  StepNumber stuck_ = 0; ///< a step that all nodes have contributed to, seen at `stuck_since_`
  std::uint64_t stuck_pieces_ = 0; ///< pieces of all nodes together at that time
  Time stuck_since_;
  std::optional<Time> late_since_; ///< since when the oldest step has lacked contributions
  std::vector<bool> late_;         ///< by node: whether its contribution is missing
  bool said_late_ = false;

  // freezing
  std::vector<std::optional<Message>> frozen_;
  std::string why_;

  // frozen
  StepNumber completed_ = 0; ///< by some node, through the fabric
  std::vector<std::byte> result_;
  std::map<StepNumber, Gathering> gathering_;
};

} // namespace tributary::mpi
