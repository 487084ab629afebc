// One end of a ring link of this process, without a DPDK device in between: DPDK has room for 32
// devices, and those are for the switch at the other end.
#pragma once

#include "dataplane/port/eal.hpp"
#include "pktgen/transport/mbuf_port.hpp"

#include <string>

namespace tributary::pktgen {

class RingPort final : public MbufPort {
public:
  /// Throws dataplane::PortError when the link has two ends already. Main thread; as the
  /// destructor, while nothing works on the other end.
  RingPort(dataplane::Eal& eal, std::string link, const wire::MacAddress& address);
  ~RingPort() override;

  [[nodiscard]] std::string description() const override;

private:
  std::uint16_t send_burst(rte_mbuf** frames, std::uint16_t count) override;
  std::uint16_t receive_burst(rte_mbuf** frames, std::uint16_t capacity) override;

  dataplane::Eal& eal_;
  std::string link_;
  dataplane::RingLinks::End end_;
};

} // namespace tributary::pktgen
