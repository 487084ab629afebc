// Reports the state of a host's RDMA to the fabric manager, and fetches its answers, on a thread of
// its own. The host's loop only polls it: it never waits for the agent or the manager. If the
// manager is away the last policy and the last list of quarantined peers stay in force, and it is
// asked again, at growing intervals.
#pragma once

#include "endpoint/library/rdma.hpp"
#include "endpoint/manager_client/manager_client.hpp"
#include "lib/net/of_this_process.hpp"
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

  /// Called in a round of the loop, under its lock. Cheap where nothing is due.
  void look_by(Rdma& rdma, TimeNs now);
  /// The latest time of the next look.
  [[nodiscard]] TimeNs next_look() const;
  /// State of the exchange with the manager, one line.
  [[nodiscard]] std::string text() const;

private:
  struct State;
  net::OfThisProcess<State> state_;
};

} // namespace tributary::library
