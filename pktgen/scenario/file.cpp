#include "pktgen/scenario/file.hpp"

#include "lib/configuration/file.hpp"
#include "lib/configuration/section_reader.hpp"
#include "pktgen/scenario/reduce_frames.hpp"
#include "tributary/wire/wide_reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

namespace tributary::pktgen::scenario {
namespace {

using configuration::SectionReader;

/// What an option may end in, as people write rates and counts.
double factor_of(std::string_view suffix) {
  return suffix.empty() ? 1 : suffix == "k" ? 1e3 : suffix == "M" ? 1e6 : suffix == "G" ? 1e9 : 0;
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const double factor = factor_of({end, static_cast<std::size_t>(text.data() + text.size() - end)});
  return error == std::errc{} && factor > 0 ? std::optional(value * factor) : std::nullopt;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x");
  const std::string_view digits = hexadecimal ? text.substr(2) : text;
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
  if (error == std::errc{} && end == digits.data() + digits.size()) {
    return value;
  }
  const std::optional<double> number = hexadecimal ? std::nullopt : number_of(text);
  return number && *number == std::floor(*number) && std::abs(*number) < 9e18
             ? std::optional(static_cast<std::int64_t>(*number))
             : std::nullopt;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

class Reader {
public:
  Reader(const toml::table& root, ReadScenario& result) : root_(root), result_(result) {}

  [[nodiscard]] configuration::Findings& findings() { return findings_; }

  /// The tables of a section; without any, an empty one if the section is not repeated.
  std::vector<const toml::table*> tables(Section section) {
    const configuration::SectionSpec& spec = section_spec(section);
    return configuration::tables_of(root_, spec.path, spec, findings_);
  }
  template <typename Target>
  SectionReader read(Section section, const toml::table& table, const std::string& owner,
                     Target& target) {
    SectionReader reader(table, scenario_schema(), section_spec(section), findings_);
    reader.read_into(target);
    configuration::Document document;
    reader.write_to(document, owner);
    for (const configuration::KeySpec& key : section_spec(section).keys) {
      const std::string name = fmt::format("{}: {}", owner, key.name);
      if (const auto found = document.find(name); found != document.end()) {
        result_.settings.emplace_back(name, found->second.value);
      }
    }
    return reader;
  }
  /// A section that occurs at most once.
  template <typename Target> void read_single(Section section, Target& target) {
    const auto found = tables(section);
    static const toml::table empty;
    read(section, found.empty() ? empty : *found.front(), std::string(section_spec(section).path),
         target);
  }

private:
  const toml::table& root_;
  ReadScenario& result_;
  configuration::Findings findings_;
};

void check_rdma(const Rdma& rdma, const SectionReader& at, configuration::Findings& findings) {
  if (!std::has_single_bit(rdma.window)) {
    findings.add(at.line("window"), at.path("window"),
                 "a window of {} frames is not supported: use 128, 256, 512 or 1024", rdma.window);
  }
  if (rdma.serve && rdma.to != 0) {
    findings.add(at.line("to"), at.path("to"),
                 "a host that serves begins no transfers; remove serve, or to");
  }
}

void check_payload(const Reduce& reduce, const SectionReader& at,
                   configuration::Findings& findings) {
  constexpr std::uint32_t step = wire::wide_payload_step;
  const std::uint32_t payload = reduce.payload;
  if (payload != 0 && payload != sizeof(wire::Payload) && (payload < step || payload % step != 0)) {
    findings.add(at.line("payload"), at.path("payload"),
                 "payload {} is not supported: use 32 or a multiple of {}, e.g. {}", payload, step,
                 std::max(payload / step, 1U) * step);
  }
}

void check_slots(const Reduce& reduce, const SectionReader& at, configuration::Findings& findings) {
  const Reduce resolved = scenario::resolved(reduce);
  if (resolved.slots < reductions_per_tree || !std::has_single_bit(resolved.slots)) {
    findings.add(at.line("slots"), at.path("slots"),
                 "{} reductions in flight are not supported: use 8, 16, 32, 64 or 128",
                 resolved.slots);
  } else if (resolved.slots > reductions_per_tree && !has_wide_frames(resolved)) {
    findings.add(at.line("slots"), at.path("slots"),
                 "{} reductions in flight need wide frames; give a type or a payload above 32, or "
                 "8 slots",
                 resolved.slots);
  } else if (resolved.in_flight > resolved.slots) {
    findings.add(at.line("in_flight"), at.path("in_flight"),
                 "{} operations are in flight, and the trees have {} slots; give fewer, or more "
                 "slots",
                 resolved.in_flight, resolved.slots);
  }
}

void check_reduce(const Reduce& reduce, const SectionReader& at,
                  configuration::Findings& findings) {
  // A printed scenario has all keys, so default values are not a contradiction.
  const Reduce usual;
  if (!reduce.type.empty() && reduce.operators != usual.operators) {
    findings.add(at.line("type"), at.path("type"),
                 "operators are given, too, and have types of their own; remove one of the two");
  } else if (reduce.type.empty() && reduce.operation != usual.operation) {
    findings.add(at.line("operator"), at.path("operator"),
                 "an operator needs the type of its elements; give type, too, or operators alone");
  }
  check_payload(reduce, at, findings);
  check_slots(reduce, at, findings);
}

void check_traffic(const Part& part, const SectionReader& at, configuration::Findings& findings) {
  const Stream& stream = part.stream;
  if (part.kind == Kind::reduce) {
    check_reduce(part.reduce, at, findings);
  }
  if (part.kind == Kind::rdma) {
    check_rdma(part.rdma, at, findings);
  }
  if (part.kind != Kind::unicast && part.kind != Kind::multicast) {
    return;
  }
  if (stream.packets_per_second > 0 && stream.bits_per_second > 0) {
    findings.add(at.line("bits_per_second"), at.path("bits_per_second"),
                 "a rate in packets is given, too; keep one of the two");
  }
  for (const std::uint32_t size : stream.sizes) {
    if (size != 0 && size < 64) {
      findings.add(at.line("sizes"), at.path("sizes"),
                   "{} bytes is not the size of an Ethernet frame: use 64 to 9000, or 0 for IMIX",
                   size);
    }
  }
}

void read_traffic(Reader& reader, Scenario& scenario) {
  const auto tables = reader.tables(Section::traffic);
  std::vector<Part> parts;
  for (const toml::table* table : tables) {
    Part part;
    const std::string owner =
        tables.size() == 1 ? "traffic" : fmt::format("traffic {}", parts.size() + 1);
    const SectionReader at = reader.read(Section::traffic, *table, owner, part);
    check_traffic(part, at, reader.findings());
    parts.push_back(std::move(part));
  }
  if (parts.empty()) {
    if (reader.findings().empty()) {
      reader.findings().add(0, "traffic",
                            "nothing is to be sent; add a section [[traffic]] with its kind");
    }
  } else if (parts.size() == 1) {
    scenario.traffic = std::move(parts.front());
  } else {
    scenario.traffic.kind = Kind::mixed;
    scenario.parts = std::move(parts);
  }
}

/// Two generators that share a traffic need the same seed.
void check_seed(const Scenario& scenario, configuration::Findings& findings) {
  if (is_shared(scenario) && scenario.seed == 0) {
    findings.add(0, "run.seed",
                 "the generator that has the other role must draw the same values; give both the "
                 "same seed");
  }
}

/// A description of what only one port can drive; empty without any.
std::string driven_by(const PortSpec& port) {
  const config::Port& device = port.device;
  if (!device.interface.empty()) {
    return fmt::format("the interface {}", device.interface);
  }
  if (!device.pci_address.empty()) {
    return fmt::format("the NIC {}", device.pci_address);
  }
  return device.socket.empty()
             ? ""
             : fmt::format("the memif {} {} as {}", device.socket, device.memif_id, device.role);
}

void check_alone(const PortSpec& port, const std::vector<PortSpec>& before, const SectionReader& at,
                 configuration::Findings& findings) {
  const std::string driven = driven_by(port);
  const auto other = std::ranges::find(before, driven, driven_by);
  if (!driven.empty() && other != before.end()) {
    findings.add(at.line(), "port",
                 "{} is that of port {} already; every port needs one of its own, or it would hear "
                 "the other's frames",
                 driven, 1 + (other - before.begin()));
  }
}

void read_ports(Reader& reader, Scenario& scenario) {
  for (const toml::table* table : reader.tables(Section::port)) {
    PortSpec port;
    port.device.role = "client";
    port.device.name = fmt::format("p{}", scenario.ports.size());
    const SectionReader at =
        reader.read(Section::port, *table, fmt::format("port {}", scenario.ports.size() + 1), port);
    check_alone(port, scenario.ports, at, reader.findings());
    port.device.policy.ethertype = scenario.ethertype;
    scenario.ports.push_back(std::move(port));
  }
  if (!reader.tables(Section::in_process).empty()) {
    scenario.hosted.emplace();
    reader.read_single(Section::in_process, *scenario.hosted);
    if (!scenario.ports.empty()) {
      reader.findings().add(0, "in_process",
                            "the switch in this process has its ports from rings; remove [[port]], "
                            "or [in_process]");
    }
  } else if (scenario.ports.empty() && reader.findings().empty()) {
    reader.findings().add(0, "port",
                          "no port is given; add [[port]] sections (--interface, --port), or "
                          "[in_process] (--in-process) for a switch in this process");
  }
  if (scenario.hosted && !scenario.switch_socket.empty()) {
    reader.findings().add(0, "generator.switch_socket",
                          "the switch is in this process and needs no socket; remove the key");
  }
}

} // namespace

ReadScenario read_scenario(const toml::table& root, const std::string& name,
                           const std::string& file) {
  ReadScenario result;
  Scenario& scenario = result.scenario;
  scenario.name = name;
  Reader reader(root, result);
  configuration::check_top_level(root, scenario_schema(), reader.findings());
  RunKeys run;
  reader.read_single(Section::run, run);
  scenario.phases = run.phases;
  scenario.seed = run.seed;
  GeneratorKeys generator;
  reader.read_single(Section::generator, generator);
  scenario.cores = generator.cores;
  scenario.busy = generator.busy;
  scenario.first_nid = generator.first_nid;
  scenario.ethertype = generator.ethertype;
  scenario.switch_socket = generator.switch_socket;
  read_ports(reader, scenario);
  reader.read_single(Section::search, scenario.search);
  read_traffic(reader, scenario);
  check_seed(scenario, reader.findings());
  reader.findings().throw_if_any(file);
  return result;
}

std::string scenario_text(const std::vector<std::pair<std::string, std::string>>& settings) {
  std::string text;
  std::string current;
  for (const auto& [name, value] : settings) {
    const std::string owner = name.substr(0, name.find(':'));
    if (owner != current) {
      const std::string path = owner.substr(0, owner.find(' '));
      const bool repeated =
          path == section_spec(Section::port).path || path == section_spec(Section::traffic).path;
      text += fmt::format("{}{}{}{}\n", text.empty() ? "" : "\n", repeated ? "[[" : "[", path,
                          repeated ? "]]" : "]");
      current = owner;
    }
    text += fmt::format("{} = {}\n", name.substr(name.find(':') + 2), value);
  }
  return text;
}

bool put_option(toml::table& section, const configuration::KeySpec& key, const std::string& text) {
  const auto put = [&](auto value) {
    section.insert_or_assign(key.name, std::move(value));
    return true;
  };
  if (std::holds_alternative<configuration::Flag>(key.type)) {
    return put(text == "true");
  }
  if (std::holds_alternative<configuration::Integer>(key.type)) {
    const auto value = integer_of(text);
    return value && put(*value);
  }
  if (std::holds_alternative<configuration::Number>(key.type)) {
    const auto value = number_of(text);
    return value && put(*value);
  }
  if (std::holds_alternative<configuration::Share>(key.type)) {
    const auto value = configuration::share_of(text);
    return value && put(*value);
  }
  if (std::holds_alternative<configuration::Integers>(key.type)) {
    toml::array array;
    for (const std::string& part : text.empty() ? std::vector<std::string>{} : split(text)) {
      const auto value = integer_of(part);
      if (!value) {
        return false;
      }
      array.push_back(*value);
    }
    return put(std::move(array));
  }
  if (std::holds_alternative<configuration::Names>(key.type) ||
      std::holds_alternative<configuration::Texts>(key.type)) {
    toml::array array;
    for (const std::string& part : split(text)) {
      array.push_back(part);
    }
    return put(std::move(array));
  }
  return put(text);
}

} // namespace tributary::pktgen::scenario
