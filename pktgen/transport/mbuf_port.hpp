// What ports of DPDK buffers have in common: frames are written straight into buffers of the pool
// all ports share, and received ones are freed at the next take. Where the buffers go is the
// derived port's affair.
#pragma once

#include "pktgen/transport/port.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

struct rte_mbuf;
struct rte_mempool;

namespace tributary::pktgen::transport {

class MbufPort : public Port {
public:
  ~MbufPort() override;
  [[nodiscard]] std::uint32_t longest_frame() const final { return longest_frame_; }
  [[nodiscard]] wire::MacAddress address() const final { return address_; }

protected:
  MbufPort(rte_mempool* pool, std::uint32_t longest_frame, const wire::MacAddress& address)
      : pool_(pool), longest_frame_(longest_frame), address_(address) {}

  /// Sends the first of these frames and says how many; the others remain the caller's.
  virtual std::uint16_t send_burst(rte_mbuf** frames, std::uint16_t count) = 0;
  /// Up to `capacity` frames; they are the caller's now.
  virtual std::uint16_t receive_burst(rte_mbuf** frames, std::uint16_t capacity) = 0;

private:
  std::size_t transmit(std::span<Slot> slots) final;
  std::size_t replenish(std::span<Slot> slots) final;
  std::size_t take(std::span<FrameView> views) final;
  void free_received();

  rte_mempool* pool_;
  std::uint32_t longest_frame_;
  wire::MacAddress address_;
  std::array<rte_mbuf*, burst> received_{};
  std::uint16_t received_count_ = 0;
};

} // namespace tributary::pktgen::transport
