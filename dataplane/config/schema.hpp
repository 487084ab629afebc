// The one table of configuration keys. The parser, the "did you mean" suggestions, the printed
// default, the reference in the user guide and the live reload all read it, so they cannot drift.
//
// A key belongs to a section, has a type with its range, says whether a running switch takes a
// change of it, and knows how to put its value into the plain data of config.hpp.
#pragma once

#include "dataplane/config/config.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tributary::config {

enum class Section : std::uint8_t { process, switches, port, impairment, tree, route };
inline constexpr Section all_sections[] = {Section::process,    Section::switches, Section::port,
                                           Section::impairment, Section::tree,     Section::route};

/// The dotted path in front of a section's keys, e.g. "switch.port".
constexpr std::string_view path_of(Section s) {
  switch (s) {
  case Section::process: return "process";
  case Section::switches: return "switch";
  case Section::port: return "switch.port";
  case Section::impairment: return "switch.port.impairment";
  case Section::tree: return "switch.tree";
  case Section::route: return "switch.route";
  }
  return "";
}
/// Whether a file may have several of it: written [[...]] instead of [...].
constexpr bool is_repeated(Section s) { return s != Section::process && s != Section::impairment; }

/// Whether SIGHUP applies a change, or only a new start of the process.
enum class Change : std::uint8_t { live, restart };

constexpr std::string_view name_of(Change c) { return c == Change::live ? "live" : "restart"; }

// The types of values, with what a value must satisfy.
struct Flag {};
struct Integer {
  std::int64_t min, max;
};
struct Number {
  double min, max;
};
struct Text {
  std::size_t max_length;
};
/// Letters, digits, '_', '-' and '.', at most 31: what may name a switch, a port or a ring.
struct Name {};
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
using Type = std::variant<Flag, Integer, Number, Text, Name, Choice, Integers, Names>;

/// "integer, 1 to 64", "one of "adaptive", "busy"", ...
[[nodiscard]] std::string describe(const Type& type);

using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                           std::vector<std::string>>;

/// The port kinds a key of [[switch.port]] has a meaning for, one bit each.
using KindMask = std::uint32_t;
constexpr KindMask mask_of(PortKind k) { return KindMask{1} << static_cast<unsigned>(k); }
inline constexpr KindMask every_kind = ~KindMask{0};

inline constexpr std::string_view port_kind_names[] = {"af_xdp", "af_packet", "pci", "memif",
                                                       "ring",   "pcap",      "null"};
constexpr std::string_view name_of(PortKind k) {
  return port_kind_names[static_cast<std::size_t>(k)];
}

struct KeySpec {
  std::string_view name;
  Type type;
  /// The value where the file has none, as TOML; empty when there is none.
  std::string_view fallback;
  /// Shown by the printed default where there is no fallback, as TOML.
  std::string_view sample;
  Change change = Change::restart;
  bool required = false; ///< for the port kinds in `kinds`
  std::string_view help;
  KindMask kinds = every_kind;
};

/// The keys of a section, in the order they are printed.
[[nodiscard]] std::span<const KeySpec> keys_of(Section section);

// What the sections are read into before names are resolved.
struct TreeDraft {
  std::int64_t number = 0;
  std::int64_t wait_count = 0;
  std::string parent;
  std::vector<std::string> children;
};
struct RouteDraft {
  std::int64_t nid = 0;
  std::string port;
};

/// Puts the value of key number `index` of the section into `target`; the value has the key's type.
void assign(std::size_t index, const Value& value, Process& target);
void assign(std::size_t index, const Value& value, Switch& target);
void assign(std::size_t index, const Value& value, Port& target);
void assign(std::size_t index, const Value& value, Impairment& target);
void assign(std::size_t index, const Value& value, TreeDraft& target);
void assign(std::size_t index, const Value& value, RouteDraft& target);

} // namespace tributary::config
