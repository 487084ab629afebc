// What the connections of one server have in common. One instance per server; event loop thread.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/rest/server.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace tributary::rest {

struct Shared {
  api::Service* service = nullptr; ///< nullptr: the server is gone, nothing may be asked any more
  std::string administrator_token;
  Limits limits;
  bool stopping = false;
  /// Whether the service may not be asked any more.
  [[nodiscard]] bool closed() const { return stopping || service == nullptr; }

  std::size_t connections = 0;
  std::size_t event_streams = 0;
  std::size_t buffered_bytes = 0; ///< of bodies that are being received or answered
  std::uint64_t refused_connections = 0;
  std::uint64_t events_cut_off = 0; ///< event streams ended because their reader was too slow
  std::map<unsigned, std::uint64_t> answers; ///< by status
};

/// The server's own figures in OpenMetrics text.
[[nodiscard]] std::string server_metrics(const Shared& shared);

} // namespace tributary::rest
