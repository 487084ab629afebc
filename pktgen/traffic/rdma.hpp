// RDMA transfers between the memory of virtual hosts, writes and reads mixed, every byte checked by
// the receiver.
//
//   host j   on port j mod P, NID first_nid + j; one queue a port
//   each     has `in_flight` transfers in progress, with whom the pattern says (pattern.hpp): the
//            next begins when one ends
//
// Two generators may be the two ends: one serves, the other names its NID (`to`). They need the
// same seed, transfer_sizes, in_flight and clients, and know of nothing else of each other.
//
// Figures (where):
//   transfers, writes, reads, payload_bytes   begun here   done
//   transfers_failed, transfers_unfinished    begun here   faults; not done when the time-out
//                                             expired
//   writes_arrived, bytes_arrived, reads_served   where peers write and read
//   digest_errors                             transfers with a wrong byte, a fault, also of the
//                                             warm-up
//   written_digest, arrived_digest            sums of CRC32Cs of all writes, as they left and came
//   data_frames, of these resent_frames; control_frames; lost_frames, late_frames: asked for, and
//   came as copies, or on their own; trimmed_frames; duplicate_frames; timeouts; refused_frames
// Latencies: write_done and read_done, from the beginning of a transfer to its completion.
//
// A transfer belongs to the measurement if it began in it, at both ends: its number says so.
//
// One thread. The contract is in traffic.hpp.
#pragma once

#include "pktgen/traffic/rdma_data.hpp"
#include "pktgen/traffic/rdma_host.hpp"
#include "pktgen/traffic/rdma_plan.hpp"
#include "pktgen/traffic/traffic.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tributary::pktgen::traffic {

class RdmaTraffic final : public Traffic {
public:
  /// `incarnation`: more than at any earlier start of these hosts (modulo 2^32). Throws
  /// std::invalid_argument on settings that cannot be.
  RdmaTraffic(const scenario::Rdma& settings, const Placement& placement, std::uint64_t seed,
              std::uint32_t incarnation);

  void start(TimeNs now) override;
  void limit(std::uint64_t operations) override;
  void begin_measuring(TimeNs now) override;
  void stop(TimeNs now) override;
  Reception receive(scenario::QueuePairIndex queue_pair, const FrameView& frame,
                    TimeNs now) override;
  /// Throws std::runtime_error when a port takes no frames of the MTU asked for.
  void generate(Ports ports, TimeNs now) override;
  [[nodiscard]] TimeNs next_due() const override;
  [[nodiscard]] bool sends() const override;
  [[nodiscard]] bool exhausted() const override;
  /// A server cannot know what is still to arrive: it is drained after `quiet_ns` without a frame.
  [[nodiscard]] bool drained(TimeNs now) const override;
  [[nodiscard]] measure::Tally tally(TimeNs now) const override;
  [[nodiscard]] std::string waiting_for(TimeNs now) const override;

  static constexpr std::uint64_t quiet_ns = 500 * ns_per_ms;

private:
  static constexpr std::uint32_t no_index = ~std::uint32_t{0};
  struct Here {
    scenario::QueuePairIndex queue_pair;
    std::unique_ptr<RdmaHost> host;
  };

  void check_ports(Ports ports);
  [[nodiscard]] std::size_t in_flight() const;

  RdmaPlan plan_;
  RdmaData data_;
  std::vector<Here> here_;
  std::vector<std::uint32_t> index_; ///< in `here_`, by host
  bool ports_checked_ = false;
  bool limited_ = false;
  bool stopped_ = false;
  TimeNs last_came_;
};

} // namespace tributary::pktgen::traffic
