// The layout of struct tributary_rdma_region, little-endian:
//
//   off size field
//     0   4  "TRr1": type and version
//     4   4  NID
//     8   2  VNI
//    10   2  rights
//    12   2  end point
//    14   2  reserved, 0
//    16   8  key
//    24   8  length
#pragma once

#include "tributary/rdma.h"

#include <optional>

namespace tributary::library {

[[nodiscard]] tributary_rdma_region handle_of(const tributary_rdma_region_facts& facts);
/// nullopt if the bytes are not a region handle.
[[nodiscard]] std::optional<tributary_rdma_region_facts>
facts_of(const tributary_rdma_region& region);

} // namespace tributary::library
