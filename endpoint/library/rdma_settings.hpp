// How much of everything a host's RDMA has: what the options leave to the environment, and what
// follows from the link.
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
  std::uint32_t frame_bytes; ///< behind the Ethernet header; 0: as the interface has it
  std::uint32_t buffer_bytes;
};

/// Options, environment and defaults, in this order. Throws std::invalid_argument of what is out of
/// its bounds, and says where it stands.
[[nodiscard]] RdmaSettings settings_of(const tributary_rdma_options& options);

/// Of a host, with all that it has to draw: a number that grows with each start, and random ones.
/// Takes up to 16 ms, so that the next start has another number.
[[nodiscard]] rdma::Options node_options(const RdmaSettings& settings, Nid nid,
                                         std::uint16_t ethertype, std::uint32_t longest_frame);

/// Until the control plane gives another one.
[[nodiscard]] rdma_policy::Policy policy_of(const RdmaSettings& settings);

/// What a launcher has set up for the job before this process was started.
struct JobPolicy {
  Vni vni;
  rdma_policy::Policy policy;
};
/// From TRIBUTARY_RDMA_POLICY (lib/rdma_policy/policy_text.hpp) and TRIBUTARY_VNI; nothing where one
/// of them is not set. Throws std::invalid_argument, which names the variable.
[[nodiscard]] std::optional<JobPolicy> policy_of_job();

} // namespace tributary::library
