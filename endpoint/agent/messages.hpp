// Messages on the host agent's socket: one line of JSON for a request, one for its answer
// (docs/protocol/host-agent.md). And what the agent writes down for its next start, in the same
// form.
//
//   const Request request = parse_request(line);      throws AgentError
//   send(refusal(error));  send(acceptance(result));  with the newline
//
// Unknown fields are ignored, so that both sides may be newer than the other. Pure.
#pragma once

#include "endpoint/agent/agent_error.hpp"
#include "endpoint/agent/job.hpp"
#include "endpoint/agent/registry.hpp"
#include "tributary/wire/ethernet.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace tributary::host_agent {

/// Longest request and longest answer, with the newline.
inline constexpr std::size_t longest_line = 16'384;

using Request = std::variant<OpenRequest, AddJobRequest, EndJobRequest, ShowRequest, NodeRequest>;

/// Throws AgentError (bad_request) whose message names the field.
[[nodiscard]] Request parse_request(std::string_view line);
/// The line for a request, with its newline.
[[nodiscard]] std::string line_of(const OpenRequest& request);
[[nodiscard]] std::string line_of(const AddJobRequest& request);
[[nodiscard]] std::string line_of(const EndJobRequest& request);
[[nodiscard]] std::string line_of(const ShowRequest& request);
[[nodiscard]] std::string line_of(const NodeRequest& request);

[[nodiscard]] std::string acceptance(const boost::json::object& result);
[[nodiscard]] std::string refusal(const AgentError& error);

/// The answer to an OpenRequest, besides the socket itself.
struct Opened {
  std::string job{};
  Vni vni{};
  Mark mark{};
  Nid nid{};
  std::uint16_t end_point = 0; ///< of unicast frames; 0: it receives none
  std::string host{};          ///< its name, as the agent announces it
  std::string interface {};
  std::uint16_t ethertype = 0;
  wire::MacAddress address{};
  std::uint32_t mtu = 0; ///< bytes after the Ethernet header
  ManagerAccess manager{};

  friend bool operator==(const Opened&, const Opened&) = default;
};
[[nodiscard]] boost::json::object json_of(const Opened& opened);
/// For the side that asked: what an answer says. Throws AgentError with the agent's reason and
/// message if it refuses, and bad_request if the line is not an answer.
[[nodiscard]] boost::json::value result_of(std::string_view line);
[[nodiscard]] Opened opened_of(const boost::json::value& result);

/// A job as `show` lists it; without its token.
[[nodiscard]] boost::json::object json_of(const Job& job, std::size_t sockets, TimeNs now);

/// The record as text, and back. `record_of` throws AgentError (bad_request) for anything else.
[[nodiscard]] std::string text_of(const Record& record);
[[nodiscard]] Record record_of(std::string_view text);

} // namespace tributary::host_agent
