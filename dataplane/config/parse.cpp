#include "dataplane/config/parse.hpp"

#include "dataplane/config/section_reader.hpp"
#include "dataplane/config/suggest.hpp"
#include "dataplane/config/validate.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tributary::config {
namespace {

/// The tables a section's name stands for in `parent`; empty when it is not there.
std::vector<const toml::table*> tables_of(const toml::table& parent, std::string_view name,
                                          Section section, Findings& findings) {
  const auto it = parent.find(name);
  if (it == parent.end()) {
    return {};
  }
  std::vector<const toml::table*> tables;
  const auto refuse = [&](std::string_view right) {
    findings.add(line_of(it->first), std::string(path_of(section)),
                 "is not written as it should be; write {}", right);
    return std::vector<const toml::table*>{};
  };
  if (!is_repeated(section)) {
    if (!it->second.is_table()) {
      return refuse(fmt::format("[{}], once", path_of(section)));
    }
    return {it->second.as_table()};
  }
  const toml::array* array = it->second.as_array();
  if (array == nullptr) {
    return refuse(fmt::format("[[{}]], with two brackets", path_of(section)));
  }
  for (const toml::node& element : *array) {
    if (!element.is_table()) {
      return refuse(fmt::format("[[{}]], with two brackets", path_of(section)));
    }
    tables.push_back(element.as_table());
  }
  return tables;
}

void check_top_level(const toml::table& root, Findings& findings) {
  constexpr std::string_view known[] = {"process", "switch"};
  for (const auto& [key, node] : root) {
    if (key.str() != known[0] && key.str() != known[1]) {
      const auto near = nearest(key.str(), known);
      findings.add(line_of(key), std::string(key.str()), "unknown section; {}",
                   near.empty() ? "known are [process] and [[switch]]"
                                : fmt::format("did you mean '{}'?", near));
    }
  }
}

class FileReader {
public:
  FileReader(Parsed& parsed, const Machine& machine) : parsed_(parsed), validator_(machine) {}

  void read(const toml::table& root) {
    check_top_level(root, validator_.findings());
    read_process(root);
    for (const toml::table* table : tables_of(root, "switch", Section::switches, findings())) {
      read_switch(*table);
    }
    validator_.finish(parsed_.config);
    findings().throw_if_any(parsed_.config.file);
  }

private:
  Findings& findings() { return validator_.findings(); }

  void read_process(const toml::table& root) {
    const toml::table empty;
    const auto tables = tables_of(root, "process", Section::process, findings());
    const SectionReader reader(tables.empty() ? empty : *tables.front(), Section::process,
                               findings());
    reader.read_into(parsed_.config.process);
    reader.write_to(parsed_.document, "process");
    validator_.check(parsed_.config.process, reader);
  }

  void read_switch(const toml::table& table) {
    const SectionReader reader(table, Section::switches, findings());
    Switch& sw = parsed_.config.switches.emplace_back();
    sw.line = reader.line();
    reader.read_into(sw);
    const std::string owner = fmt::format("switch {}", sw.name);
    reader.write_to(parsed_.document, owner);
    validator_.check(sw, reader);
    for (const toml::table* port : tables_of(table, "port", Section::port, findings())) {
      read_port(*port, sw, owner);
    }
    for (const toml::table* tree : tables_of(table, "tree", Section::tree, findings())) {
      const SectionReader tree_reader(*tree, Section::tree, findings());
      TreeDraft draft;
      tree_reader.read_into(draft);
      tree_reader.write_to(parsed_.document, fmt::format("{}, tree {}", owner, draft.number));
      validator_.add(sw, draft, tree_reader);
    }
    for (const toml::table* route : tables_of(table, "route", Section::route, findings())) {
      const SectionReader route_reader(*route, Section::route, findings());
      RouteDraft draft;
      route_reader.read_into(draft);
      route_reader.write_to(parsed_.document, fmt::format("{}, route {:#x}", owner, draft.nid));
      validator_.add(sw, draft, route_reader);
    }
  }

  void read_port(const toml::table& table, Switch& sw, const std::string& owner) {
    const SectionReader reader(table, Section::port, findings());
    Port port;
    port.line = reader.line();
    reader.read_into(port);
    const std::string port_owner = fmt::format("{}, port {}", owner, port.name);
    reader.write_to(parsed_.document, port_owner);
    for (const toml::table* impairment :
         tables_of(table, "impairment", Section::impairment, findings())) {
      const SectionReader impairment_reader(*impairment, Section::impairment, findings());
      impairment_reader.read_into(port.impairment);
      impairment_reader.write_to(parsed_.document, port_owner + ", impairment");
    }
    validator_.add(sw, std::move(port), reader);
  }

  Parsed& parsed_;
  Validator validator_;
};

} // namespace

Parsed parse_text(std::string_view text, const std::string& file, const Machine& machine) {
  Parsed parsed;
  parsed.config.file = file;
  try {
    FileReader(parsed, machine).read(toml::parse(text));
  } catch (const toml::parse_error& e) {
    throw ConfigError(file,
                      {{static_cast<int>(e.source().begin.line), "",
                        fmt::format("not valid TOML: {}; correct this place", e.description())}});
  }
  return parsed;
}

Parsed parse_file(const std::string& path, const Machine& machine) {
  const auto refuse = [&](std::string_view why) {
    throw ConfigError(
        path,
        {{0, "", fmt::format("cannot be read ({}); check the path and its permissions", why)}});
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    refuse("it is a directory");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    refuse(std::strerror(errno));
  }
  const std::string text(std::istreambuf_iterator<char>(in), {});
  return parse_text(text, path, machine);
}

} // namespace tributary::config
