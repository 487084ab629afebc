#include "dataplane/config/parse.hpp"

#include "dataplane/config/schema.hpp"
#include "dataplane/config/validate.hpp"
#include "lib/configuration/file.hpp"
#include "lib/configuration/section_reader.hpp"

namespace tributary::config {

using configuration::SectionReader;
using configuration::tables_of;

namespace {

class FileReader {
public:
  FileReader(Parsed& parsed, const Machine& machine) : parsed_(parsed), validator_(machine) {}

  void read(const toml::table& root) {
    configuration::check_top_level(root, switch_schema(), findings());
    read_process(root);
    read_manager(root);
    for (const toml::table* table :
         tables_of(root, "switch", spec_of(Section::switches), findings())) {
      read_switch(*table);
    }
    validator_.finish(parsed_.config);
    findings().throw_if_any(parsed_.config.file);
  }

private:
  configuration::Findings& findings() { return validator_.findings(); }

  void read_process(const toml::table& root) {
    const toml::table empty;
    const auto tables = tables_of(root, "process", spec_of(Section::process), findings());
    const SectionReader reader(tables.empty() ? empty : *tables.front(), switch_schema(),
                               spec_of(Section::process), findings());
    reader.read_into(parsed_.config.process);
    reader.write_to(parsed_.document, "process");
    validator_.check(parsed_.config.process, reader);
  }

  void read_manager(const toml::table& root) {
    const auto tables = tables_of(root, "manager", spec_of(Section::manager), findings());
    if (tables.empty()) {
      return;
    }
    const SectionReader reader(*tables.front(), switch_schema(), spec_of(Section::manager),
                               findings());
    Manager& manager = parsed_.config.manager.emplace();
    reader.read_into(manager);
    reader.write_to(parsed_.document, "manager");
    validator_.check(manager, reader);
  }

  void read_switch(const toml::table& table) {
    const SectionReader reader(table, switch_schema(), spec_of(Section::switches), findings());
    Switch& sw = parsed_.config.switches.emplace_back();
    sw.line = reader.line();
    reader.read_into(sw);
    const std::string owner = fmt::format("switch {}", sw.name);
    reader.write_to(parsed_.document, owner);
    validator_.check(sw, reader);
    read_classes(table, Section::switch_class, sw.classes, owner);
    for (const toml::table* port : tables_of(table, "port", spec_of(Section::port), findings())) {
      read_port(*port, sw, owner);
    }
    validator_.join_foreign(sw, reader);
    for (const toml::table* tree : tables_of(table, "tree", spec_of(Section::tree), findings())) {
      const SectionReader tree_reader(*tree, switch_schema(), spec_of(Section::tree), findings());
      TreeDraft draft;
      tree_reader.read_into(draft);
      tree_reader.write_to(parsed_.document, fmt::format("{}, tree {}", owner, draft.number));
      validator_.add(sw, draft, tree_reader);
    }
    for (const toml::table* route :
         tables_of(table, "route", spec_of(Section::route), findings())) {
      const SectionReader route_reader(*route, switch_schema(), spec_of(Section::route),
                                       findings());
      RouteDraft draft;
      route_reader.read_into(draft);
      route_reader.write_to(parsed_.document, fmt::format("{}, route {:#x}", owner, draft.nid));
      validator_.add(sw, draft, route_reader);
    }
  }

  void read_port(const toml::table& table, Switch& sw, const std::string& owner) {
    const SectionReader reader(table, switch_schema(), spec_of(Section::port), findings());
    Port port;
    port.line = reader.line();
    port.policy.longest_frame = parsed_.config.process.longest_frame;
    port.policy.lldp = parsed_.config.process.lldp;
    port.classes = sw.classes;
    reader.read_into(port);
    const std::string port_owner = fmt::format("{}, port {}", owner, port.name);
    reader.write_to(parsed_.document, port_owner);
    read_impairments(table, port, port_owner);
    read_classes(table, Section::port_class, port.classes, port_owner);
    validator_.add(sw, std::move(port), reader);
  }

  /// Keys missing from a direction's section are inherited from the section for both directions.
  void read_impairments(const toml::table& table, Port& port, const std::string& owner) {
    for (const toml::table* both :
         tables_of(table, "impairment", spec_of(Section::impairment), findings())) {
      read_impairment(*both, Section::impairment, port.impaired_received, owner + ", impairment");
      port.impaired_sent = port.impaired_received;
      for (const toml::table* one :
           tables_of(*both, "received", spec_of(Section::received_impairment), findings())) {
        read_impairment(*one, Section::received_impairment, port.impaired_received,
                        owner + ", impairment of what is received");
      }
      for (const toml::table* one :
           tables_of(*both, "sent", spec_of(Section::sent_impairment), findings())) {
        read_impairment(*one, Section::sent_impairment, port.impaired_sent,
                        owner + ", impairment of what is sent");
      }
    }
  }

  void read_impairment(const toml::table& table, Section section, Impairment& impairment,
                       const std::string& owner) {
    const SectionReader reader(table, switch_schema(), spec_of(section), findings());
    reader.read_into(impairment);
    reader.write_to(parsed_.document, owner);
    validator_.check(impairment, reader);
  }

  /// Keys missing from a section keep their value.
  void read_classes(const toml::table& table, Section section, Classes& classes,
                    const std::string& owner) {
    ClassSet seen;
    for (const toml::table* one : tables_of(table, "class", spec_of(section), findings())) {
      const SectionReader reader(*one, switch_schema(), spec_of(section), findings());
      ClassDraft number;
      reader.read_into(number);
      const TrafficClass c{static_cast<std::uint8_t>(number.number)};
      ClassDraft draft{.number = number.number,
                       .queue = classes.queues.classes[c.value],
                       .pause = classes.pauses[c.value]};
      reader.read_into(draft);
      reader.write_to(parsed_.document, fmt::format("{}, class {}", owner, c.value));
      validator_.check(draft, seen.contains(c), reader);
      seen.insert(c);
      classes.queues.classes[c.value] = draft.queue;
      classes.pauses[c.value] = draft.pause;
      classes.lines[c.value] = reader.line();
      classes.set.insert(c);
    }
  }

  Parsed& parsed_;
  Validator validator_;
};

} // namespace

Parsed parse_text(std::string_view text, const std::string& file, const Machine& machine) {
  Parsed parsed;
  parsed.config.file = file;
  FileReader(parsed, machine).read(configuration::parse_toml(text, file));
  return parsed;
}

Impairment parse_impairment(std::string_view text, const std::string& file) {
  const toml::table table = configuration::parse_toml(text, file);
  Impairment impairment;
  Validator validator({});
  const SectionReader reader(table, switch_schema(), spec_of(Section::received_impairment),
                             validator.findings());
  reader.read_into(impairment);
  validator.check(impairment, reader);
  validator.findings().throw_if_any(file);
  return impairment;
}

} // namespace tributary::config
