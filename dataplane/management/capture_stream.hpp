// From a capture source to the pcapng bytes a client receives. Pure but for the source.
#pragma once

#include "dataplane/management/inspector.hpp"
#include "lib/service/pcapng.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace tributary::management {

class CaptureStream {
public:
  /// The source outlives the stream. Ends after `count` frames; without it, never on its own.
  CaptureStream(CaptureSource& source, std::optional<std::uint64_t> count)
      : source_(source), remaining_(count) {
    writer_.begin("tributary-switch", source.interfaces(), 0);
  }

  /// Data since the last call: the header the first time, the statistics the last time.
  std::vector<std::byte> next() {
    source_.drain([&](const CapturedPacket& packet) {
      if (remaining_ != 0) {
        write(packet);
      }
    });
    if (remaining_ == 0) {
      close();
    }
    return writer_.take();
  }
  /// Ends it, whatever the count: the remaining frames and the statistics.
  std::vector<std::byte> finish() {
    std::vector<std::byte> bytes = next();
    close();
    const std::vector<std::byte> statistics = writer_.take();
    bytes.insert(bytes.end(), statistics.begin(), statistics.end());
    return bytes;
  }
  [[nodiscard]] bool ended() const { return closed_; }

private:
  void write(const CapturedPacket& packet) {
    writer_.packet(packet.interface, packet.unix_time_ns,
                   packet.received ? service::PcapngWriter::Direction::inbound
                                   : service::PcapngWriter::Direction::outbound,
                   packet.bytes, packet.original_length);
    last_time_ns_ = packet.unix_time_ns;
    if (remaining_) {
      --*remaining_;
    }
  }
  void close() {
    if (!closed_) {
      closed_ = true;
      // Losses are counted for the capture as a whole; they are reported with its first interface.
      writer_.statistics(0, last_time_ns_, source_.missed());
    }
  }

  CaptureSource& source_;
  service::PcapngWriter writer_;
  std::optional<std::uint64_t> remaining_;
  std::uint64_t last_time_ns_ = 0;
  bool closed_ = false;
};

} // namespace tributary::management
