// Figures that are derived from several counts of one measurement.
#pragma once

#include "pktgen/result/result.hpp"
#include "pktgen/scenario/scenario.hpp"

#include <string_view>
#include <utility>

namespace tributary::pktgen::run {

/// {"reduce_2", "lost"} of "reduce_2.lost", a figure of one of several traffics; {"", "lost"} of
/// the only one's.
[[nodiscard]] std::pair<std::string_view, std::string_view> part_and_name(std::string_view figure);

/// Operations done: reductions of vectors finished at the root (or at the leaves, where only those
/// are here), frames sent of streams (received, where only receivers are here) and captures.
[[nodiscard]] std::uint64_t operations_in(const scenario::Scenario& scenario,
                                          const measure::Tally& tally);

/// The share of the expected operations or frames that were lost: 1 when all were.
[[nodiscard]] double lost_share(const scenario::Scenario& scenario, const measure::Tally& tally);

/// Adds to the tally of reductions the traffic that the root did not have to receive: frames_saved,
/// bytes_saved.
void add_savings(const scenario::Scenario& scenario, measure::Tally& tally);

/// Bytes of each leaf's vectors that were reduced.
[[nodiscard]] std::uint64_t leaf_payload_in(const scenario::Scenario& scenario,
                                            const measure::Tally& tally);

/// Fills Result::derived, one value a repeat:
///   leaf_payload_bytes_per_second,
///   total_payload_bytes_per_second   of the vectors reduced: of each leaf, of all together
///   root_frames_per_reduction        frames that reached the root, for each reduction it completed
///   frames_saved_share               of the contributions sent, those the root did not have to
///                                    receive
void add_derived(const scenario::Scenario& scenario, result::Result& result);

} // namespace tributary::pktgen::run
