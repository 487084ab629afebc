#include "endpoint/rdma/regions.hpp"

namespace tributary::rdma {

Regions::Regions(std::size_t count, const Secret& secret)
    : regions_(count), index_(count), secret_(secret) {
  free_.reserve(count);
  for (std::size_t i = count; i-- > 0;) {
    free_.push_back(static_cast<std::uint16_t>(i));
  }
}

std::optional<RegionKey> Regions::add(std::span<std::byte> memory, Rights rights, Vni vni) {
  if (free_.empty()) {
    return std::nullopt;
  }
  const std::uint16_t place = free_.back();
  free_.pop_back();
  std::uint64_t key = 0;
  while (key == 0 || index_.find(key) != HashIndex::none) {
    key = secret_.of(++drawn_, 0);
  }
  regions_[place] = {key, memory, rights, vni};
  index_.insert(key, place);
  return RegionKey{key};
}

std::optional<std::span<std::byte>> Regions::remove(RegionKey key) {
  const std::uint32_t place = index_.find(key.value);
  if (place == HashIndex::none) {
    return std::nullopt;
  }
  const std::span<std::byte> memory = regions_[place].memory;
  index_.erase(place);
  regions_[place] = {};
  free_.push_back(static_cast<std::uint16_t>(place));
  return memory;
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
    return {wire::RdmaStatus::wrong_key, nullptr};
  }
  const Region& region = regions_[place];
  if (region.vni != vni) {
    return {wire::RdmaStatus::wrong_vni, nullptr};
  }
  if (write ? !region.rights.peers_write : !region.rights.peers_read) {
    return {wire::RdmaStatus::no_right, nullptr};
  }
  if (offset > region.memory.size() || length > region.memory.size() - offset) {
    return {wire::RdmaStatus::out_of_bounds, nullptr};
  }
  return {wire::RdmaStatus::ok, region.memory.data() + offset};
}

} // namespace tributary::rdma
