// Client of this node's host agent, tributary-hostd: requests on its socket, and the packet socket
// that it hands over. Blocking, for at most its limit a call. docs/protocol/host-agent.md has the
// messages.
//
//   HostClient agent;                              the socket of the environment, or the usual one
//   HandedSocket given = agent.open({.job = "j1"});  throws HostAgentAbsent, or AgentError
#pragma once

#include "endpoint/agent/messages.hpp"
#include "lib/net/file_descriptor.hpp"

#include <boost/json/value.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::host_client {

inline constexpr std::string_view default_path = "/run/tributary/host.sock";
inline constexpr const char* path_variable = "TRIBUTARY_HOST_AGENT";

/// The socket in TRIBUTARY_HOST_AGENT, or the default.
[[nodiscard]] std::string agent_path();

/// No agent answers; the message says where it was looked for, and what to do.
class HostAgentAbsent : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct HandedSocket {
  net::FileDescriptor descriptor{};
  host_agent::Opened opened;
};

class HostClient {
public:
  static constexpr std::chrono::milliseconds usual_limit{10'000};

  /// Throws HostAgentAbsent. `limit`: of each request.
  explicit HostClient(std::string path = agent_path(),
                      std::chrono::milliseconds limit = usual_limit);

  /// The result of an answer, to a line of messages.hpp. Throws AgentError when the agent refuses,
  /// and HostAgentAbsent when it does not answer.
  boost::json::value ask(std::string_view line);
  HandedSocket open(const host_agent::OpenRequest& request);

  /// Readable at its end only, between requests: for callers that keep a job attached.
  [[nodiscard]] int fd() const { return socket_.get(); }

private:
  struct Answer {
    std::string line;
    std::vector<net::FileDescriptor> descriptors;
  };
  [[nodiscard]] Answer exchange(std::string_view line);
  void wait_for(short event, std::chrono::steady_clock::time_point deadline) const;
  [[noreturn]] void absent(int error_number) const;

  std::string path_;
  std::chrono::milliseconds limit_;
  net::FileDescriptor socket_;
};

} // namespace tributary::host_client
