#include "endpoint/library/region_handle.hpp"

#include "tributary/wire/byte_order.hpp"

#include <cstddef>
#include <cstdint>

namespace tributary::library {

namespace {
constexpr std::uint32_t mark = 0x31725254; // "TRr1"
} // namespace

tributary_rdma_region handle_of(const tributary_rdma_region_facts& facts) {
  tributary_rdma_region region{};
  auto* const p = reinterpret_cast<std::byte*>(region.bytes);
  wire::store_le(p, mark);
  wire::store_le(p + 4, facts.nid);
  wire::store_le(p + 8, facts.vni);
  wire::store_le(p + 10, facts.rights);
  wire::store_le(p + 12, facts.end_point);
  wire::store_le(p + 16, facts.key);
  wire::store_le(p + 24, facts.length);
  return region;
}

std::optional<tributary_rdma_region_facts> facts_of(const tributary_rdma_region& region) {
  const auto* const p = reinterpret_cast<const std::byte*>(region.bytes);
  if (wire::load_le<std::uint32_t>(p) != mark) {
    return std::nullopt;
  }
  return tributary_rdma_region_facts{.nid = wire::load_le<std::uint32_t>(p + 4),
                                     .vni = wire::load_le<std::uint16_t>(p + 8),
                                     .rights = wire::load_le<std::uint16_t>(p + 10),
                                     .key = wire::load_le<std::uint64_t>(p + 16),
                                     .length = wire::load_le<std::uint64_t>(p + 24),
                                     .end_point = wire::load_le<std::uint16_t>(p + 12)};
}

} // namespace tributary::library
