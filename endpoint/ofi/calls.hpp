// What the calls that begin an operation have in common. Of transfers.cpp and atomics.cpp.
#pragma once

#include "endpoint/ofi/objects.hpp"

#include <fmt/format.h>

#include <optional>

namespace tributary::ofi {

/// Requires the loop's lock. Empty if nothing is there.
inline std::optional<EndPoint> peer_at(const Endpoint& endpoint, fi_addr_t place) {
  const auto& entries = endpoint.av->entries;
  return place < entries.size() ? entries[place] : std::nullopt;
}

/// What a call returns after an operation was begun, or not: what can be sent is, and a program
/// that tries again and again makes progress. Requires the loop's lock.
inline ssize_t conclude(Endpoint& endpoint, messages::BeginError error, EndPoint peer) {
  using messages::BeginError;
  Domain& domain = *endpoint.domain;
  switch (error) {
  case BeginError::none: domain.program->send(); return 0;
  case BeginError::again: drain(domain); return -FI_EAGAIN;
  case BeginError::no_session:
  case BeginError::bad_address:
  case BeginError::own_host:
  case BeginError::quarantined:
  case BeginError::too_long: break;
  }
  warn(FI_LOG_EP_DATA, fmt::format("NID {:#x}, end point {}: {}", peer.nid.value, peer.number,
                                   messages::text_of(error)));
  return error == BeginError::no_session    ? -FI_ENOMEM
         : error == BeginError::bad_address ? -FI_EINVAL
         : error == BeginError::too_long    ? -FI_EMSGSIZE
                                            : -FI_EHOSTUNREACH;
}

/// Runs `f(messenger)` under the lock, for an end point that is ready.
template <typename F> ssize_t with(Endpoint& endpoint, F&& f) {
  return guarded(FI_LOG_EP_DATA, [&]() -> ssize_t {
    if (!endpoint.enabled) {
      return -FI_EOPBADSTATE;
    }
    auto lock = endpoint.domain->loop().lock();
    return f(endpoint.domain->messenger());
  });
}
/// The same for an operation with a peer: `f(messenger, peer)`.
template <typename F> ssize_t with_peer(Endpoint& endpoint, fi_addr_t place, F&& f) {
  return with(endpoint, [&](messages::Messenger& messenger) -> ssize_t {
    const auto peer = peer_at(endpoint, place);
    return peer ? f(messenger, *peer) : -FI_EINVAL;
  });
}

/// Whether an operation that succeeds has no completion.
inline bool is_silent(bool selective, std::uint64_t flags) {
  return selective && (flags & FI_COMPLETION) == 0;
}

} // namespace tributary::ofi
