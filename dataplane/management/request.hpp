// One request on the control socket: a line of JSON, parsed and checked.
//
//   {"command":"show","what":"ports","switch":"leaf0"}        what: ports queues trees engines
//                                                              counters workers manager; switch
//                                                              optional, and "port" with queues
//   {"command":"trace","action":"on"}                          on off all dump
//   {"command":"trace","action":"dump","switch":"leaf0","port":"host0","tree":5,"drops":true,
//    "from":[512,0]}                                           all but the action optional; with
//                                                              from, numbers of each worker's
//                                                              events or "end", the newer ones:
//                                                              {"events", "next", which is from
//                                                              the next time, "lost", how many
//                                                              at most}
//   {"command":"capture","switch":"leaf0","port":"host0","tree":5,"direction":"received",
//    "kind":"rdma","vni":7,"cookie":9,"drops":true,"count":100}  all but the command optional;
//                                                              kind: reduction wide rdma hello
//                                                              lldp other
//   {"command":"explain","switch":"leaf0","port":"host0","frame":"0200..."}
//   {"command":"impair","action":"set","switch":"leaf0","port":"host0","direction":"sent",
//    "settings":{"loss":0.01,"seed":7}}                        show set clear; all but the action
//                                                              optional, but for set the port
//   {"command":"version"}    {"command":"reload"}
//
// The answer is one line: {"ok":true,"result":...} or {"ok":false,"error":"..."}. After the answer
// to `capture` the connection carries only pcapng.
#pragma once

#include "dataplane/management/inspector.hpp"

#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tributary::management {

/// Longest line a client may send, its end included.
inline constexpr std::size_t max_request_bytes = 64 * 1024;
/// Longest frame that `explain` accepts.
inline constexpr std::size_t max_explained_bytes = 9216;

struct ShowRequest {
  enum class What : std::uint8_t {
    ports,
    queues,
    trees,
    engines,
    counters,
    workers,
    manager,
    neighbours
  } what{};
  std::string switch_name;
  std::string port; ///< for queues
};
struct TraceRequest {
  enum class Do : std::uint8_t { on, off, all, dump } action{};
  // For dump; empty members match everything.
  std::string switch_name;
  std::string port;
  std::optional<TreeNumber> tree;
  bool drops = false;
  /// Per worker the lowest number that is wanted; workers beyond the list have no limit.
  std::optional<std::vector<std::uint64_t>> from;
  bool from_end = false; ///< no events, only where they end
};
struct CaptureRequest {
  CaptureSelection selection;
  std::optional<std::uint64_t> count;
};
struct ExplainRequest {
  std::string switch_name;
  std::string port;
  std::vector<std::byte> frame;
};
struct ImpairRequest {
  enum class Do : std::uint8_t { show, set, clear } action{};
  ImpairmentSelection selection;
  std::string settings; ///< of `set`, as TOML
};
struct VersionRequest {};
struct ReloadRequest {};

using Request = std::variant<ShowRequest, TraceRequest, CaptureRequest, ExplainRequest,
                             ImpairRequest, VersionRequest, ReloadRequest>;

/// Throws RequestError.
[[nodiscard]] Request parse_request(std::string_view line);

/// The answer to any request except a capture, including the end of line. Never throws.
[[nodiscard]] std::string answer(const Request& request, Inspector& inspector);
/// {"ok":false,"error":...} and a line end.
[[nodiscard]] std::string refusal(std::string_view error);
/// {"ok":true,"result":...} and a line end.
[[nodiscard]] std::string acceptance(const boost::json::value& result);

} // namespace tributary::management
