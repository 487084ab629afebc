// Splits a pcapng stream into whole blocks, so that the written file is always valid, and counts
// its frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::service {

class PcapngStream {
public:
  /// Takes the next bytes of the stream, and returns the blocks that are complete by now.
  std::vector<std::byte> add(std::span<const std::byte> bytes);

  [[nodiscard]] std::uint64_t packets() const { return packets_; }
  /// Matching frames that were lost before they were written, as reported by the writer.
  [[nodiscard]] std::uint64_t missed() const { return missed_; }
  /// Whether the received data is not pcapng.
  [[nodiscard]] bool malformed() const { return malformed_; }

private:
  void look_at(std::span<const std::byte> block);

  std::vector<std::byte> pending_;
  std::uint64_t packets_ = 0;
  std::uint64_t missed_ = 0;
  bool malformed_ = false;
};

} // namespace tributary::service
