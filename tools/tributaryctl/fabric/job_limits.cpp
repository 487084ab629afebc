#include "tools/tributaryctl/fabric/job_limits.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <stdexcept>

namespace tributary::cli {
namespace {

constexpr std::uint32_t last_nid = 0xF'FFFF;
constexpr std::uint32_t last_vni = 0xFFFF;

struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

/// "17" or "1-16"; nullopt when it is neither.
std::optional<Range> range_in(const std::string& word, std::string_view what, std::uint32_t most) {
  const std::size_t dash = word.find('-');
  const auto first = number_in(std::string_view(word).substr(0, dash));
  const auto last =
      dash == std::string::npos ? first : number_in(std::string_view(word).substr(dash + 1));
  if (!first || !last) {
    return std::nullopt;
  }
  if (*last > most || *first > *last) {
    throw std::invalid_argument(
        fmt::format("\"{}\" is not a valid {}: values are 0 to {}, and a range is "
                    "FIRST-LAST",
                    word, what, most));
  }
  return Range{static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*last)};
}

std::string mac_of(std::uint32_t nid) {
  return fmt::format("{:X}:{:02X}:{:02X}", nid >> 16U, (nid >> 8U) & 0xFFU, nid & 0xFFU);
}

} // namespace

std::vector<std::string>
macs_of(const std::vector<std::string>& words,
        const std::function<std::uint32_t(const std::string& name)>& find) {
  std::vector<std::string> macs;
  for (const std::string& word : words) {
    if (const auto range = range_in(word, "NID", last_nid)) {
      for (std::uint32_t nid = range->first; nid <= range->last; ++nid) {
        macs.push_back(mac_of(nid));
      }
    } else if (word.find(':') != std::string::npos) {
      macs.push_back(word);
    } else {
      macs.push_back(mac_of(find(word)));
    }
  }
  return macs;
}

std::vector<std::uint32_t> vnis_of(const std::vector<std::string>& words) {
  std::vector<std::uint32_t> vnis;
  for (const std::string& word : words) {
    const auto range = range_in(word, "VNI", last_vni);
    if (!range) {
      throw std::invalid_argument(fmt::format(
          "\"{}\" is neither a VNI nor a range of VNIs; write 1024 or 1024-1031", word));
    }
    for (std::uint32_t vni = range->first; vni <= range->last; ++vni) {
      vnis.push_back(vni);
    }
  }
  return vnis;
}

} // namespace tributary::cli
