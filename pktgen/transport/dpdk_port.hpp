// A port as the switch has them, of any of its kinds: a DPDK device, or one end of a ring link of
// this process.
#pragma once

#include "dataplane/port/port_device.hpp"
#include "pktgen/transport/mbuf_port.hpp"

#include <string>

namespace tributary::pktgen {

/// What a DpdkPort at one end of this link is opened with.
[[nodiscard]] config::Port ring_end(const std::string& link);

class DpdkPort final : public MbufPort {
public:
  /// Throws dataplane::PortError. `address` serves where the device has none of its own.
  DpdkPort(const config::Port& configuration, dataplane::Eal& eal, const wire::MacAddress& address);

  [[nodiscard]] std::string description() const override { return device_->description(); }
  [[nodiscard]] const PortCounts& counts() override;
  [[nodiscard]] std::string trouble() override;

private:
  explicit DpdkPort(std::unique_ptr<dataplane::PortDevice> device, dataplane::Eal& eal,
                    const wire::MacAddress& address);
  std::uint16_t send_burst(rte_mbuf** frames, std::uint16_t count) override {
    return device_->transmit(frames, count);
  }
  std::uint16_t receive_burst(rte_mbuf** frames, std::uint16_t capacity) override {
    return device_->receive(frames, capacity);
  }

  std::unique_ptr<dataplane::PortDevice> device_;
};

} // namespace tributary::pktgen
