// The sizes of a host's RDMA: options, environment, and what follows from the link.
#pragma once

#include "endpoint/rdma/options.hpp"
#include "lib/rdma_policy/policy.hpp"
#include "tributary/rdma.h"
#include "tributary/types.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tributary::library {

struct RdmaSettings {
  std::uint32_t transfers;
  std::uint32_t regions;
  std::uint32_t peers;
  std::uint32_t window;
  std::uint32_t retries;
  std::uint32_t frame_bytes; ///< without the Ethernet header; 0: as the interface has it
  std::uint32_t buffer_bytes;
};

/// Options, environment and defaults, in this order. Throws std::invalid_argument for a value out
/// of bounds, and names its source.
[[nodiscard]] RdmaSettings settings_of(const tributary_rdma_options& options);

/// The options of a host's node, including a number that grows with each start, and random ones.
/// Takes up to 16 ms, so that the next start has another number.
[[nodiscard]] rdma::Options node_options(const RdmaSettings& settings, EndPoint address,
                                         std::uint16_t ethertype, std::uint32_t longest_frame);

/// The policy until the control plane gives another one.
[[nodiscard]] rdma_policy::Policy policy_of(const RdmaSettings& settings);

/// The settings that a launcher made for the job before this process was started.
struct JobPolicy {
  Vni vni;
  rdma_policy::Policy policy;
};
/// From TRIBUTARY_RDMA_POLICY (lib/rdma_policy/policy_text.hpp) and TRIBUTARY_VNI; nullopt where
/// one of them is not set. Throws std::invalid_argument, which names the variable.
[[nodiscard]] std::optional<JobPolicy> policy_of_job();

} // namespace tributary::library
