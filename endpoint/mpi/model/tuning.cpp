#include "endpoint/mpi/model/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace tributary::mpi {

namespace {

/// Reads a number at the beginning of `text`, and removes it.
bool take_number(std::string_view& text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc();
}

} // namespace

Tuning Tuning::always() {
  Tuning tuning;
  for (std::size_t kind = 0; kind < blocking_kind_count; ++kind) {
    tuning.ranges_.push_back({.kind = static_cast<Kind>(kind)});
  }
  return tuning;
}

Tuning Tuning::parse(std::string_view text) {
  if (text == "always" || text == "never") {
    return text == "always" ? always() : never();
  }
  Tuning tuning;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    const std::string_view name = word.substr(0, word.find(':'));
    std::string_view sizes = word.substr(name.size());
    const Tuning all = always();
    const auto found = std::find_if(all.ranges_.begin(), all.ranges_.end(),
                                    [&](const Range& one) { return name_of(one.kind) == name; });
    Range range = found == all.ranges_.end() ? Range{} : *found;
    const auto takes = [&sizes](char expected) {
      const bool is = sizes.starts_with(expected);
      sizes.remove_prefix(is ? 1 : 0);
      return is;
    };
    if (found == all.ranges_.end() ||
        (!sizes.empty() &&
         !(takes(':') && take_number(sizes, range.from) && takes('-') &&
           take_number(sizes, range.to) && sizes.empty() && range.from <= range.to))) {
      throw std::invalid_argument(
          fmt::format("'{}' in '{}' is not a tuning; it can be 'measure', 'start', 'run', 'print', "
                      "'always', 'never', or kinds with ranges of bytes such as "
                      "'allreduce:8-65536,barrier'; kinds are allreduce, reduce, bcast, barrier, "
                      "reduce_scatter_block, reduce_scatter",
                      word, text));
    }
    tuning.ranges_.push_back(range);
  }
  return tuning;
}

bool Tuning::through_network(Kind kind, std::uint64_t bytes) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    return range.kind == blocking(kind) && range.from <= bytes && bytes <= range.to;
  });
}

std::string Tuning::text() const {
  std::string text;
  for (std::size_t kind = 0; kind < blocking_kind_count; ++kind) {
    std::string where;
    for (const Range& range : ranges_) {
      if (range.kind == static_cast<Kind>(kind)) {
        where += where.empty() ? "in the network: " : ", ";
        where += range.to == no_limit ? fmt::format("{} bytes and more", range.from)
                                      : fmt::format("{} to {} bytes", range.from, range.to);
      }
    }
    text += fmt::format("  {:20} {}\n", name_of(static_cast<Kind>(kind)),
                        where.empty() ? "by the MPI library" : where);
  }
  return text;
}

} // namespace tributary::mpi
