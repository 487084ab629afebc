#include "endpoint/rdma/regions.hpp"

namespace tributary::rdma {

Regions::Regions(std::size_t count, const Secret& secret)
    : regions_(count), index_(count), secret_(secret) {
  free_.reserve(count);
  for (std::size_t i = count; i-- > 0;) {
    free_.push_back(static_cast<std::uint16_t>(i));
  }
}

std::optional<RegionKey> Regions::add(std::span<std::byte> memory, Rights rights, Vni vni,
                                      std::uint64_t first) {
  if (free_.empty()) {
    return std::nullopt;
  }
  const std::uint16_t place = free_.back();
  free_.pop_back();
  std::uint64_t key = 0;
  while (key == 0 || index_.find(key) != HashIndex::none) {
    key = secret_.of(++drawn_, 0);
  }
  regions_[place] = {.key = key, .memory = memory, .rights = rights, .vni = vni, .first = first};
  index_.insert(key, place);
  return RegionKey{key};
}

std::optional<RegionPlace> Regions::place_of(RegionKey key) const {
  const std::uint32_t place = index_.find(key.value);
  return place == HashIndex::none ? std::nullopt : std::optional(static_cast<RegionPlace>(place));
}

void Regions::remove(RegionPlace place) {
  index_.erase(place);
  regions_[place] = {};
  free_.push_back(place);
}

std::vector<RegionKey> Regions::keys() const {
  std::vector<RegionKey> all;
  for (const Region& region : regions_) {
    if (region.key != 0) {
      all.push_back(RegionKey{region.key});
    }
  }
  return all;
}

Regions::Found Regions::find(RegionKey key, Vni vni, bool write, std::uint64_t offset,
                             std::uint64_t length) const {
  const std::uint32_t place = index_.find(key.value);
  if (place == HashIndex::none) {
    return {.status = wire::RdmaStatus::wrong_key};
  }
  const Region& region = regions_[place];
  if (region.vni != vni) {
    return {.status = wire::RdmaStatus::wrong_vni};
  }
  if (write ? !region.rights.peers_write : !region.rights.peers_read) {
    return {.status = wire::RdmaStatus::no_right};
  }
  const std::uint64_t from = offset - region.first; // huge if it is before the region
  if (from > region.memory.size() || length > region.memory.size() - from) {
    return {.status = wire::RdmaStatus::out_of_bounds};
  }
  return {.status = wire::RdmaStatus::ok,
          .memory = region.memory.data() + from,
          .region = static_cast<RegionPlace>(place)};
}

} // namespace tributary::rdma
