// One end of a link through the kernel's loopback interface. All sockets there receive all frames
// of their EtherType, so each end of each link has its own in transit: it replaces the fabric's
// when frames are sent, and is replaced by it when they arrive.
#pragma once

#include "lib/link/raw_socket.hpp"
#include "lib/net/file_descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace tributary::pktgen::transport {

/// EtherTypes on the loopback interface that no other generator of this machine uses meanwhile.
class LoopbackRange {
public:
  static constexpr std::uint16_t size = 128;

  /// Throws std::runtime_error when as many generators calibrate as there are ranges.
  LoopbackRange();
  [[nodiscard]] std::uint16_t first() const { return first_; }

private:
  net::FileDescriptor claim_; ///< a socket whose name only one process can have
  std::uint16_t first_ = 0;
};

class LoopbackPort final : public link::RawSocket {
public:
  /// The two ends of link `link`, 0 to 63, of those in this range. Throws LinkError when the
  /// loopback interface is down or raw sockets are not permitted.
  [[nodiscard]] static std::pair<std::unique_ptr<LoopbackPort>, std::unique_ptr<LoopbackPort>>
  joined(std::size_t link, std::shared_ptr<LoopbackRange> range, std::uint16_t ethertype);

private:
  LoopbackPort(std::shared_ptr<LoopbackRange> range, std::uint16_t ethertype, std::uint16_t heard,
               std::uint16_t spoken);
  std::size_t transmit(std::span<Slot> slots) override;
  std::size_t take(std::span<FrameView> views) override;

  std::shared_ptr<LoopbackRange> range_;
  std::uint16_t ethertype_; ///< of the fabric
  std::uint16_t spoken_;    ///< on the way to the other end
};

} // namespace tributary::pktgen::transport
