#include "pktgen/scenario/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tributary::pktgen::scenario {
namespace {

constexpr std::array<std::uint32_t, 12> imix = {64,   594, 64,  64, 594, 64,
                                                1518, 64,  594, 64, 594, 64};

} // namespace

Sizes::Sizes(const std::vector<std::uint32_t>& with_fcs) {
  for (const std::uint32_t size : with_fcs) {
    if (size == 0) {
      frame_bytes_.insert(frame_bytes_.end(), imix.begin(), imix.end());
    } else if (size < shortest_size || size > longest_size) {
      throw std::invalid_argument(
          fmt::format("a frame of {} bytes: sizes go from {} to {}, the FCS included", size,
                      shortest_size, longest_size));
    } else {
      frame_bytes_.push_back(size);
    }
  }
  if (frame_bytes_.empty()) {
    throw std::invalid_argument("no frame sizes are given");
  }
  for (std::uint32_t& size : frame_bytes_) {
    size -= fcs_bytes;
  }
}

std::uint32_t Sizes::longest() const { return *std::ranges::max_element(frame_bytes_); }

double Sizes::mean_bits_on_the_wire() const {
  double sum = 0;
  for (const std::uint32_t size : frame_bytes_) {
    sum += bits_on_the_wire(size);
  }
  return sum / static_cast<double>(frame_bytes_.size());
}

} // namespace tributary::pktgen::scenario
