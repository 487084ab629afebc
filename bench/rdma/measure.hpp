// The cost of a scheme on a line: many transfers, each on its own, summed up.
#pragma once

#include "bench/rdma/exchange.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace tributary::rdma::simulation {

enum class SchemeName : std::uint8_t { ours, paper, sender_window, go_back_n, receiver_counter };
inline constexpr std::array scheme_names = {SchemeName::ours, SchemeName::paper,
                                            SchemeName::sender_window, SchemeName::go_back_n,
                                            SchemeName::receiver_counter};
[[nodiscard]] constexpr std::string_view name_of(SchemeName scheme) {
  constexpr std::array<std::string_view, scheme_names.size()> names = {
      "ours", "paper", "sender_window", "go_back_n", "receiver_counter"};
  return names[static_cast<std::size_t>(scheme)];
}

struct Summary {
  double mean_us = 0;
  double p99_us = 0;
  double data_a_frame = 0;    ///< frames with data that were sent for each that was needed
  double control_a_frame = 0; ///< frames without
  std::uint32_t given_up = 0; ///< transfers, not part of the means
};

/// The same for the same seed.
[[nodiscard]] Summary measure(SchemeName scheme, const Line& line, const Transfer& transfer,
                              std::uint32_t transfers, std::uint64_t seed);

} // namespace tributary::rdma::simulation
