// Declares the job at the host agent of this node, if there is one, so that its ranks get their
// sockets there. The job is attached to a connection of this daemon and ends with it; after a
// restart of the agent it is declared again.
#pragma once

#include "endpoint/agent/job.hpp"
#include "endpoint/host_client/host_client.hpp"
#include "endpoint/launcher/messages/protocol.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace tributary::launch::node {

/// What the agent needs to know of a job, from the fabric manager's values; empty if they have no
/// VNI.
[[nodiscard]] std::optional<host_agent::AddJobRequest> agent_request_of(const messages::Job& job);

class AgentJob {
public:
  static constexpr std::chrono::milliseconds call_limit{1000}; ///< the daemon must not fall silent
  static constexpr std::chrono::seconds retry_interval{1};
  static constexpr std::chrono::seconds pause_after_silence{30};

  AgentJob(boost::asio::io_context& io, host_agent::AddJobRequest request)
      : request_(std::move(request)), connection_(io), again_(io) {}

  /// Returns why the agent refuses; "" if it knows the job now, or there is no agent.
  [[nodiscard]] std::string declare();
  /// The job is over: the agent need not wait for another connection.
  void end() noexcept;

private:
  void watch();
  void declare_later();

  host_agent::AddJobRequest request_;
  std::optional<host_client::HostClient> agent_;
  boost::asio::posix::stream_descriptor connection_; ///< a second descriptor of the agent's socket
  boost::asio::steady_timer again_;
};

} // namespace tributary::launch::node
