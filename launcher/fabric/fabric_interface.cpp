#include "launcher/fabric/fabric_interface.hpp"

#include <charconv>

namespace tributary::launch::fabric {

namespace {

constexpr std::uint64_t nid_bits = 0xFFFFF;

/// Six octets as a number.
std::optional<std::uint64_t> number_of(std::string_view mac) {
  std::uint64_t value = 0;
  for (int octet = 0; octet < 6; ++octet) {
    std::uint8_t byte = 0;
    if (mac.size() < 2) {
      return std::nullopt;
    }
    const auto [end, error] = std::from_chars(mac.data(), mac.data() + 2, byte, 16);
    if (error != std::errc() || end != mac.data() + 2) {
      return std::nullopt;
    }
    value = value << 8U | byte;
    mac.remove_prefix(2);
    if (octet < 5) {
      if (!mac.starts_with(':')) {
        return std::nullopt;
      }
      mac.remove_prefix(1);
    }
  }
  return mac.empty() ? std::optional(value) : std::nullopt;
}

} // namespace

std::optional<std::uint32_t> nid_of(std::string_view mac) {
  const auto value = number_of(mac);
  // 0 and all ones are no host.
  if (!value || (*value & nid_bits) == 0 || (*value & nid_bits) == nid_bits) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(*value & nid_bits);
}

std::optional<FabricInterface> fabric_interface(const std::vector<messages::Interface>& interfaces,
                                                std::string_view wanted,
                                                const std::set<std::uint32_t>& known) {
  constexpr std::uint64_t made_for_it = 0x020000000000;
  const messages::Interface* best = nullptr;
  bool best_is_known = false;
  for (const messages::Interface& each : interfaces) {
    const auto nid = nid_of(each.address());
    if (!nid || (!wanted.empty() && each.name() != wanted)) {
      continue;
    }
    const bool fits = (*number_of(each.address()) & ~nid_bits) == made_for_it;
    const bool is_known = fits && known.contains(*nid);
    if (!wanted.empty() || (fits && (best == nullptr || (is_known && !best_is_known)))) {
      best = &each;
      best_is_known = is_known;
    }
  }
  if (best == nullptr) {
    return std::nullopt;
  }
  return FabricInterface{best->name(), best->address(), *nid_of(best->address())};
}

} // namespace tributary::launch::fabric
