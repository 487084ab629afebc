// The order of the tables is the order of numbers. Unplugged elements are written, too, because
// they have a number.
#include "controlplane/topology/toml_file.hpp"

#include "lib/configuration/file.hpp"
#include "lib/configuration/section_reader.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <utility>
#include <vector>

namespace tributary::topology {
namespace {

using configuration::Findings;
using configuration::Flag;
using configuration::Integer;
using configuration::Key;
using configuration::SectionReader;
using configuration::SectionSpec;
using configuration::Text;
using configuration::Texts;
using configuration::Value;

constexpr std::size_t max_name_length = 255;
constexpr std::size_t max_end_length = max_name_length + 6; // ":65535"

struct SwitchDraft {
  std::string name;
  std::string guid;
  Port ports = 0;
  bool up = true;
};
struct HostDraft {
  std::string name;
  std::uint32_t nid = 0;
  std::string at;
  bool up = true;
  bool plugged = true;
};
struct LinkDraft {
  std::vector<std::string> ends;
  std::uint32_t speed_mbps = 0;
  bool up = true;
  bool plugged = true;
};

const Key<SwitchDraft> switch_keys[] = {
    {{.name = "name",
      .type = Text{max_name_length},
      .fallback = "",
      .sample = "\"leaf0\"",
      .required = true,
      .help = "What the switch calls itself."},
     [](SwitchDraft& s, const Value& v) { s.name = configuration::text(v); }},
    {{.name = "ports",
      .type = Integer{0, 65535},
      .fallback = "",
      .sample = "64",
      .required = true,
      .help = "How many it has; they are numbered from 0 on."},
     [](SwitchDraft& s, const Value& v) { s.ports = configuration::integer<Port>(v); }},
    {{.name = "guid",
      .type = Text{18},
      .fallback = "",
      .sample = "\"0x00000000000a11ce\"",
      .help = "Its guid, hexadecimal, in quotes."},
     [](SwitchDraft& s, const Value& v) { s.guid = configuration::text(v); }},
    {{.name = "up",
      .type = Flag{},
      .fallback = "true",
      .sample = "",
      .help = "Whether it was, when the file was written."},
     [](SwitchDraft& s, const Value& v) { s.up = std::get<bool>(v); }},
};

const Key<HostDraft> host_keys[] = {
    {{.name = "name",
      .type = Text{max_name_length},
      .fallback = "",
      .sample = "\"h0\"",
      .required = true,
      .help = "What the host calls itself."},
     [](HostDraft& h, const Value& v) { h.name = configuration::text(v); }},
    {{.name = "nid",
      .type = Integer{0, max_nid},
      .fallback = "",
      .sample = "1",
      .required = true,
      .help = "Its fabric node id."},
     [](HostDraft& h, const Value& v) { h.nid = configuration::integer<std::uint32_t>(v); }},
    {{.name = "at",
      .type = Text{max_end_length},
      .fallback = "",
      .sample = "\"leaf0:3\"",
      .required = true,
      .help = "The switch and the port it is attached to."},
     [](HostDraft& h, const Value& v) { h.at = configuration::text(v); }},
    {{.name = "up",
      .type = Flag{},
      .fallback = "true",
      .sample = "",
      .help = "Whether it was, when the file was written."},
     [](HostDraft& h, const Value& v) { h.up = std::get<bool>(v); }},
    {{.name = "plugged",
      .type = Flag{},
      .fallback = "true",
      .sample = "",
      .help = "false: something else has its port by now."},
     [](HostDraft& h, const Value& v) { h.plugged = std::get<bool>(v); }},
};

const Key<LinkDraft> link_keys[] = {
    {{.name = "ends",
      .type = Texts{2, 2, max_end_length},
      .fallback = "",
      .sample = "[\"leaf0:3\", \"spine1:0\"]",
      .required = true,
      .help = "Two switches, each with a port."},
     [](LinkDraft& c, const Value& v) { c.ends = std::get<std::vector<std::string>>(v); }},
    {{.name = "speed_mbps",
      .type = Integer{0, 4'294'967'295},
      .fallback = "0",
      .sample = "",
      .help = "0: not known."},
     [](LinkDraft& c, const Value& v) { c.speed_mbps = configuration::integer<std::uint32_t>(v); }},
    {{.name = "up",
      .type = Flag{},
      .fallback = "true",
      .sample = "",
      .help = "Whether it was, when the file was written."},
     [](LinkDraft& c, const Value& v) { c.up = std::get<bool>(v); }},
    {{.name = "plugged",
      .type = Flag{},
      .fallback = "true",
      .sample = "",
      .help = "false: other links have its ports by now."},
     [](LinkDraft& c, const Value& v) { c.plugged = std::get<bool>(v); }},
};

void assign(std::size_t index, const Value& value, SwitchDraft& target) {
  switch_keys[index].set(target, value);
}
void assign(std::size_t index, const Value& value, HostDraft& target) {
  host_keys[index].set(target, value);
}
void assign(std::size_t index, const Value& value, LinkDraft& target) {
  link_keys[index].set(target, value);
}

enum SectionIndex : std::size_t { switch_section, host_section, link_section };

configuration::Schema schema() {
  static const auto switch_specs = configuration::specs_of(switch_keys);
  static const auto host_specs = configuration::specs_of(host_keys);
  static const auto link_specs = configuration::specs_of(link_keys);
  static const SectionSpec sections[] = {
      {.path = "switch", .repeated = true, .keys = switch_specs},
      {.path = "host", .repeated = true, .keys = host_specs},
      {.path = "link", .repeated = true, .keys = link_specs},
  };
  return sections;
}

template <typename T> bool parse_number(std::string_view digits, int base, T& value) {
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value, base);
  return error == std::errc() && end == digits.end() && !digits.empty();
}

class Reader {
public:
  explicit Reader(const toml::table& root) : root_(root) {}

  Graph run(const std::string& file) {
    check_top_level(root_, schema(), findings_);
    each<SwitchDraft>(switch_section, [&](const auto& draft, auto& at) { add(draft, at); });
    each<LinkDraft>(link_section, [&](const auto& draft, auto& at) { add(draft, at); });
    each<HostDraft>(host_section, [&](const auto& draft, auto& at) { add(draft, at); });
    findings_.throw_if_any(file);
    return std::move(graph_);
  }

private:
  template <typename Draft, typename Add> void each(SectionIndex index, Add&& add_draft) {
    const SectionSpec& section = schema()[index];
    for (const toml::table* table :
         configuration::tables_of(root_, section.path, section, findings_)) {
      Findings own;
      const SectionReader reader(*table, schema(), section, own);
      if (!own.empty()) { // it would only be reported again
        findings_.take(std::move(own));
        continue;
      }
      Draft draft;
      reader.read_into(draft);
      add_draft(draft, reader);
    }
  }

  void add(const SwitchDraft& draft, const SectionReader& at) {
    std::uint64_t guid = 0;
    if (!draft.guid.empty() &&
        (!draft.guid.starts_with("0x") || !parse_number(draft.guid.substr(2), 16, guid))) {
      return complain(at, "guid", "\"{}\" is not a guid; write 0x and up to 16 hexadecimal digits",
                      draft.guid);
    }
    if (!check_name(at, draft.name)) {
      return;
    }
    attempt(at, "name", [&] {
      graph_.add_switch({.name = draft.name, .guid = guid, .ports = draft.ports, .up = draft.up});
    });
  }

  void add(const LinkDraft& draft, const SectionReader& at) {
    const auto a = end_of(at, "ends", draft.ends[0]);
    const auto b = end_of(at, "ends", draft.ends[1]);
    if (!a || !b) {
      return;
    }
    attempt(at, "ends", [&] {
      graph_.add_link({.ends = {*a, *b},
                       .speed_mbps = draft.speed_mbps,
                       .up = draft.up,
                       .plugged = draft.plugged});
    });
  }

  void add(const HostDraft& draft, const SectionReader& at) {
    const auto port = end_of(at, "at", draft.at);
    if (!port || !check_name(at, draft.name)) {
      return;
    }
    const Nid nid{draft.nid};
    if (!wire::is_valid_nid(nid)) {
      return complain(at, "nid", "{} looks like a multicast address; give another one", draft.nid);
    }
    attempt(at, "at", [&] {
      graph_.add_host(
          {.name = draft.name, .nid = nid, .at = *port, .up = draft.up, .plugged = draft.plugged});
    });
  }

  /// "leaf0:3"
  std::optional<Attachment> end_of(const SectionReader& at, std::string_view key,
                                   std::string_view text) {
    const std::size_t colon = text.rfind(':');
    Attachment end;
    if (colon == std::string_view::npos || !parse_number(text.substr(colon + 1), 10, end.port)) {
      complain(at, key, "\"{}\" is not a port; write SWITCH:PORT, as in \"leaf0:3\"", text);
      return std::nullopt;
    }
    const std::string_view name = text.substr(0, colon);
    const auto s = graph_.find_switch(name);
    if (!s) {
      complain(at, key, "no switch \"{}\"; add a [[switch]] of this name, or correct it", name);
      return std::nullopt;
    }
    end.at = *s;
    return end;
  }

  bool check_name(const SectionReader& at, std::string_view name) {
    if (!is_name_for_files(name)) {
      complain(
          at, "name",
          "has bytes that names do not have; use printable ASCII without quotes and backslashes");
      return false;
    }
    return true;
  }

  template <typename Change>
  void attempt(const SectionReader& at, std::string_view key, Change&& change) {
    try {
      change();
    } catch (const GraphError& error) {
      complain(at, key, "{}; correct one of them", error.what());
    }
  }
  template <typename... Args>
  void complain(const SectionReader& at, std::string_view key, fmt::format_string<Args...> text,
                Args&&... args) {
    findings_.add(at.line(key), at.path(key), text, std::forward<Args>(args)...);
  }

  const toml::table& root_;
  Graph graph_;
  Findings findings_;
};

std::string end_text(const Graph& graph, Attachment end) {
  return fmt::format("\"{}:{}\"", graph[end.at].name, end.port);
}

} // namespace

Graph read_toml(std::string_view text, const std::string& file) {
  const toml::table root = configuration::parse_toml(text, file);
  return Reader(root).run(file);
}

std::string write_toml(const Graph& graph) {
  std::string text;
  const auto write = [out = std::back_inserter(text)]<typename... Args>(
                         fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(out, format, std::forward<Args>(args)...);
  };
  const auto marks = [&](const auto& thing) {
    write("{}\n", !thing.plugged ? "plugged = false\n" : thing.up ? "" : "up = false\n");
  };
  for (const Switch& s : graph.switches()) {
    write("[[switch]]\nname = \"{}\"\nports = {}\n", s.name, s.ports);
    if (s.guid != 0) {
      write("guid = \"{:#018x}\"\n", s.guid);
    }
    write("{}\n", s.up ? "" : "up = false\n");
  }
  for (const Link& link : graph.links()) {
    write("[[link]]\nends = [{}, {}]\n", end_text(graph, link.ends[0]),
          end_text(graph, link.ends[1]));
    if (link.speed_mbps != 0) {
      write("speed_mbps = {}\n", link.speed_mbps);
    }
    marks(link);
  }
  for (const Host& host : graph.hosts()) {
    write("[[host]]\nname = \"{}\"\nnid = {}\nat = {}\n", host.name, host.nid.value,
          end_text(graph, host.at));
    marks(host);
  }
  return text;
}

} // namespace tributary::topology
