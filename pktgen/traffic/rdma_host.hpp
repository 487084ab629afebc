// One virtual host of RDMA transfers: a node, its memory, and the transfers that it has begun.
//
//   slot   free --begin--> busy --done, compared--> free
//                               --failed----------> set aside: frames that are still on their
//                                                   way may change it at the peer
//
// One thread. Nothing is allocated between construction and destruction but remarks.
#pragma once

#include "endpoint/rdma/completion.hpp"
#include "endpoint/rdma/counters.hpp"
#include "endpoint/rdma/node.hpp"
#include "lib/link/port.hpp"
#include "lib/statistics/histogram.hpp"
#include "pktgen/measure/tally.hpp"
#include "pktgen/scenario/port_index.hpp"
#include "pktgen/traffic/rdma_data.hpp"
#include "pktgen/traffic/rdma_plan.hpp"
#include "tributary/frame_view.hpp"
#include "tributary/random.hpp"
#include "tributary/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tributary::pktgen::traffic {

/// Since the measurement began; digest errors since the start.
struct RdmaCounts {
  std::uint64_t writes = 0; ///< done
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0; ///< of both
  std::uint64_t failed = 0;
  std::uint64_t not_begun = 0; ///< the node refused to
  std::uint64_t arrived = 0;   ///< writes of peers
  std::uint64_t arrived_bytes = 0;
  // Sums of the CRC32Cs of transfers, so that two ends can be compared.
  std::uint64_t written_digest = 0;
  std::uint64_t arrived_digest = 0;
  std::uint64_t digest_errors = 0;
  measure::Volume sent;
  measure::Volume received;
};

class RdmaHost {
public:
  /// All outlive it.
  RdmaHost(const RdmaPlan& plan, RdmaData& data, std::uint32_t number);

  void start(TimeNs now) { running_ = plan_.begins(number_), now_ = now; }
  /// Limits how many transfers begin in the next measurement; `no_limit`: as many as it can.
  void limit(std::uint64_t transfers) { limit_ = transfers; }
  void begin_measuring();
  void stop() { running_ = false; }

  void receive(const FrameView& frame, TimeNs now) {
    counts_.received.add(frame.length);
    came_ = true;
    node_.receive({&frame, 1}, now);
  }
  void generate(link::Port& port, TimeNs now);
  [[nodiscard]] TimeNs next_due() const;

  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }
  /// The transfers in progress that began within the measurement.
  [[nodiscard]] std::size_t unfinished() const;
  /// Slots that must not be used for a while.
  [[nodiscard]] std::size_t set_aside() const { return set_aside_.size(); }
  /// Whether it begins transfers, and has begun all that it may.
  [[nodiscard]] bool exhausted() const {
    return remaining_ != no_limit && remaining_ == 0 && in_flight_ == 0;
  }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] const RdmaCounts& counts() const { return counts_; }
  [[nodiscard]] const statistics::Histogram& write_latency() const { return write_latency_; }
  [[nodiscard]] const statistics::Histogram& read_latency() const { return read_latency_; }
  /// What the node has counted since the measurement began.
  [[nodiscard]] rdma::Counters node_counts() const;
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }
  /// The transfer that has been in progress for longest, for a person; empty without any.
  [[nodiscard]] std::string oldest(TimeNs now) const;

  static constexpr std::uint64_t no_limit = ~std::uint64_t{0};
  /// How long a slot is set aside: longer than any frame is on its way.
  static constexpr std::uint64_t set_aside_ns = 10 * ns_per_second;

private:
  struct Slot {
    bool busy = false;
    bool read = false;
    TransferNumber number = 0;
    std::uint64_t length = 0;
    Nid peer;
    TimeNs begun;
    TimeNs free_at; ///< while it is set aside
  };

  void begin_some();
  [[nodiscard]] bool begin(std::uint32_t slot);
  /// Null if it has no peer.
  [[nodiscard]] const RdmaPlan::Peer* next_peer();
  void take_completions();
  void finish(const rdma::Completion& completion);
  void arrive(const rdma::Completion& completion);
  /// Compares received with expected bytes; counts and records differences.
  bool compare(const std::byte* came, TransferNumber number, std::uint64_t length, Nid peer,
               const char* what);
  void free_set_aside();
  void remark(std::string text);

  const RdmaPlan& plan_;
  RdmaData& data_;
  std::uint32_t number_;
  std::unique_ptr<std::byte[]> reads_;   ///< a slot for each transfer here
  std::unique_ptr<std::byte[]> written_; ///< slots for the writes of peers
  rdma::Node node_;
  Random random_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> set_aside_; ///< in the order in which they become free
  std::size_t in_flight_ = 0;
  std::uint64_t begun_ = 0;
  std::uint32_t round_ = 0; ///< of the pattern
  std::uint64_t limit_ = no_limit;
  std::uint64_t remaining_ = no_limit;
  bool running_ = false;
  bool measuring_ = false;
  bool came_ = false; ///< a frame arrived that may require work
  bool full_ = false; ///< the port took no more
  TimeNs now_;
  RdmaCounts counts_;
  rdma::Counters before_{};
  statistics::Histogram write_latency_;
  statistics::Histogram read_latency_;
  std::vector<std::string> remarks_;
};

} // namespace tributary::pktgen::traffic
