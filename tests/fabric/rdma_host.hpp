// A host of the virtual fabric that moves bytes by RDMA: the product's node, whose frames go into
// the host's queue and come from its link.
//
//   RdmaHost host(fabric, h, policy);
//   const rdma::RegionKey key = host.serve(memory);          others may write there
//   host.write(to, key, memory, offset);                     any number
//   host.restart();                                          loses its state, and restarts as
//                                                            another
//   host.done(), host.failed()
#pragma once

#include "endpoint/rdma/node.hpp"
#include "lib/link/port.hpp"
#include "tests/fabric/fabric.hpp"
#include "tests/fabric/host_program.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tributary::fabric {

inline constexpr Vni rdma_vni{1};
/// As long as the fabric's frames can be, tag included.
inline constexpr std::uint32_t rdma_longest_frame = 470;
inline constexpr std::size_t rdma_payload_bytes = rdma_longest_frame - wire::rdma_overhead_bytes;

/// Timers for links of ten gigabits and queues of a few dozen frames.
[[nodiscard]] rdma_policy::Policy impatient_rdma();

class RdmaHost final : public HostProgram {
public:
  /// Attaches itself.
  RdmaHost(Fabric& fabric, HostIndex host, const rdma_policy::Policy& policy);
  ~RdmaHost() override;

  [[nodiscard]] rdma::Node& node() { return *node_; }
  [[nodiscard]] HostIndex index() const { return host_; }
  /// Lets peers write to this memory.
  [[nodiscard]] rdma::RegionKey serve(std::span<std::byte> memory);
  /// False, and a violation, if it cannot be begun. The memory must not change until it is over.
  bool write(const RdmaHost& to, rdma::RegionKey key, std::span<const std::byte> memory,
             std::uint64_t offset);
  /// All that it had begun and served is lost; frames to it are still in flight.
  void restart();
  /// One in `one_in` of the arriving trimmed frames gets a bit flipped behind the FCS; 0: none.
  void damage_trimmed(std::uint64_t one_in) { damage_one_in_ = one_in; }

  [[nodiscard]] std::uint64_t done() const { return done_; }
  [[nodiscard]] std::uint64_t failed() const { return failed_; }
  [[nodiscard]] std::uint64_t begun() const { return begun_; }
  [[nodiscard]] bool idle() const { return done_ + failed_ == begun_; }
  /// When the last transfer ended.
  [[nodiscard]] TimeNs last_end() const { return last_end_; }
  [[nodiscard]] std::uint64_t trimmed() const { return trimmed_; }

  void receive(std::span<const std::byte> frame, TrafficClass c, TimeNs now,
               HostPort& port) override;
  void wake(TimeNs now, HostPort& port) override;
  void drained(TimeNs now, HostPort& port) override { wake(now, port); }
  [[nodiscard]] TimeNs next_wake() const override { return node_->next_deadline(); }

private:
  class Link;
  void make_node();
  void pump(TimeNs now, HostPort& port);

  Fabric& fabric_;
  HostIndex host_;
  rdma_policy::Policy policy_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<rdma::Node> node_;
  std::uint32_t incarnation_ = 0;
  std::uint64_t damage_one_in_ = 0;
  std::uint64_t trimmed_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t failed_ = 0;
  TimeNs last_end_;
};

} // namespace tributary::fabric
