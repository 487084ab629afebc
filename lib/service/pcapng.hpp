// Writes the pcapng capture format (draft-ietf-opsawg-pcapng), into memory: what a switch's
// `capture` streams and the traffic generator's --pcap writes.
//
//   section header      once; little endian whatever the machine
//   interface           one per port, named, Ethernet, timestamps in nanoseconds
//   enhanced packet     one per frame, with its direction
//   statistics          one per interface at the end, with what was lost
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

  /// Appends the section header and one interface for each name; packets name them by index.
  /// `frame_bytes` is the most that is kept of a frame, 0 for all of it.
  void begin(std::string_view application, std::span<const std::string> interfaces,
             std::uint32_t frame_bytes);
  void packet(std::uint32_t interface, std::uint64_t unix_time_ns, Direction direction,
              std::span<const std::byte> bytes, std::uint32_t original_length);
  /// Appends the statistics of an interface: frames that matched and were lost on the way.
  void statistics(std::uint32_t interface, std::uint64_t unix_time_ns, std::uint64_t missed);

  /// Of the block that `packet` appends for so much of a frame.
  [[nodiscard]] static constexpr std::size_t packet_bytes(std::size_t frame_bytes) {
    return (frame_bytes + 3) / 4 * 4 + 44;
  }

  [[nodiscard]] std::size_t size() const { return out_.size(); }
  /// What was appended since the last `clear` or `take`; its memory is kept by `clear`.
  [[nodiscard]] std::span<const std::byte> bytes() const { return out_; }
  void reserve(std::size_t bytes) { out_.reserve(bytes); }
  void clear() { out_.clear(); }
  /// What was appended since the last call.
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
