// Room for the vectors of frames that wait to be served, while the frames themselves go back to
// their port: taken and given back in the same order. Its pages are touched when they are used
// first.
#pragma once

#include "endpoint/collective/wide_operand.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>

namespace tributary::pktgen::traffic {

class VectorRing {
public:
  /// Upper bound of its memory; it always has room for at least one vector.
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  /// `longest` 0: no vectors.
  VectorRing(std::size_t vectors, std::size_t longest)
      : longest_(longest),
        room_(longest == 0 ? 0 : std::clamp<std::size_t>(most_bytes / longest, 1, vectors)),
        memory_(std::make_unique_for_overwrite<std::byte[]>(room_ * longest)) {}

  /// A copy of the vector, behind those that are kept already; nothing without room.
  [[nodiscard]] std::optional<collective::WideView> keep(const collective::WideView& vector) {
    if (kept_ == room_) {
      return std::nullopt;
    }
    std::byte* const at = memory_.get() + (first_ + kept_++) % room_ * longest_;
    std::memcpy(at, vector.payload.data(), vector.payload.size());
    return collective::WideView{.form = vector.form, .payload = {at, vector.payload.size()}};
  }
  /// Gives back the oldest one.
  void release() {
    first_ = (first_ + 1) % room_;
    --kept_;
  }
  void clear() { kept_ = 0; }

private:
  std::size_t longest_;
  std::size_t room_;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t first_ = 0;
  std::size_t kept_ = 0;
};

} // namespace tributary::pktgen::traffic
