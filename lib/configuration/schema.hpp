// The possible contents of a section of a configuration file, as tables: the parser, the "did you
// mean" suggestions, the printed default, the reference in the user guide and the live reload all
// read them, so they cannot drift.
//
// A key has a type with its range, states whether a running process applies a change of it, and
// stores its value in plain data. A program defines its keys as arrays of Key<Target> and its
// sections as one Schema:
//
//   const Key<Process> process_keys[] = {
//       {{.name = "workers", .type = Integer{1, 64}, .fallback = "1", .help = "Poll loops."},
//        [](Process& p, const Value& v) { p.workers = integer<std::uint32_t>(v); }}, ...};
//   void assign(std::size_t index, const Value& value, Process& target) {
//     process_keys[index].set(target, value);
//   }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tributary::configuration {

/// Whether SIGHUP applies a change, or only a new start of the process.
enum class Change : std::uint8_t { live, restart };

constexpr std::string_view name_of(Change c) { return c == Change::live ? "live" : "restart"; }

// The types of values, with their constraints.
struct Flag {};
struct Integer {
  std::int64_t min, max;
};
struct Number {
  double min, max;
};
/// A text such as "5s", "250ms", "1.5us" or "0"; its value is an integer of nanoseconds.
struct Duration {
  std::int64_t min_ns, max_ns;
};
/// A number, or a text such as "1%"; its value is the number.
struct Share {
  double min = 0, max = 1;
};
struct Text {
  std::size_t max_length;
};
/// Letters, digits, '_', '-' and '.', at most 31: the name of a switch, a port or a ring.
struct Name {};
/// A text such as "0000:03:00.0"; its value is the canonical one, as in `lspci -D` and DPDK.
struct PciAddress {};
struct Choice {
  std::span<const std::string_view> values;
};
struct Integers {
  std::size_t min_count, max_count;
  std::int64_t min, max;
};
struct Names {
  std::size_t min_count, max_count;
};
struct Texts {
  std::size_t min_count, max_count;
  std::size_t max_length; ///< of each
  bool or_one = false;    ///< a text without brackets is a list of one
};
using Type = std::variant<Flag, Integer, Number, Duration, Share, Text, Name, PciAddress, Choice,
                          Integers, Names, Texts>;

/// "integer, 1 to 64", "one of "adaptive", "busy"", ...
[[nodiscard]] std::string describe(const Type& type);

using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                           std::vector<std::string>>;

/// Nanoseconds of a text such as "1.5ms"; empty if it is invalid. Units: ns us ms s min h.
[[nodiscard]] std::optional<std::int64_t> duration_ns(std::string_view text);
/// The same with fractions of a nanosecond.
[[nodiscard]] std::optional<double> exact_duration_ns(std::string_view text);
/// The shortest such text.
[[nodiscard]] std::string duration_text(std::int64_t ns);

/// The share of a text such as "1%", "0.5 %" or "0.01"; empty if it is invalid, or not from 0 to 1.
[[nodiscard]] std::optional<double> share_of(std::string_view text);

/// The canonical form of domain:bus:device.function, in hexadecimal digits; a missing domain
/// becomes 0000. Empty if it is invalid.
[[nodiscard]] std::optional<std::string> canonical_pci_address(std::string_view text);

/// Some sections have kinds, selected by one key; a key may apply to some of them only. One bit
/// each.
using KindMask = std::uint32_t;
inline constexpr KindMask every_kind = ~KindMask{0};

struct KeySpec {
  std::string_view name;
  Type type;
  /// The value if the file has none, as TOML; empty if there is none.
  std::string_view fallback{};
  /// Shown by the printed default if there is no fallback, as TOML.
  std::string_view sample{};
  Change change = Change::restart;
  bool required = false; ///< for the kinds in `kinds`
  std::string_view help;
  KindMask kinds = every_kind;
};

/// A key and the function that stores its value.
template <typename Target> struct Key {
  KeySpec spec;
  void (*set)(Target&, const Value&);
};

template <typename T, std::size_t n> std::array<KeySpec, n> specs_of(const Key<T> (&keys)[n]) {
  std::array<KeySpec, n> specs;
  for (std::size_t i = 0; i < n; ++i) {
    specs[i] = keys[i].spec;
  }
  return specs;
}

struct SectionSpec {
  /// The dotted path of the section's keys, e.g. "switch.port".
  std::string_view path;
  /// Whether a file may repeat it: written [[...]] instead of [...].
  bool repeated = false;
  /// In the order they are printed.
  std::span<const KeySpec> keys;
  /// The names of its subsections.
  std::vector<std::string_view> subsections{};
  /// The names of its kinds in the order of the bits of a KindMask, and the key that selects one;
  /// empty if it has no kinds.
  std::span<const std::string_view> kinds{};
  std::string_view kind_key{};
};

/// All sections of a file.
using Schema = std::span<const SectionSpec>;

// Used by the setters.

template <typename T> T integer(const Value& v) {
  return static_cast<T>(std::get<std::int64_t>(v));
}
inline const std::string& text(const Value& v) { return std::get<std::string>(v); }
inline const std::vector<std::string>& texts(const Value& v) {
  return std::get<std::vector<std::string>>(v);
}

// What the files of several programs have.

/// The longest path of a file that the kernel takes.
inline constexpr std::size_t longest_path = 4095;

inline constexpr std::string_view log_levels[] = {"trace", "debug", "info", "warning", "error"};
inline constexpr KeySpec log_level_spec{
    .name = "log_level",
    .type = Choice{log_levels},
    .fallback = "\"info\"",
    .change = Change::live,
    .help = "Lowest level of messages that are logged to standard error.",
};

} // namespace tributary::configuration
