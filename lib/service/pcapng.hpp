// Writes the pcapng capture format (draft-ietf-opsawg-pcapng), into memory: for a switch's
// `capture` stream and the traffic generator's --pcap.
//
//   section header      once; little endian on every machine
//   interface           one per port, named, Ethernet, timestamps in nanoseconds
//   enhanced packet     one per frame, with its direction
//   statistics          one per interface at the end, with the number of lost frames
//
// Every block is padded to four bytes and repeats its length at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::service {

class PcapngWriter {
public:
  enum class Direction : std::uint8_t { inbound = 1, outbound = 2 };

  /// Appends the section header and one interface for each name; packets refer to them by index.
  /// `frame_bytes` is the limit of bytes kept of a frame, 0: no limit.
  void begin(std::string_view application, std::span<const std::string> interfaces,
             std::uint32_t frame_bytes);
  void packet(std::uint32_t interface, std::uint64_t unix_time_ns, Direction direction,
              std::span<const std::byte> bytes, std::uint32_t original_length);
  /// Appends the statistics of an interface: matching frames that were lost before they were
  /// written.
  void statistics(std::uint32_t interface, std::uint64_t unix_time_ns, std::uint64_t missed);

  /// Length of the block that `packet` appends for this many bytes of a frame.
  [[nodiscard]] static constexpr std::size_t packet_bytes(std::size_t frame_bytes) {
    return (frame_bytes + 3) / 4 * 4 + 44;
  }

  [[nodiscard]] std::size_t size() const { return out_.size(); }
  /// Data appended since the last `clear` or `take`; `clear` keeps its memory.
  [[nodiscard]] std::span<const std::byte> bytes() const { return out_; }
  void reserve(std::size_t bytes) { out_.reserve(bytes); }
  void clear() { out_.clear(); }
  /// Data appended since the last call.
  [[nodiscard]] std::vector<std::byte> take() {
    std::vector<std::byte> taken;
    taken.swap(out_);
    return taken;
  }

private:
  class Block;
  std::vector<std::byte> out_;
};

} // namespace tributary::service
