// The values of `job create --hosts` and `--vnis`: lists whose words are numbers, ranges, MACs and
// names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::cli {

/// Each word is a NID ("17"), a range of them ("1-16"), a MAC as the manager reads it ("0:00:11"),
/// or else the name of a host, whose NID `find` returns. Returns MACs for the manager. Throws
/// std::invalid_argument for a number that is not a NID, and for an invalid range.
[[nodiscard]] std::vector<std::string>
macs_of(const std::vector<std::string>& words,
        const std::function<std::uint32_t(const std::string& name)>& find);

/// Each word is a VNI or a range of them. Throws std::invalid_argument.
[[nodiscard]] std::vector<std::uint32_t> vnis_of(const std::vector<std::string>& words);

} // namespace tributary::cli
