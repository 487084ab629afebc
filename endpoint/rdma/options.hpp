// The parameters of a node: its identity, and how much of everything it has. All memory is taken at
// construction.
#pragma once

#include "endpoint/rdma/rules.hpp"
#include "endpoint/rdma/window.hpp"
#include "lib/rdma_policy/policy.hpp"
#include "tributary/secret.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/ethernet.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tributary::rdma {

inline constexpr std::size_t most_contexts = 65'536;

struct Options {
  EndPoint address;
  /// The link delivers frames for programs of this host, too, this one included: by shared memory.
  bool reaches_own_host = false;
  std::uint16_t ethertype = wire::default_ethertype;
  /// Differs with each start of this host: programs draw it.
  std::uint64_t incarnation = 1;
  std::uint64_t seed = 1; ///< of back-offs and jitter
  /// Secret of keys and identifiers, which others must not guess: programs draw it. Without one it
  /// is derived from the seed, for repeatable runs.
  std::optional<Secret> secret{};
  /// Ethernet frames without FCS, as the link takes them: 1514 of an MTU of 1500. At least 256.
  std::uint32_t longest_frame = 1514;

  std::size_t sinks = 4096;     ///< incoming transfers at a time, at most 65,536; 64 bytes + W/8
  std::size_t sources = 4096;   ///< outgoing transfers at a time, at most 65,536; 248 bytes
  std::size_t works = 4096;     ///< reads, and writes of peers with immediate data; at most 65,535
  std::size_t peers = 4096;     ///< pairs of NID and VNI known at a time, at most 65,536
  std::size_t records = 16'384; ///< records of peers' transfers
  std::size_t regions = 1024;   ///< at most 65,536
  std::size_t completions = 8192; ///< writes and reads begun, and completions not yet taken
  std::uint32_t widest_window = rdma_policy::most_window;

  Rules rules; ///< changed only by tests
};

} // namespace tributary::rdma
