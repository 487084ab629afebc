#include "controlplane/group/vni_table.hpp"

namespace tributary::group {

std::optional<Vni> VniTable::give_out(const std::string& job) {
  const auto number = pool_.take(pool_.last() + 1);
  if (!number) {
    return std::nullopt;
  }
  const Vni vni{static_cast<std::uint16_t>(*number)};
  held_.emplace(vni, Held{job, 1});
  return vni;
}

bool VniTable::claim(Vni vni, const std::string& job) {
  const auto [it, fresh] = held_.try_emplace(vni, Held{job, 0});
  if (it->second.job != job) {
    return false;
  }
  if (fresh) {
    pool_.take_exactly(vni.value); // so that it is given to nobody else
  }
  ++it->second.claims;
  return true;
}

void VniTable::release(Vni vni) {
  const auto it = held_.find(vni);
  if (it != held_.end() && --it->second.claims == 0) {
    held_.erase(it);
    pool_.give_back(vni.value);
  }
}

std::string_view VniTable::holder(Vni vni) const {
  const auto it = held_.find(vni);
  return it == held_.end() ? std::string_view() : std::string_view(it->second.job);
}

} // namespace tributary::group
