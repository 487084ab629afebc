// Cuts a pcapng stream into whole blocks, so that what is written is always a valid file, and
// counts what is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::service {

class PcapngStream {
public:
  /// Takes the next bytes of the stream, and gives the blocks that are complete by now.
  std::vector<std::byte> add(std::span<const std::byte> bytes);

  [[nodiscard]] std::uint64_t packets() const { return packets_; }
  /// Frames that matched and were lost on the way, as far as whoever wrote it has said.
  [[nodiscard]] std::uint64_t missed() const { return missed_; }
  /// Whether what came is no pcapng at all.
  [[nodiscard]] bool malformed() const { return malformed_; }

private:
  void look_at(std::span<const std::byte> block);

  std::vector<std::byte> pending_;
  std::uint64_t packets_ = 0;
  std::uint64_t missed_ = 0;
  bool malformed_ = false;
};

} // namespace tributary::service
