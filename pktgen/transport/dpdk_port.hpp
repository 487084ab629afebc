// A port as the switch has them, of any of its kinds: a DPDK device, or one end of a ring link of
// this process. Several of them may share a device, each with queues of its own: receive queues
// `queue`, `queue` + number of sharers and so on, and one to send on.
#pragma once

#include "dataplane/port/port_device.hpp"
#include "pktgen/transport/mbuf_port.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tributary::pktgen::transport {

/// The settings of a DpdkPort at one end of this link.
[[nodiscard]] config::Port ring_end(const std::string& link);

/// Throws PortError for a memif client without a server: a generator does not wait for it.
void require_open(const port::PortDevice& device);

class DpdkPort final : public MbufPort {
public:
  /// Throws port::PortError. `address` serves where the device has none of its own.
  DpdkPort(const config::Port& configuration, port::Eal& eal, const wire::MacAddress& address);
  /// Several ports that share one device.
  [[nodiscard]] static std::vector<std::unique_ptr<DpdkPort>>
  sharing(const config::Port& configuration, port::Eal& eal, const wire::MacAddress& address,
          std::uint16_t ports);

  [[nodiscard]] std::string description() const override { return device_->description(); }
  [[nodiscard]] const PortCounts& counts() override;
  [[nodiscard]] std::string error() override;
  [[nodiscard]] std::uint32_t speed_mbps() const override { return device_->speed_mbps(); }

private:
  DpdkPort(std::shared_ptr<port::PortDevice> device, port::Eal& eal,
           const wire::MacAddress& address, std::uint16_t queue, std::uint16_t sharers);
  std::uint16_t send_burst(rte_mbuf** frames, std::uint16_t count) override {
    return device_->transmit_on(queue_, frames, count);
  }
  std::uint16_t receive_burst(rte_mbuf** frames, std::uint16_t capacity) override {
    const std::uint16_t from = next_queue_;
    next_queue_ = static_cast<std::uint16_t>(from + sharers_);
    if (next_queue_ >= device_->receive_queues()) {
      next_queue_ = queue_;
    }
    return device_->receive_from(from, frames, capacity);
  }

  std::shared_ptr<port::PortDevice> device_;
  std::uint16_t queue_;
  std::uint16_t sharers_;
  std::uint16_t next_queue_; ///< to ask
};

} // namespace tributary::pktgen::transport
