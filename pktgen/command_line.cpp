#include "pktgen/command_line.hpp"

#include "lib/configuration/file.hpp"
#include "lib/configuration/read_file.hpp"
#include "lib/service/options.hpp"
#include "lib/terminal/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <iterator>

namespace tributary::pktgen {

using scenario::Section;
using scenario::section_spec;

namespace {

constexpr const char* examples = R"(Examples:
  tributary-pktgen reduce --leaves 10000 --in-process --duration 5s --json
      a switch in this process, ten thousand virtual leaves: no privilege, no network
  tributary-pktgen reduce --leaves 64 --interface veth0,veth1 --switch-socket /run/tributary/switch.sock
      root on veth0, leaves on veth1; the switch is asked for its drops
  tributary-pktgen reduce --leaves 256 --operations-per-second 200k --skew exponential --skew-by 50us --in-process
      an open loop: latency from the scheduled start of each operation
  tributary-pktgen unicast --pattern hotspot --sizes 0 --bits-per-second 1G --interface eth1,eth2
      IMIX at one gigabit per second
  tributary-pktgen multicast --sizes 64 --in-process --ports 8 --search --search-loss 0.1%
      the highest rate that loses at most one frame in a thousand
  tributary-pktgen rdma --in-flight 16 --transfer-sizes 256k,1M --read-share 30% --interface eth1,eth2
      transfers between a host on eth1 and one on eth2, through the switch
  tributary-pktgen rdma --serve --seed 7 --first-nid 2 --interface eth0 --duration 1h
  tributary-pktgen rdma --to 2 --seed 7 --first-nid 1 --interface eth0
      the two ends of transfers on two machines
  tributary-pktgen replay --file frames.pcapng --interface eth1,eth2
      the frames of a capture, at its own speed
  tributary-pktgen run mixed.toml --repeats 5 --plot out.svg
      a scenario file; options override its keys
  tributary-pktgen reduce --leaves 64 --interface veth0,veth1 --print-switch-config --switch-interfaces s0,s1
      the configuration of a switch that suits this scenario)";

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
      app_->add_option("scenario", file_, "Scenario file, TOML")->type_name("FILE")->required();
    }
    for (const Section section : {Section::traffic, Section::run, Section::generator,
                                  Section::in_process, Section::search}) {
      add_keys(section);
    }
    add_ports();
    add_output();
  }

  [[nodiscard]] bool parsed() const { return app_->parsed(); }
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

std::string limits_of(const configuration::Integer& integer) {
  return integer.max == INT64_MAX ? fmt::format("{} or more", integer.min)
                                  : fmt::format("{} to {}", integer.min, integer.max);
}

/// What a value of this key is called, and what it may be.
struct Typed {
  CLI::Option* option;
  const configuration::KeySpec& key;

  CLI::Option* operator()(const configuration::Flag&) const { return option; }
  CLI::Option* operator()(const configuration::Integer& integer) const {
    return convertible(key.name == "ethertype" ? "ETHERTYPE" : "N", limits_of(integer));
  }
  CLI::Option* operator()(const configuration::Number& number) const {
    return convertible("NUMBER", fmt::format("{} to {}", number.min, number.max));
  }
  CLI::Option* operator()(const configuration::Duration& duration) const {
    return terminal::as_duration(option->type_name("DURATION"),
                                 {.least = std::chrono::nanoseconds(duration.min_ns),
                                  .most = std::chrono::nanoseconds(duration.max_ns),
                                  .step = std::chrono::nanoseconds(1)});
  }
  CLI::Option* operator()(const configuration::Share& share) const {
    return terminal::as_share(option, share.min, share.max);
  }
  CLI::Option* operator()(const configuration::Choice& choice) const {
    return terminal::one_of(option->type_name("NAME"),
                            {choice.values.begin(), choice.values.end()});
  }
  CLI::Option* operator()(const configuration::Text&) const { return convertible("PATH"); }
  CLI::Option* operator()(const configuration::Name&) const { return convertible("NAME"); }
  CLI::Option* operator()(const configuration::PciAddress&) const { return convertible("PCI"); }
  CLI::Option* operator()(const configuration::Integers&) const { return convertible("N,..."); }
  CLI::Option* operator()(const configuration::Names&) const { return convertible("NAME,..."); }
  CLI::Option* operator()(const configuration::Texts&) const {
    return convertible(key.name == "operators" ? "OPERATOR,..." : "NAME,...");
  }

  /// Its value is what put_option() takes; the reader checks the limits.
  CLI::Option* convertible(const char* name, const std::string& limits = {}) const {
    return terminal::checked(
        option->type_name(name), limits, [this_key = &key](const std::string& text) -> std::string {
          toml::table section;
          return scenario::put_option(section, *this_key, text)
                     ? ""
                     : fmt::format("does not take \"{}\"; give {}", text, describe(this_key->type));
        });
  }
};

/// A key's default, from TOML to what the option takes.
std::string option_value(const configuration::KeySpec& key) {
  if (std::holds_alternative<configuration::Flag>(key.type)) {
    return fmt::format("--{}{}", key.fallback == "true" ? "" : "no-", dashed(key.name));
  }
  std::string text;
  std::ranges::copy_if(key.fallback, std::back_inserter(text), [](char c) {
    return std::string_view("[]\" ").find(c) == std::string_view::npos;
  });
  return text;
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
    const std::string help(key.help); // Const: CLI11 would take it for the option's target.
    entry.option = std::holds_alternative<configuration::Flag>(key.type)
                       ? app_->add_flag(fmt::format("{0},!--no-{1}", flag, dashed(key.name)), help)
                       : app_->add_option(flag, entry.text, help);
    std::visit(Typed{entry.option, key}, key.type)
        ->default_str(option_value(key))
        ->group(group_of(section));
    entry.option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

void Command::add_ports() {
  app_->add_option("--interface", interfaces_,
                   "Kernel interfaces, comma-separated; the first is the root's.")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->group("Ports");
  terminal::one_of(app_->add_option("--transport", transport_, "Transport of those interfaces")
                       ->type_name("TRANSPORT")
                       ->capture_default_str()
                       ->group("Ports"),
                   {"raw", "af_packet", "af_xdp"});
  app_->add_option(
          "--device", ports_,
          "A port as KIND:WHERE, may be repeated: raw:eth1, af_xdp:eth1, pci:0000:03:00.0, "
          "memif:/run/m.sock, null:.")
      ->type_name("DEVICE")
      ->group("Ports");
  app_->add_option("--queues", queues_,
                   "Number of queues of the ports, each served by a worker (--cores): one number "
                   "for all, or one for each port, comma-separated.")
      ->type_name("N,...")
      ->default_str("1")
      ->delimiter(',')
      ->group("Ports");
  app_->add_flag("--in-process", in_process_,
                 "Run a switch in this process and send to it through rings.")
      ->group("Switch in process");
}

void Command::add_output() {
  const auto file = [&](const char* name, std::optional<std::string>& to, const char* help) {
    return app_->add_option(name, to, help)->type_name("FILE")->group("Output");
  };
  app_->add_flag("--json", output_.json, "The report as JSON instead of a table.")->group("Output");
  app_->add_option("-o,--output", output_.report, "File for the report; - is standard output.")
      ->type_name("FILE")
      ->capture_default_str()
      ->group("Output");
  file("--csv", output_.csv,
       "Also write a CSV line for each measurement to this file; - is standard output.");
  file("--plot", output_.plot,
       "Also write rate and latency as SVG, drawn by gnuplot, to this file.");
  file("--pcap", output_.pcap,
       "Also write all frames sent and received, with their ports and directions, to this file, "
       "pcapng.");
  app_->add_flag("--live", output_.watch, "A full screen of live figures.")->group("Output");
  app_->add_flag("--quiet", output_.quiet, "No progress output.")->group("Output");
  app_->add_flag("--print-scenario", print_scenario_,
                 "Print the scenario with all its settings as a file and exit.")
      ->group("Output");
  app_->add_flag("--print-switch-config", print_switch_config_,
                 "Print a switch configuration that suits the scenario and exit.")
      ->group("Output");
  app_->add_option("--switch-interfaces", switch_interfaces_,
                   "For --print-switch-config: the switch's interfaces, in the ports' order.")
      ->type_name("NAME,...")
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
      static_cast<void>(scenario::put_option(*table, *entry.key, text)); // checked by its option
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
  const std::optional<std::string> report =
      output.json || output.report != "-" ? std::optional(output.report) : std::nullopt;
  for (const std::optional<std::string>* to : {&report, &output.csv, &output.plot, &output.pcap}) {
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

} // namespace

std::optional<Invocation> read_command_line(int argc, char** argv, int& exit_code) {
  CLI::App app("Tributary's traffic generator: sends and measures reductions, multicast, unicast, "
               "RDMA transfers and captures.",
               "tributary-pktgen");
  terminal::set_up(app);
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
  terminal::add_exit_codes(
      app, {"0  success",
            "1  something failed, a result was wrong, nothing came back or was completed, or a "
            "measurement lost more than --max-loss",
            "2  wrong command line or scenario"});
  std::optional<Invocation> invocation;
  const auto done = terminal::parse(app, argc, argv, [&] {
    if (print_keys) {
      fmt::print("{}", scenario::scenario_keys_markdown());
      throw CLI::Success();
    }
    const auto chosen = std::ranges::find_if(commands, &Command::parsed);
    if (chosen == commands.end()) {
      throw terminal::UsageError(
          fmt::format("a command is missing: {} or run", fmt::join(kinds, ", ")));
    }
    invocation = chosen->invocation();
  });
  exit_code = done.value_or(service::exit_success);
  return invocation;
}

} // namespace tributary::pktgen
