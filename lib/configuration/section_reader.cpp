#include "lib/configuration/section_reader.hpp"

#include "lib/configuration/suggest.hpp"
#include "tributary/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace tributary::configuration {
namespace {

constexpr std::size_t max_name_length = 31;

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
  case toml::node_type::table: return "a table";
  case toml::node_type::array: return "a list";
  case toml::node_type::string: return "text";
  case toml::node_type::integer: return "an integer";
  case toml::node_type::floating_point: return "a number with a fraction";
  case toml::node_type::boolean: return "true or false";
  default: return "a date or time";
  }
}

bool is_name(std::string_view s) {
  return !s.empty() && s.size() <= max_name_length &&
         std::all_of(s.begin(), s.end(),
                     [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
                     }) &&
         !is_dot_segment(s);
}

/// Converts a node to the alternative it is called with.
class Reader {
public:
  Reader(const toml::node& node, std::string& problem) : node_(node), problem_(problem) {}

  std::optional<Value> operator()(Flag) const {
    if (const auto v = node_.value_exact<bool>()) {
      return *v;
    }
    return wrong_type("true or false, without quotes");
  }
  std::optional<Value> operator()(Integer i) const {
    const auto v = node_.value_exact<std::int64_t>();
    if (!v) {
      return wrong_type("an integer, without quotes");
    }
    if (*v < i.min || *v > i.max) {
      return fail("{} is out of range; give {} to {}", *v, i.min, i.max);
    }
    return *v;
  }
  std::optional<Value> operator()(Number n) const {
    // An integer such as 0 or 1 is accepted, too.
    const auto v = node_.is_number() ? node_.value<double>() : std::nullopt;
    if (!v) {
      return wrong_type("a number, without quotes");
    }
    if (!(*v >= n.min && *v <= n.max)) {
      return fail("{} is out of range; give {} to {}", *v, n.min, n.max);
    }
    return *v;
  }
  std::optional<Value> operator()(Duration d) const {
    const auto v = node_.value_exact<std::string>();
    if (!v) {
      return wrong_type("a duration in quotes, e.g. \"250ms\"");
    }
    const auto ns = duration_ns(*v);
    if (!ns) {
      return fail("\"{}\" is not a duration; give a number and ns, us, ms, s, min or h", *v);
    }
    if (*ns < d.min_ns || *ns > d.max_ns) {
      return fail("{} is out of range; give {} to {}", *v, duration_text(d.min_ns),
                  duration_text(d.max_ns));
    }
    return *ns;
  }
  std::optional<Value> operator()(Share s) const {
    const auto text = node_.value_exact<std::string>();
    if (!text && !node_.is_number()) {
      return wrong_type("a share, such as 0.01 or \"1%\"");
    }
    const auto share = text ? share_of(*text) : node_.value<double>();
    if (!share) {
      return fail("\"{}\" is not a share; give one such as 0.01 or \"1%\"", *text);
    }
    if (!(*share >= s.min && *share <= s.max)) {
      return fail("{} is out of range; give {} to {}", *share, s.min, s.max);
    }
    return *share;
  }
  std::optional<Value> operator()(Text t) const {
    const auto v = node_.value_exact<std::string>();
    if (!v) {
      return wrong_type("text in quotes");
    }
    if (v->empty()) {
      return fail("is empty; give a value or remove the key");
    }
    if (v->size() > t.max_length) {
      return fail("has {} bytes; give at most {}", v->size(), t.max_length);
    }
    if (v->find('\0') != std::string::npos) {
      return fail("contains a zero byte; remove it");
    }
    return *v;
  }
  std::optional<Value> operator()(Name) const {
    const auto v = node_.value_exact<std::string>();
    if (!v) {
      return wrong_type("a name in quotes");
    }
    if (!is_name(*v)) {
      return fail("\"{}\" is not a name; use 1 to {} letters, digits, '_', '-' or '.', not "
                  "\".\" or \"..\" alone",
                  *v, max_name_length);
    }
    return *v;
  }
  std::optional<Value> operator()(PciAddress) const {
    const auto v = node_.value_exact<std::string>();
    if (!v) {
      return wrong_type("a PCI address in quotes, e.g. \"0000:03:00.0\"");
    }
    const auto address = canonical_pci_address(*v);
    if (!address) {
      return fail("\"{}\" is not a PCI address; give domain:bus:device.function, e.g. "
                  "0000:03:00.0, as `lspci -D` lists it",
                  *v);
    }
    return *address;
  }
  std::optional<Value> operator()(Choice c) const {
    const auto v = node_.value_exact<std::string>();
    if (!v) {
      return wrong_type("text in quotes");
    }
    if (std::find(c.values.begin(), c.values.end(), *v) == c.values.end()) {
      const auto near = nearest(*v, c.values);
      return fail("\"{}\" is not known; {}give one of \"{}\"", *v,
                  near.empty() ? "" : fmt::format("did you mean \"{}\"? ", near),
                  fmt::join(c.values, "\", \""));
    }
    return *v;
  }
  std::optional<Value> operator()(Integers i) const {
    std::vector<std::int64_t> values;
    return list(i.min_count, i.max_count, Integer{i.min, i.max}, values);
  }
  std::optional<Value> operator()(Names n) const {
    std::vector<std::string> values;
    return list(n.min_count, n.max_count, Name{}, values);
  }
  std::optional<Value> operator()(Texts t) const {
    std::vector<std::string> values;
    if (t.or_one && node_.is_string()) {
      const auto one = (*this)(Text{t.max_length});
      return one ? std::optional<Value>(std::vector{std::get<std::string>(*one)}) : std::nullopt;
    }
    return list(t.min_count, t.max_count, Text{t.max_length}, values);
  }

private:
  template <typename Element, typename T>
  std::optional<Value> list(std::size_t min, std::size_t max, Element element,
                            std::vector<T>& values) const {
    const toml::array* array = node_.as_array();
    if (array == nullptr) {
      return wrong_type("a list in [ ]");
    }
    if (array->size() < min || array->size() > max) {
      return fail("has {} elements; give {}", array->size(),
                  min == max ? fmt::format("{}", min) : fmt::format("{} to {}", min, max));
    }
    for (const toml::node& node : *array) {
      std::string inner;
      const auto v = Reader(node, inner)(element);
      if (!v) {
        return fail("element {}: {}", values.size() + 1, inner);
      }
      values.push_back(std::get<T>(*v));
    }
    return values;
  }
  std::optional<Value> wrong_type(std::string_view wanted) const {
    return fail("is {}; give {}", type_name(node_), wanted);
  }
  template <typename... Args>
  std::optional<Value> fail(fmt::format_string<Args...> text, Args&&... args) const {
    problem_ = fmt::format(text, std::forward<Args>(args)...);
    return std::nullopt;
  }

  const toml::node& node_;
  std::string& problem_;
};

struct ToToml {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
  std::string operator()(double v) const { return fmt::format("{}", v); }
  std::string operator()(const std::string& v) const { return in_quotes(v); }
  std::string operator()(const std::vector<std::int64_t>& v) const {
    return fmt::format("[{}]", fmt::join(v, ", "));
  }
  std::string operator()(const std::vector<std::string>& v) const {
    return v.empty() ? "[]" : fmt::format("[\"{}\"]", fmt::join(v, "\", \""));
  }
};

/// Another section that has this key, for the message.
std::string_view home_of(std::string_view key, Schema schema) {
  for (const SectionSpec& section : schema) {
    for (const KeySpec& spec : section.keys) {
      if (spec.name == key) {
        return section.path;
      }
    }
  }
  return {};
}

} // namespace

std::optional<Value> read_value(const toml::node& node, const Type& type, std::string& problem) {
  return std::visit(Reader(node, problem), type);
}

std::string to_toml(const Value& value) { return std::visit(ToToml{}, value); }

std::string to_toml(const Value& value, const Type& type) {
  return std::holds_alternative<Duration>(type)
             ? in_quotes(duration_text(std::get<std::int64_t>(value)))
             : to_toml(value);
}

std::string canonical_fallback(const KeySpec& spec) {
  const auto table = toml::parse(fmt::format("v = {}", spec.fallback));
  std::string problem;
  const auto value = read_value(*table.get("v"), spec.type, problem);
  return value ? to_toml(*value, spec.type) : problem;
}

SectionReader::SectionReader(const toml::table& table, Schema schema, const SectionSpec& section,
                             Findings& findings)
    : schema_(schema), section_(section), line_(line_of(table)) {
  check_unknown(table, findings);
  const auto specs = section.keys;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto it = table.find(specs[i].name);
    if (it == table.end()) {
      continue;
    }
    lines_.emplace_back(specs[i].name, line_of(it->first));
    std::string problem;
    if (auto value = read_value(it->second, specs[i].type, problem)) {
      values_.emplace_back(i, std::move(*value));
    } else {
      findings.add(line_of(it->first), path(specs[i].name), "{}", problem);
    }
  }
  check_kind(table, findings);
}

int SectionReader::line(std::string_view key) const {
  const auto it = std::find_if(lines_.begin(), lines_.end(),
                               [&](const auto& entry) { return entry.first == key; });
  return it == lines_.end() ? line_ : it->second;
}

std::string SectionReader::path(std::string_view key) const {
  return fmt::format("{}.{}", section_.path, key);
}

void SectionReader::check_unknown(const toml::table& table, Findings& findings) const {
  std::vector<std::string_view> known = section_.subsections;
  for (const KeySpec& spec : section_.keys) {
    known.push_back(spec.name);
  }
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) {
      continue;
    }
    const auto near = nearest(key.str(), known);
    const auto home = home_of(key.str(), schema_);
    findings.add(line_of(key), path(key.str()), "unknown key; {}",
                 !near.empty()   ? fmt::format("did you mean '{}'?", near)
                 : !home.empty() ? fmt::format("it belongs in '{}'", home)
                                 : fmt::format("known here: {}", fmt::join(known, ", ")));
  }
}

std::optional<std::size_t> SectionReader::kind() const {
  const auto spec = std::find_if(section_.keys.begin(), section_.keys.end(),
                                 [&](const KeySpec& key) { return key.name == section_.kind_key; });
  if (section_.kind_key.empty() || spec == section_.keys.end()) {
    return std::nullopt;
  }
  const auto index = static_cast<std::size_t>(spec - section_.keys.begin());
  const auto given = std::find_if(values_.begin(), values_.end(),
                                  [&](const auto& entry) { return entry.first == index; });
  const bool refused =
      given == values_.end() && std::any_of(lines_.begin(), lines_.end(), [&](const auto& entry) {
        return entry.first == section_.kind_key;
      });
  if (refused) {
    return std::nullopt;
  }
  const std::string name =
      given == values_.end() ? canonical_fallback(*spec) : to_toml(given->second);
  const auto found =
      std::find_if(section_.kinds.begin(), section_.kinds.end(),
                   [&](std::string_view candidate) { return in_quotes(candidate) == name; });
  return static_cast<std::size_t>(found - section_.kinds.begin());
}

void SectionReader::check_kind(const toml::table& table, Findings& findings) const {
  const auto its_kind = kind();
  if (!section_.kind_key.empty() && !its_kind) {
    return; // its other keys cannot be checked
  }
  const KindMask kind_bit = its_kind ? KindMask{1} << *its_kind : every_kind;
  const auto of_kind = [&] {
    const auto name = section_.path.substr(section_.path.rfind('.') + 1);
    return fmt::format("for a {} of {} \"{}\"", name, section_.kind_key, section_.kinds[*its_kind]);
  };
  for (const KeySpec& spec : section_.keys) {
    const bool applies = (spec.kinds & kind_bit) != 0;
    const bool present = table.contains(spec.name);
    if (present && !applies) {
      findings.add(line(spec.name), path(spec.name), "has no effect {}; remove it or change the {}",
                   of_kind(), section_.kind_key);
    }
    if (spec.required && applies && !present) {
      findings.add(line_, path(spec.name), "missing{}; add it, e.g. {} = {}",
                   spec.kinds == every_kind ? "" : " " + of_kind(), spec.name, spec.sample);
    }
  }
}

void SectionReader::write_to(Document& document, const std::string& owner) const {
  const auto specs = section_.keys;
  const auto its_kind = kind();
  const KindMask kind_bit = its_kind ? KindMask{1} << *its_kind : every_kind;
  for (const KeySpec& spec : specs) {
    if (!spec.fallback.empty() && (spec.kinds & kind_bit) != 0) {
      document[fmt::format("{}: {}", owner, spec.name)] = {canonical_fallback(spec), spec.change,
                                                           0};
    }
  }
  for (const auto& [index, value] : values_) {
    const KeySpec& spec = specs[index];
    document[fmt::format("{}: {}", owner, spec.name)] = {to_toml(value, spec.type), spec.change,
                                                         line(spec.name)};
  }
}

} // namespace tributary::configuration
