// Tells the fabric manager how a host's RDMA goes, and brings back what it says, on a thread of its
// own. The host's loop only looks by: it never waits for the agent, let alone for the manager. If
// the manager is away the last policy and the last list of parked peers hold, and it is asked
// again, ever later.
#pragma once

#include "endpoint/library/rdma.hpp"
#include "endpoint/manager_client/manager_client.hpp"
#include "tributary/types.hpp"

#include <memory>
#include <string>

namespace tributary::library {

class RetransmitAgent {
public:
  RetransmitAgent(const manager_client::ClientSettings& settings, Nid nid);
  /// Ends a call in progress, and joins the thread.
  ~RetransmitAgent();
  RetransmitAgent(const RetransmitAgent&) = delete;
  RetransmitAgent& operator=(const RetransmitAgent&) = delete;

  /// In a round of the loop, under its lock. Cheap where nothing is due.
  void look_by(Rdma& rdma, TimeNs now);
  /// When there is something to look at at the latest.
  [[nodiscard]] TimeNs next_look() const;
  /// How it stands with the manager, a line.
  [[nodiscard]] std::string text() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tributary::library
