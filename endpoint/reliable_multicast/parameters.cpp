#include "endpoint/reliable_multicast/parameters.hpp"

#include "tributary/wire/arm_set.hpp"
#include "tributary/wire/shared.hpp"

#include <fmt/format.h>

namespace tributary::reliable_multicast {

namespace {

std::string fault_of_pieces(const Parameters& p) {
  const collective::GroupParameters& group = p.group;
  if (!group.in_switch || !group.armed || group.twin) {
    return "members reduce to one another on one tree with in-switch results, and nowhere else";
  }
  if (p.chunk_bytes > group.payload) {
    return fmt::format("pieces of {} bytes on a tree whose frames carry {}", p.chunk_bytes,
                       group.payload);
  }
  if (p.window_chunks > wire::most_armed_at_once) {
    return fmt::format("windows of {} pieces: there can be 1 to {}", p.window_chunks,
                       wire::most_armed_at_once);
  }
  const std::uint32_t first = p.first_piece.value;
  const std::uint32_t own = group.first_id.value;
  if (first + p.pieces() > group.ids_of_tree() ||
      (first < own + p.windows() && own < first + p.pieces())) {
    return fmt::format("ids {} to {} for pieces: the tree has {}, and {} to {} are for "
                       "acknowledgements",
                       first, first + p.pieces() - 1, group.ids_of_tree(), own,
                       own + p.windows() - 1);
  }
  return {};
}

} // namespace

std::string fault_of(const Parameters& p) {
  if (const std::string fault = fault_of(p.group); !fault.empty()) {
    return fault;
  }
  if (p.group.dialect != collective::Dialect::native) {
    return "cxi hosts know no shared frames; use the native dialect";
  }
  if (!p.nids.empty() && p.nids.size() != p.group.size) {
    return fmt::format("{} NIDs for a group of {}; give one for each rank, or none", p.nids.size(),
                       p.group.size);
  }
  if (!wire::is_wide_payload(p.chunk_bytes)) {
    return fmt::format("chunks of {} bytes: there can be {} to {}, in steps of 8", p.chunk_bytes,
                       wire::least_wide_payload, wire::most_wide_payload);
  }
  if (p.window_chunks == 0 || p.window_chunks > most_window_chunks) {
    return fmt::format("windows of {} chunks: there can be 1 to {}", p.window_chunks,
                       most_window_chunks);
  }
  if (p.reduces) {
    if (const std::string fault = fault_of_pieces(p); !fault.empty()) {
      return fault;
    }
  }
  if (p.gap_ns == 0) {
    return "the gap must be longer than zero";
  }
  return {};
}

} // namespace tributary::reliable_multicast
