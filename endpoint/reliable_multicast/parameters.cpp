#include "endpoint/reliable_multicast/parameters.hpp"

#include "tributary/wire/shared.hpp"

#include <fmt/format.h>

namespace tributary::reliable_multicast {

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
  if (p.gap_ns == 0) {
    return "the gap must be longer than zero";
  }
  return {};
}

} // namespace tributary::reliable_multicast
