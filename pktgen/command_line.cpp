#include "pktgen/command_line.hpp"

#include "lib/configuration/file.hpp"
#include "lib/configuration/read_file.hpp"
#include "lib/configuration/suggest.hpp"
#include "lib/service/options.hpp"
#include "lib/service/version.hpp"
#include "lib/terminal/describe.hpp"
#include "lib/terminal/help.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <filesystem>

namespace tributary::pktgen {

using scenario::Section;
using scenario::section_spec;

namespace {

constexpr const char* examples = R"(
examples:
  tributary-pktgen reduce --leaves 10000 --in-process --duration 5s --json -
      a switch in this process, ten thousand virtual leaves: no privilege, no network
  tributary-pktgen reduce --leaves 64 --interface veth0,veth1 --switch-socket /run/tributary/switch.sock
      root on veth0, leaves on veth1; the switch is asked for its drops
  tributary-pktgen reduce --leaves 256 --rate 200k --skew exponential --skew-by 50us --in-process
      an open loop: latency from the scheduled start of each operation
  tributary-pktgen unicast --pattern hotspot --sizes 0 --bits-per-second 1G --interface eth1,eth2
      IMIX at one gigabit per second
  tributary-pktgen multicast --sizes 64 --in-process --ports 8 --search --loss 0.001
      the highest rate that loses at most one frame in a thousand
  tributary-pktgen rdma --parallel 16 --transfer-sizes 256k,1M --read-share 0.3 --interface eth1,eth2
      transfers between a host on eth1 and one on eth2, through the switch
  tributary-pktgen rdma --serve --seed 7 --first-nid 2 --interface eth0 --duration 1h
  tributary-pktgen rdma --to 2 --seed 7 --first-nid 1 --interface eth0
      the two ends of transfers on two machines
  tributary-pktgen run mixed.toml --repeats 5 --plot out.svg
      a scenario file; options override its keys
  tributary-pktgen reduce --leaves 64 --interface veth0,veth1 --print-switch-config --switch-interfaces s0,s1
      the configuration of a switch that suits this scenario
exit codes:
  0  success
  1  something failed, a result was wrong, nothing came back or was completed, or a measurement lost
     more than --max-loss
  2  usage or scenario error)";

/// One option, for one key.
struct KeyOption {
  Section section;
  const configuration::KeySpec* key;
  std::string text;
  CLI::Option* option = nullptr;
};

std::string dashed(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

std::string group_of(Section section) {
  constexpr std::array<std::string_view, 6> names = {
      "Run", "Generator", "Ports", "Switch in process", "Search", "Traffic"};
  return std::string(names[static_cast<std::size_t>(section)]);
}

/// The options of one subcommand and their values.
class Command {
public:
  Command(CLI::App& app, const std::string& name, const std::string& help,
          std::optional<std::size_t> kind)
      : app_(app.add_subcommand(name, help)), kind_(kind) {
    app_->footer(examples);
    if (!kind_) {
      app_->add_option("scenario", file_, "scenario file, TOML")->type_name("PATH")->required();
    }
    for (const Section section : {Section::traffic, Section::run, Section::generator,
                                  Section::in_process, Section::search}) {
      add_keys(section);
    }
    add_ports();
    add_output();
  }

  [[nodiscard]] bool parsed() const { return app_->parsed(); }
  /// With their dashes.
  [[nodiscard]] std::vector<std::string> option_names() const;
  [[nodiscard]] Invocation invocation() const;

private:
  void add_keys(Section section);
  void add_ports();
  void add_output();
  void overlay(toml::table& root, const std::string& file) const;
  void overlay_ports(toml::table& root) const;
  void overlay_queues(toml::table& root, const std::string& file) const;
  static toml::table* table_of(toml::table& root, Section section, const std::string& file);

  CLI::App* app_;
  std::optional<std::size_t> kind_; ///< nothing: the scenario file decides
  std::string file_;
  std::deque<KeyOption> keys_;
  std::vector<std::string> interfaces_;
  std::string transport_ = "raw";
  std::vector<std::string> ports_;
  std::vector<std::int64_t> queues_;
  bool in_process_ = false;
  bool print_scenario_ = false;
  bool print_switch_config_ = false;
  std::vector<std::string> switch_interfaces_;
  scenario::Output output_;
};

std::vector<std::string> Command::option_names() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

/// What --help calls a value of this type; of a choice, the words themselves.
std::string value_name(const configuration::Type& type) {
  using namespace configuration;
  struct Name {
    std::string operator()(const Flag&) const { return ""; }
    std::string operator()(const Integer&) const { return "INT"; }
    std::string operator()(const Number&) const { return "NUMBER"; }
    std::string operator()(const Duration&) const { return "DURATION"; }
    std::string operator()(const Text&) const { return "STRING"; }
    std::string operator()(const configuration::Name&) const { return "NAME"; }
    std::string operator()(const PciAddress&) const { return "PCI"; }
    std::string operator()(const Choice& choice) const {
      return fmt::format("{{{}}}", fmt::join(choice.values, ","));
    }
    std::string operator()(const Integers&) const { return "INTS"; }
    std::string operator()(const Names&) const { return "NAMES"; }
    std::string operator()(const Texts&) const { return "STRINGS"; }
  };
  return std::visit(Name(), type);
}

void Command::add_keys(Section section) {
  for (const configuration::KeySpec& key : section_spec(section).keys) {
    const bool of_this_kind = !kind_ || (key.kinds >> *kind_ & 1U) != 0;
    const bool says_kind =
        section == Section::traffic && (key.name == "kind" || key.name == "share");
    if (says_kind || (section == Section::traffic && !of_this_kind)) {
      continue;
    }
    KeyOption& entry = keys_.emplace_back(KeyOption{section, &key, {}});
    const std::string flag = "--" + dashed(key.name);
    // Const: CLI11 takes a string it could write to for the option's target.
    const std::string help = key.fallback.empty() ? std::string(key.help)
                                                  : fmt::format("{} [{}]", key.help, key.fallback);
    if (std::holds_alternative<configuration::Flag>(key.type)) {
      entry.option = app_->add_flag(fmt::format("{0},!--no-{1}", flag, dashed(key.name)), help)
                         ->group(group_of(section));
    } else {
      entry.option = app_->add_option(flag, entry.text, help)
                         ->type_name(value_name(key.type))
                         ->group(group_of(section));
    }
    entry.option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

void Command::add_ports() {
  app_->add_option("--interface", interfaces_,
                   "Kernel interfaces, comma-separated; the first is the root's.")
      ->type_name("NAMES")
      ->delimiter(',')
      ->group("Ports");
  app_->add_option("--transport", transport_,
                   "Transport of those interfaces: raw, af_packet (ring) or af_xdp. [raw]")
      ->type_name("KIND")
      ->check(CLI::IsMember({"raw", "af_packet", "af_xdp"}))
      ->group("Ports");
  app_->add_option(
          "--port", ports_,
          "A port as KIND:WHERE, may be repeated: raw:eth1, af_xdp:eth1, pci:0000:03:00.0, "
          "memif:/run/m.sock, null:.")
      ->type_name("KIND:WHERE")
      ->group("Ports");
  app_->add_option("--queues", queues_,
                   "Number of queues of the ports, each served by a worker (--cores): one number "
                   "for all, or one for each port, comma-separated. [1]")
      ->delimiter(',')
      ->group("Ports");
  app_->add_flag("--in-process", in_process_,
                 "Run a switch in this process and send to it through rings.")
      ->group("Switch in process");
}

void Command::add_output() {
  const auto file = [&](const char* name, std::optional<std::string>& to, const char* help) {
    return app_->add_option(name, to, help)->type_name("PATH")->group("Output");
  };
  file("--json", output_.json, "The result as JSON, to a file or - for standard output.")
      ->expected(0, 1)
      ->default_str("-");
  file("--csv", output_.csv, "One CSV line for each measurement, to a file or -.");
  file("--plot", output_.plot, "Rate and latency as SVG, drawn by gnuplot.");
  file("--pcap", output_.pcap,
       "All frames sent and received, with their ports and directions: a capture file, pcapng.");
  app_->add_flag("--watch", output_.watch, "A full screen of live figures.")->group("Output");
  app_->add_flag("--quiet", output_.quiet, "No progress output.")->group("Output");
  app_->add_flag("--print-scenario", print_scenario_,
                 "Print the scenario with all its settings as a file and exit.")
      ->group("Output");
  app_->add_flag("--print-switch-config", print_switch_config_,
                 "Print a switch configuration that suits the scenario and exit.")
      ->group("Output");
  app_->add_option("--switch-interfaces", switch_interfaces_,
                   "For --print-switch-config: the switch's interfaces, in the ports' order.")
      ->type_name("NAMES")
      ->delimiter(',')
      ->group("Output");
}

toml::table* Command::table_of(toml::table& root, Section section, const std::string& file) {
  const std::string_view path = section_spec(section).path;
  if (section != Section::traffic) {
    root.emplace<toml::table>(path);
    return root[path].as_table();
  }
  toml::array* array = root[path].as_array();
  if (array == nullptr || array->size() != 1) {
    throw configuration::ConfigError(
        file, {{0, "traffic",
                "options of a traffic need a file with exactly one; edit the file instead"}});
  }
  return array->front().as_table();
}

void Command::overlay(toml::table& root, const std::string& file) const {
  if (kind_) {
    const configuration::SectionSpec& spec = section_spec(Section::traffic);
    root.insert("traffic", toml::array{toml::table{{"kind", spec.kinds[*kind_]}}});
  }
  for (const KeyOption& entry : keys_) {
    if (entry.option->count() == 0) {
      continue;
    }
    // Null where the file has something else than a table; the reader says so.
    if (toml::table* table = table_of(root, entry.section, file)) {
      const bool is_flag = std::holds_alternative<configuration::Flag>(entry.key->type);
      const std::string text = is_flag ? (entry.option->as<bool>() ? "true" : "false") : entry.text;
      if (!scenario::put_option(*table, *entry.key, text)) {
        throw configuration::ConfigError(
            file, {{0, fmt::format("{}.{}", section_spec(entry.section).path, entry.key->name),
                    fmt::format("\"{}\" does not fit; give {}", text, describe(entry.key->type))}});
      }
    }
  }
  overlay_ports(root);
  overlay_queues(root, file);
}

void Command::overlay_ports(toml::table& root) const {
  toml::array ports;
  for (const std::string& interface : interfaces_) {
    ports.push_back(toml::table{{"kind", transport_}, {"interface", interface}});
  }
  for (const std::string& port : ports_) {
    const std::size_t colon = std::min(port.find(':'), port.size());
    const std::string kind = port.substr(0, colon);
    const std::string where = colon < port.size() ? port.substr(colon + 1) : "";
    toml::table table{{"kind", kind}};
    if (kind == "pci") {
      table.insert("pci_address", where);
    } else if (kind == "memif") {
      table.insert("socket", where);
    } else if (kind != "null") {
      table.insert("interface", where);
    }
    ports.push_back(std::move(table));
  }
  if (!ports.empty()) {
    root.insert_or_assign("port", std::move(ports));
  }
  if (in_process_) {
    root.emplace<toml::table>("in_process");
  }
}

void Command::overlay_queues(toml::table& root, const std::string& file) const {
  if (queues_.empty()) {
    return;
  }
  toml::array* const ports = root["port"].as_array();
  const std::size_t count = ports == nullptr ? 0 : ports->size();
  if (count == 0 || (queues_.size() != 1 && queues_.size() != count)) {
    throw configuration::ConfigError(
        file, {{0, "port.queues",
                fmt::format("{} queue counts are given for {} ports; give one for all ports, or "
                            "one for each (ports of a switch in process have one queue)",
                            queues_.size(), count)}});
  }
  for (std::size_t i = 0; i < count; ++i) {
    // The reader reports anything that is not a table.
    if (toml::table* const port = (*ports)[i].as_table()) {
      port->insert_or_assign("queues", queues_[queues_.size() == 1 ? 0 : i]);
    }
  }
}

/// Two outputs in the same file would be useless.
void check_outputs(const scenario::Output& output, const std::string& file) {
  std::vector<std::string> taken;
  for (const std::optional<std::string>* to :
       {&output.json, &output.csv, &output.plot, &output.pcap}) {
    if (*to && std::ranges::find(taken, **to) != taken.end()) {
      throw configuration::ConfigError(
          file, {{0, "output",
                  fmt::format("two outputs go to {}; give one of them another file",
                              **to == "-" ? "standard output" : **to)}});
    }
    if (*to) {
      taken.push_back(**to);
    }
  }
  if (output.pcap == "-") {
    throw configuration::ConfigError(
        file, {{0, "output", "a capture needs a file name, not standard output"}});
  }
}

Invocation Command::invocation() const {
  toml::table root;
  std::string name = kind_ ? std::string(section_spec(Section::traffic).kinds[*kind_]) : file_;
  const std::string file = kind_ ? "command line" : file_;
  if (!kind_) {
    root = configuration::parse_toml(configuration::read_file(file_), file_);
    name = std::filesystem::path(file_).stem();
  }
  check_outputs(output_, file);
  overlay(root, file);
  Invocation result;
  result.read = scenario::read_scenario(root, name, file);
  result.read.scenario.output = output_;
  result.switch_interfaces = switch_interfaces_;
  result.action = print_scenario_        ? Action::print_scenario
                  : print_switch_config_ ? Action::print_switch_config
                                         : Action::run;
  return result;
}

/// The first unknown argument, and a suggestion.
std::string explain_unknown(const CLI::App& app, const std::deque<Command>& commands) {
  const std::vector<std::string> unknown = app.remaining(true);
  const auto option = std::ranges::find_if(
      unknown, [](const std::string& argument) { return argument.starts_with("-"); });
  const std::string word = option != unknown.end() ? *option : unknown.front();
  const auto chosen = std::ranges::find_if(commands, &Command::parsed);
  std::vector<std::string> known;
  if (chosen != commands.end()) {
    known = chosen->option_names();
  } else {
    for (const CLI::App* command : app.get_subcommands({})) {
      known.push_back(command->get_name());
    }
  }
  const std::string near(configuration::nearest(word, known));
  return fmt::format("{} is unknown{}; see --help", word,
                     near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

} // namespace

std::optional<Invocation> read_command_line(int argc, char** argv, int& exit_code) {
  CLI::App app("Tributary's traffic generator: sends and measures reductions, multicast, unicast, "
               "RDMA transfers and captures.",
               "tributary-pktgen");
  terminal::add_describe(app);
  terminal::fit_help(app);
  app.set_version_flag("--version", fmt::format("tributary-pktgen {}", service::program_version));
  bool print_keys = false;
  app.add_flag("--print-keys", print_keys, "Print the tables of all keys as Markdown and exit.");
  app.footer(examples);
  app.require_subcommand(0, 1);
  const auto kinds = section_spec(Section::traffic).kinds;
  constexpr std::array<const char*, 5> helps = {
      "Reductions by virtual members: roots, leaves, all results checked.",
      "Multicast test frames down trees.", "Unicast test frames between virtual hosts.",
      "RDMA transfers: writes and reads, every byte checked.", "A capture file."};
  std::deque<Command> commands;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    commands.emplace_back(app, std::string(kinds[kind]), helps[kind], kind);
  }
  commands.emplace_back(app, "run", "A scenario file.", std::nullopt);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    fmt::print(stderr, "tributary-pktgen: {}\n", explain_unknown(app, commands));
    exit_code = service::exit_usage_or_config_error;
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    exit_code = code == 0 ? service::exit_success : service::exit_usage_or_config_error;
    return std::nullopt;
  }
  if (print_keys) {
    fmt::print("{}", scenario::scenario_keys_markdown());
    exit_code = service::exit_success;
    return std::nullopt;
  }
  const auto chosen = std::ranges::find_if(commands, &Command::parsed);
  if (chosen == commands.end()) {
    fmt::print(stderr, "no command is given; see `tributary-pktgen --help` for examples\n");
    exit_code = service::exit_usage_or_config_error;
    return std::nullopt;
  }
  try {
    return chosen->invocation();
  } catch (const configuration::ConfigError& e) {
    fmt::print(stderr, "{}\n", e.what());
    exit_code = service::exit_usage_or_config_error;
    return std::nullopt;
  }
}

} // namespace tributary::pktgen
