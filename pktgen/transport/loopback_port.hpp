// One end of a link through the kernel's loopback interface. All sockets there hear all frames of
// their EtherType, so each end of each link has one of its own on the way: it is put into frames as
// they are sent, and the fabric's own one is put back as they come in.
#pragma once

#include "pktgen/transport/raw_port.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace tributary::pktgen {

class LoopbackPort final : public RawPort {
public:
  /// The two ends of link `link`, 0 to 63. Throws TransportError when the loopback interface is
  /// down or raw sockets are not permitted.
  [[nodiscard]] static std::pair<std::unique_ptr<LoopbackPort>, std::unique_ptr<LoopbackPort>>
  joined(std::size_t link, std::uint16_t ethertype);

private:
  LoopbackPort(std::uint16_t ethertype, std::uint16_t heard, std::uint16_t spoken);
  std::size_t transmit(std::span<Slot> slots) override;
  std::size_t take(std::span<core::FrameView> views) override;

  std::uint16_t ethertype_; ///< of the fabric
  std::uint16_t spoken_;    ///< on the way to the other end
};

} // namespace tributary::pktgen
