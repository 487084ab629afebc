#include "lib/service/pcapng_stream.hpp"

#include "lib/service/pcapng_format.hpp"

namespace tributary::service {
namespace {

constexpr std::size_t smallest_block = 12;
constexpr std::size_t largest_block = 1 << 24;
constexpr std::size_t statistics_options = 20;

/// Little endian, as PcapngWriter writes.
std::uint64_t load(std::span<const std::byte> from, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= std::to_integer<std::uint64_t>(from[at + i]) << (8 * i);
  }
  return value;
}

} // namespace

std::vector<std::byte> PcapngStream::add(std::span<const std::byte> bytes) {
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  std::size_t whole = 0;
  while (!malformed_ && pending_.size() - whole >= smallest_block) {
    const auto rest = std::span(pending_).subspan(whole);
    const auto length = static_cast<std::size_t>(load(rest, 4, 4));
    if (length < smallest_block || length > largest_block || length % 4 != 0) {
      malformed_ = true;
    } else if (length > rest.size()) {
      break;
    } else {
      look_at(rest.first(length));
      whole += length;
    }
  }
  const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(whole);
  std::vector<std::byte> complete(pending_.begin(), end);
  pending_.erase(pending_.begin(), end);
  return complete;
}

void PcapngStream::look_at(std::span<const std::byte> block) {
  const auto type = load(block, 0, 4);
  if (type == enhanced_packet_type) {
    ++packets_;
  }
  if (type == statistics_type && block.size() >= statistics_options + 16 &&
      load(block, statistics_options, 2) == dropped_by_system) {
    missed_ += load(block, statistics_options + 4, 8);
  }
}

} // namespace tributary::service
