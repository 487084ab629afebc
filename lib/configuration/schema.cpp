#include "lib/configuration/schema.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tributary::configuration {
namespace {

std::string count_text(std::size_t min, std::size_t max) {
  return min == max ? fmt::format("{}", min)
         : min == 0 ? fmt::format("at most {}", max)
                    : fmt::format("{} to {}", min, max);
}

struct Describe {
  std::string operator()(Flag) const { return "true or false"; }
  std::string operator()(Integer i) const { return fmt::format("integer, {} to {}", i.min, i.max); }
  std::string operator()(Number n) const { return fmt::format("number, {} to {}", n.min, n.max); }
  std::string operator()(Duration d) const {
    return fmt::format("duration, {} to {}", duration_text(d.min_ns), duration_text(d.max_ns));
  }
  std::string operator()(Share s) const {
    return fmt::format("share, {0} to {1} or {2:g}% to {3:g}%", s.min, s.max, 100 * s.min,
                       100 * s.max);
  }
  std::string operator()(Text t) const {
    return fmt::format("text, at most {} bytes", t.max_length);
  }
  std::string operator()(Name) const { return "name"; }
  std::string operator()(PciAddress) const { return "PCI address"; }
  std::string operator()(Choice c) const {
    return fmt::format("one of \"{}\"", fmt::join(c.values, "\", \""));
  }
  std::string operator()(Integers i) const {
    return fmt::format("list of {} integers, {} to {}", count_text(i.min_count, i.max_count), i.min,
                       i.max);
  }
  std::string operator()(Names n) const {
    return fmt::format("list of {} names", count_text(n.min_count, n.max_count));
  }
  std::string operator()(Texts t) const {
    return fmt::format("{}list of {} texts, at most {} bytes each", t.or_one ? "text, or " : "",
                       count_text(t.min_count, t.max_count), t.max_length);
  }
};

struct Unit {
  std::string_view name;
  std::int64_t ns;
};
constexpr Unit units[] = {{"h", 3'600'000'000'000}, {"min", 60'000'000'000}, {"s", 1'000'000'000},
                          {"ms", 1'000'000},        {"us", 1'000},           {"ns", 1}};

} // namespace

std::optional<double> exact_duration_ns(std::string_view text) {
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || !(count >= 0)) {
    return std::nullopt;
  }
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) {
    unit.remove_prefix(1);
  }
  if (unit.empty()) {
    return count == 0 ? std::optional<double>(0) : std::nullopt;
  }
  for (const Unit& known : units) {
    if (unit == known.name) {
      const double ns = count * static_cast<double>(known.ns);
      constexpr double longest = 9e18;
      return ns < longest ? std::optional(ns) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> duration_ns(std::string_view text) {
  const auto ns = exact_duration_ns(text);
  return ns ? std::optional(static_cast<std::int64_t>(std::round(*ns))) : std::nullopt;
}

std::string duration_text(std::int64_t ns) {
  if (ns == 0) {
    return "0s";
  }
  for (const Unit& unit : units) {
    if (ns % unit.ns == 0) {
      return fmt::format("{}{}", ns / unit.ns, unit.name);
    }
  }
  return {}; // unreachable: every duration is a number of nanoseconds
}

std::optional<double> share_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) {
    unit.remove_prefix(1);
  }
  value /= unit == "%" ? 100 : 1;
  return error == std::errc{} && (unit.empty() || unit == "%") && value >= 0 && value <= 1
             ? std::optional(value)
             : std::nullopt;
}

std::optional<std::string> canonical_pci_address(std::string_view text) {
  // Removes leading hexadecimal digits, up to `largest`, and the separator after them.
  const auto take = [&](std::uint32_t largest,
                        std::string_view then) -> std::optional<std::uint32_t> {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (error != std::errc{} || number > largest) {
      return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with(then)) {
      return std::nullopt;
    }
    text.remove_prefix(then.size());
    return number;
  };
  const bool has_domain = std::ranges::count(text, ':') == 2;
  const auto domain = has_domain ? take(0xffff'ffff, ":") : std::optional<std::uint32_t>(0);
  const auto bus = domain ? take(0xff, ":") : std::nullopt;
  const auto device = bus ? take(0x1f, ".") : std::nullopt;
  const auto function = device ? take(7, "") : std::nullopt;
  if (!function || !text.empty()) {
    return std::nullopt;
  }
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", *domain, *bus, *device, *function);
}

std::string describe(const Type& type) { return std::visit(Describe{}, type); }

} // namespace tributary::configuration
