// State shared by the connections of one server. One instance per server; event loop thread.
#pragma once

#include "controlplane/api/service.hpp"
#include "controlplane/rest/server.hpp"
#include "controlplane/rest/wakes.hpp"
#include "lib/net/connection_shares.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace tributary::rest {

struct Shared {
  explicit Shared(const Limits& wanted) : limits(wanted), shares(wanted.connections) {}

  api::Service* service = nullptr;    ///< nullptr: the server is gone, and no call is possible
  std::span<const api::Route> routes; ///< the service's
  std::string administrator_token;
  Limits limits;
  bool stopping = false;
  /// Whether the service must not be called any more.
  [[nodiscard]] bool closed() const { return stopping || service == nullptr; }

  std::size_t connections = 0;
  std::shared_ptr<Wakes> wakes = std::make_shared<Wakes>();
  net::ConnectionShares shares; ///< without administrators' connections
  std::size_t event_streams = 0;
  std::size_t open_event_streams = 0;                  ///< callers without a token
  std::map<std::string, std::size_t> event_streams_of; ///< by caller, without administrators'
  std::size_t buffered_bytes = 0; ///< of bodies that are being received or answered
  std::uint64_t refused_connections = 0;
  std::uint64_t displaced_connections = 0; ///< closed to make room for others
  std::uint64_t events_cut_off = 0; ///< event streams ended because their reader was too slow
  std::map<unsigned, std::uint64_t> answers; ///< by status
};

/// The server's own metrics as OpenMetrics text.
[[nodiscard]] std::string server_metrics(const Shared& shared);

} // namespace tributary::rest
