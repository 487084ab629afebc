// The memory that peers may write to or read from. A region has a key that cannot be guessed; it is
// addressed by offsets. Does not own the memory.
#pragma once

#include "endpoint/rdma/hash_index.hpp"
#include "tributary/secret.hpp"
#include "tributary/types.hpp"
#include "tributary/wire/rdma_status.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tributary::rdma {

/// All bits are drawn.
using RegionKey = Strong<struct RegionKeyTag, std::uint64_t>;

/// Where a region stands in the table; another region may have the place later.
using RegionPlace = std::uint16_t;

struct Rights {
  bool peers_write = false;
  bool peers_read = false;
};

class Regions {
public:
  Regions(std::size_t count, const Secret& secret);

  /// nullopt if all places are taken. The memory must stay until it is deregistered. Peers name its
  /// first byte by the offset `first`: 0, or its address here.
  [[nodiscard]] std::optional<RegionKey> add(std::span<std::byte> memory, Rights rights, Vni vni,
                                             std::uint64_t first = 0);
  /// Its place; nullopt if the region does not exist.
  [[nodiscard]] std::optional<RegionPlace> place_of(RegionKey key) const;
  /// Requires that no transfer uses it.
  void remove(RegionPlace place);
  // Transfers of peers to or from the region, in progress.
  void use(RegionPlace place) { ++regions_[place].uses; }
  void release(RegionPlace place) { --regions_[place].uses; }
  [[nodiscard]] std::uint32_t uses(RegionPlace place) const { return regions_[place].uses; }
  /// All keys. Cold: allocates.
  [[nodiscard]] std::vector<RegionKey> keys() const;
  [[nodiscard]] std::size_t size() const { return regions_.size() - free_.size(); }

  struct Found {
    wire::RdmaStatus status = wire::RdmaStatus::wrong_key;
    std::byte* memory = nullptr; ///< if the status is `ok`
    RegionPlace region = 0;      ///< likewise
  };
  /// Whether frames of this VNI may write (or read) `length` bytes from this offset on; if not, the
  /// first objection: key, VNI, right, bounds.
  [[nodiscard]] Found find(RegionKey key, Vni vni, bool write, std::uint64_t offset,
                           std::uint64_t length) const;

private:
  struct Region {
    std::uint64_t key = 0; ///< 0: unused
    std::span<std::byte> memory;
    Rights rights;
    Vni vni;
    std::uint64_t first = 0;
    std::uint32_t uses = 0;
  };
  std::vector<Region> regions_;
  HashIndex index_; ///< by key
  std::vector<std::uint16_t> free_;
  Secret secret_;
  std::uint64_t drawn_ = 0;
};

} // namespace tributary::rdma
