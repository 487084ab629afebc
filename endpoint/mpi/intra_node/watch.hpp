// A leader's half of the agreement (model/agreement.hpp): answers the coordinator while the program
// computes, on the connections' thread, and has the functions for the thread that runs steps.
//
// Invariant: a step that was committed here is known to `frozen`; none is committed after that.
#pragma once

#include "endpoint/mpi/intra_node/connections.hpp"
#include "endpoint/mpi/model/plan.hpp"
#include "endpoint/mpi/model/terms.hpp"
#include "endpoint/mpi/node/arena.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace tributary::mpi::intra_node {

class Watch final : public Receiver {
public:
  struct Reporter {
    std::string who; ///< this leader: "rank 4"
    /// The fabric has failed, for this reason; the MPI library makes all calls after that number.
    std::function<void(const std::string& why, CallNumber last)> decided;
    /// The coordinator does not answer this leader, which waits: called once until it does.
    std::function<void()> unanswered;
    /// Prints a line for people.
    std::function<void(const std::string& what)> say;
    /// The program cannot continue. Does not return.
    std::function<void(const std::string& why)> fatal;
    /// Another node has left the team, so it gets no further communicator: leave it when idle.
    std::function<void()> vacate;
    /// All nodes have left the team.
    std::function<void()> ended;
  };
  /// Where the team's coordinator is.
  struct Place {
    Connections& connections;
    TeamKey team;
    ProcessNumber coordinator;
  };

  /// The reporter's functions are called on the connections' thread, some on the caller's.
  Watch(const Place& place, node::Arena& arena, Reporter reporter);
  ~Watch() override;

  // Called on the thread that runs steps:

  /// This node contributes to a step of a call with these terms through the fabric. False: it no
  /// longer may.
  [[nodiscard]] bool begin(StepNumber step, const Terms& terms);
  /// The fabric's result of the step is in the arena, `result_bytes` long. False: it does not count
  /// any more.
  [[nodiscard]] bool commit(StepNumber step, std::size_t result_bytes);
  [[nodiscard]] bool is_frozen() const;
  /// Whether a failure of the fabric would be agreed on: the coordinator can be reached.
  [[nodiscard]] bool is_connected() const;
  /// Adds to the number of pieces of steps that the fabric has completed here.
  void progress(std::uint64_t pieces);

  /// Prints a line for people.
  void say(const std::string& what) const { reporter_.say(what); }
  void suspect(StepNumber step, const std::string& what);
  /// Ranks have made different calls: ends the program, at all leaders. Does not return.
  [[noreturn]] void disagree(const std::string& what);
  /// Waits until all have agreed.
  void report_failure(const std::string& why);
  /// Waits for the decision, then has the step completed by the coordinator.
  void complete(StepNumber step, const Plan& plan, std::size_t elements, const std::byte* part,
                std::byte* result, const node::Idle& idle);
  /// This node makes no more calls, and has all its results.
  void leave();

  // Called on the connections' thread:

  void receive(Message message) override;
  void lose() override;

private:
  void answer_freeze();
  /// False when the coordinator is gone.
  bool try_to_send(Message message);
  void send(Message message);

  Place place_;
  node::Arena& arena_;
  Reporter reporter_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  StepNumber contributed_ = 0;
  Terms terms_; ///< terms of the call of that step
  StepNumber completed_ = 0;
  std::uint64_t pieces_ = 0;
  std::size_t result_bytes_ = 0; ///< length of the last completed step's result
  bool frozen_ = false;
  bool decided_ = false;
  bool lost_ = false;                                          ///< the coordinator is gone
  std::optional<std::chrono::steady_clock::time_point> asked_; ///< when it asked; nullopt once
                                                               ///< answered
  bool said_unanswered_ = false;
  std::map<StepNumber, std::vector<std::byte>> results_;
};

} // namespace tributary::mpi::intra_node
