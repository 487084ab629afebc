// Where a switch dials its fabric manager: "unix:PATH", "HOST:PORT", "[V6]:PORT"; "tcp:" may stand
// in front of the last two.
#pragma once

#include <string>
#include <string_view>

namespace tributary::config {

struct ManagerAddress {
  std::string path;    ///< of a Unix socket; empty with TCP
  std::string host;    ///< a name or an address, without brackets
  std::string service; ///< the port
  [[nodiscard]] bool is_unix() const { return !path.empty(); }
};

/// "" and the address, or what is wrong with `text` and what to do.
[[nodiscard]] std::string parse_manager_address(std::string_view text, ManagerAddress& out);

} // namespace tributary::config
