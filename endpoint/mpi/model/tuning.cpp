#include "endpoint/mpi/model/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <stdexcept>

namespace tributary::mpi {

namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void refuse(std::string_view text, std::string_view word) {
  throw std::invalid_argument(fmt::format(
      "'{}' in '{}' is not a tuning; it can be 'measure', 'start', 'run', 'print', 'always', "
      "'never', "
      "or "
      "kinds with ranges of bytes such as 'allreduce:8-65536,barrier'; kinds are allreduce, "
      "reduce, bcast, barrier, "
      "reduce_scatter_block, reduce_scatter",
      word, text));
}

std::optional<Kind> kind_of(std::string_view name) {
  for (std::size_t k = 0; k < kind_count; ++k) {
    const auto kind = static_cast<Kind>(k);
    if (name == name_of(kind) && blocking(kind) == kind) {
      return kind;
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

std::string text_of(const Range& range) {
  return range.to == no_limit ? fmt::format("{} bytes and more", range.from)
                              : fmt::format("{} to {} bytes", range.from, range.to);
}

} // namespace

Tuning Tuning::always() {
  Tuning tuning;
  for (auto& ranges : tuning.ranges_) {
    ranges = {{0, no_limit}};
  }
  return tuning;
}

Tuning Tuning::parse(std::string_view text) {
  if (text == "always") {
    return always();
  }
  Tuning tuning;
  if (text == "never") {
    return tuning;
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    const std::size_t colon = word.find(':');
    const auto kind = kind_of(word.substr(0, colon));
    if (!kind) {
      refuse(text, word);
    }
    Range range{0, no_limit};
    if (colon != std::string_view::npos) {
      const std::string_view sizes = word.substr(colon + 1);
      const std::size_t dash = sizes.find('-');
      const auto from = number_of(sizes.substr(0, dash));
      const auto to =
          dash == std::string_view::npos ? std::nullopt : number_of(sizes.substr(dash + 1));
      if (!from || !to || *from > *to) {
        refuse(text, word);
      }
      range = {*from, *to};
    }
    tuning.ranges_[index_of(*kind)].push_back(range);
  }
  return tuning;
}

bool Tuning::through_network(Kind kind, std::uint64_t bytes) const {
  const auto& ranges = ranges_[index_of(kind)];
  return std::any_of(ranges.begin(), ranges.end(), [bytes](const Range& range) {
    return range.from <= bytes && bytes <= range.to;
  });
}

bool Tuning::is_empty() const {
  return std::all_of(ranges_.begin(), ranges_.end(),
                     [](const std::vector<Range>& ranges) { return ranges.empty(); });
}

std::string Tuning::text() const {
  std::string text;
  for (std::size_t k = 0; k < kind_count; ++k) {
    const auto kind = static_cast<Kind>(k);
    if (blocking(kind) != kind) {
      continue;
    }
    text += fmt::format("  {:20} ", name_of(kind));
    std::string where;
    for (const Range& range : ranges_[k]) {
      where += fmt::format("{}{}", where.empty() ? "" : ", ", text_of(range));
    }
    text += where.empty() ? "by the MPI library" : "in the network: " + where;
    text += '\n';
  }
  return text;
}

} // namespace tributary::mpi
