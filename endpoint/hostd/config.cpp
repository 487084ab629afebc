#include "endpoint/hostd/config.hpp"

#include "lib/configuration/file.hpp"
#include "lib/configuration/read_file.hpp"
#include "lib/configuration/reference.hpp"
#include "lib/configuration/section_reader.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <fmt/format.h>

#include <charconv>

#include <grp.h>
#include <pwd.h>

namespace tributary::hostd {
namespace {

using configuration::Change;
using configuration::Integer;
using configuration::integer;
using configuration::Integers;
using configuration::Key;
using configuration::longest_path;
using configuration::Name;
using configuration::text;
using configuration::Text;
using configuration::texts;
using configuration::Texts;
using configuration::Value;

constexpr std::size_t longest_socket_path = 107;
constexpr std::size_t longest_interface = 15;
constexpr std::size_t longest_account = 63;
constexpr std::size_t most_accounts = 256;

const Key<Agent> agent_keys[] = {
    {{.name = "interface",
      .type = Text{longest_interface},
      .sample = "\"eth1\"",
      .required = true,
      .help = "Network interface that leads to the switch."},
     [](Agent& a, const Value& v) { a.interface = text(v); }},
    {{.name = "ethertype",
      .type = Integer{0x0600, 0xFFFF},
      .fallback = "34997",
      .help = "EtherType of the fabric's frames, as at the switch's port."},
     [](Agent& a, const Value& v) { a.ethertype = integer<std::uint16_t>(v); }},
    {{.name = "nid",
      .type = Integer{0, max_nid},
      .sample = "18",
      .help = "NID of this host; absent: the low 20 bits of the interface's address."},
     [](Agent& a, const Value& v) { a.nid = integer<std::uint32_t>(v); }},
    {{.name = "name",
      .type = Text{63},
      .sample = "\"node18\"",
      .help = "Name of this host in its hellos; absent: the machine's."},
     [](Agent& a, const Value& v) { a.name = text(v); }},
    {{.name = "socket",
      .type = Text{longest_socket_path},
      .fallback = "\"/run/tributary/host.sock\"",
      .help = "Unix socket that programs connect to; every user may."},
     [](Agent& a, const Value& v) { a.socket = text(v); }},
    {{.name = "record",
      .type = Text{longest_path},
      .fallback = "\"/run/tributary/host.json\"",
      .help = "File of the jobs and sockets that a restart takes over. It must not outlive the "
              "machine's kernel: below /run."},
     [](Agent& a, const Value& v) { a.record = text(v); }},
    {{.name = "administrators",
      .type = Text{longest_account},
      .sample = "\"tributary\"",
      .change = Change::live,
      .help = "Group whose members may declare and end jobs of any user, as root may; absent: root "
              "alone."},
     [](Agent& a, const Value& v) { a.administrators = text(v); }},
    {{.name = "mark_prefix",
      .type = Integer{1, 255},
      .fallback = "84",
      .help = "Upper eight bits of the marks of packet sockets. The rest of this machine must not "
              "use such marks."},
     [](Agent& a, const Value& v) { a.mark_prefix = integer<std::uint8_t>(v); }},
    {{.name = "nft",
      .type = Text{longest_path},
      .fallback = "\"nft\"",
      .help = "The program nft (package nftables): a path, or a name in PATH."},
     [](Agent& a, const Value& v) { a.nft = text(v); }},
    {configuration::log_level_spec, [](Agent& a, const Value& v) { a.log_level = text(v); }},
};

const Key<LimitKeys> limit_keys[] = {
    {{.name = "jobs",
      .type = Integer{1, 65'536},
      .fallback = "4096",
      .change = Change::live,
      .help = "Jobs on this node at a time that administrators have declared, and as many that "
              "users have declared themselves."},
     [](LimitKeys& l, const Value& v) { l.jobs = integer<std::uint32_t>(v); }},
    {{.name = "jobs_per_user",
      .type = Integer{1, 65'536},
      .fallback = "64",
      .change = Change::live,
      .help = "Jobs that one user has declared; and new ones within ten seconds."},
     [](LimitKeys& l, const Value& v) { l.jobs_per_user = integer<std::uint32_t>(v); }},
    {{.name = "sockets_per_user",
      .type = Integer{1, 65'536},
      .fallback = "1024",
      .change = Change::live,
      .help =
          "Packet sockets that one user holds. An MPI process has one, and one more for each set "
          "of nodes that it keeps a tree of."},
     [](LimitKeys& l, const Value& v) { l.sockets_per_user = integer<std::uint32_t>(v); }},
    {{.name = "receive_buffer_mib",
      .type = Integer{1, 1024},
      .fallback = "16",
      .change = Change::live,
      .help = "Largest buffer of one socket for received frames that wait, in MiB. It is memory of "
              "the kernel, and not charged to the job."},
     [](LimitKeys& l, const Value& v) { l.receive_buffer_mib = integer<std::uint32_t>(v); }},
};

const Key<ServiceKeys> service_keys[] = {
    {{.name = "name",
      .type = Name{},
      .sample = "\"all-users\"",
      .change = Change::live,
      .required = true,
      .help = "Name of the service, for messages."},
     [](ServiceKeys& s, const Value& v) { s.name = text(v); }},
    {{.name = "vnis",
      .type = Integers{2, 2, 1, 65'535},
      .sample = "[1024, 65535]",
      .change = Change::live,
      .required = true,
      .help = "First and last VNI of jobs that these users may declare themselves."},
     [](ServiceKeys& s, const Value& v) { s.vnis = std::get<std::vector<std::int64_t>>(v); }},
    {{.name = "users",
      .type = Texts{1, most_accounts, longest_account},
      .sample = "[\"alice\", \"1001\"]",
      .change = Change::live,
      .help = "Users, by name or number. Without users and groups the service is for every user."},
     [](ServiceKeys& s, const Value& v) { s.users = texts(v); }},
    {{.name = "groups",
      .type = Texts{1, most_accounts, longest_account},
      .sample = "[\"hpc\"]",
      .change = Change::live,
      .help = "Groups, by name or number."},
     [](ServiceKeys& s, const Value& v) { s.groups = texts(v); }},
};

enum Section : std::uint8_t { agent, limits, service };

std::optional<std::uint32_t> number_of(const std::string& name) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(number)
                                                                  : std::nullopt;
}

[[noreturn]] void unknown(const Config& config, const std::string& path, const char* what,
                          const std::string& name) {
  configuration::Findings findings;
  findings.add(0, path, "this machine has no {} \"{}\"; give one that `getent` lists, or a number",
               what, name);
  findings.throw_if_any(config.file);
  throw std::logic_error("a finding is an error");
}

std::uint32_t user_id(const Config& config, const std::string& path, const std::string& name) {
  if (const auto number = number_of(name)) {
    return *number;
  }
  const struct passwd* found = ::getpwnam(name.c_str()); // before any thread is begun
  if (found == nullptr) {
    unknown(config, path, "user", name);
  }
  return found->pw_uid;
}

std::uint32_t group_id(const Config& config, const std::string& path, const std::string& name) {
  if (const auto number = number_of(name)) {
    return *number;
  }
  const struct group* found = ::getgrnam(name.c_str());
  if (found == nullptr) {
    unknown(config, path, "group", name);
  }
  return found->gr_gid;
}

} // namespace

configuration::Schema host_schema() {
  using configuration::specs_of;
  static const auto of_agent = specs_of(agent_keys);
  static const auto of_limits = specs_of(limit_keys);
  static const auto of_service = specs_of(service_keys);
  static const configuration::SectionSpec sections[] = {
      {.path = "agent", .keys = of_agent},
      {.path = "limits", .keys = of_limits},
      {.path = "service", .repeated = true, .keys = of_service},
  };
  return sections;
}

// SectionReader finds it through the type of the target.
static void assign(std::size_t i, const Value& v, Agent& a) { agent_keys[i].set(a, v); }
static void assign(std::size_t i, const Value& v, LimitKeys& l) { limit_keys[i].set(l, v); }
static void assign(std::size_t i, const Value& v, ServiceKeys& s) { service_keys[i].set(s, v); }

Config parse_text(std::string_view content, const std::string& file) {
  Config result;
  result.file = file;
  configuration::Findings findings;
  const toml::table root = configuration::parse_toml(content, file);
  const configuration::Schema schema = host_schema();
  configuration::check_top_level(root, schema, findings);
  const auto read = [&](Section section, auto& target) {
    return configuration::read_section(root, schema, schema[section], target, result.document,
                                       findings);
  };
  const auto of_agent = read(agent, result.agent);
  if (result.agent.nid && !wire::is_valid_nid(Nid{*result.agent.nid})) {
    findings.add(of_agent.line("nid"), of_agent.path("nid"),
                 "{:#x} cannot stand in a frame: a NID has 20 bits and does not begin with nine 1 "
                 "bits",
                 *result.agent.nid);
  }
  read(limits, result.limits);
  const configuration::SectionSpec& spec = schema[service];
  for (const toml::table* table : configuration::tables_of(root, spec.path, spec, findings)) {
    const configuration::SectionReader reader(*table, schema, spec, findings);
    ServiceKeys keys;
    reader.read_into(keys);
    reader.write_to(result.document, fmt::format("service {}", keys.name));
    if (keys.vnis.size() == 2 && keys.vnis[0] > keys.vnis[1]) {
      findings.add(reader.line("vnis"), reader.path("vnis"),
                   "the last VNI is below the first; give a range");
    }
    result.services.push_back(std::move(keys));
  }
  findings.throw_if_any(file);
  return result;
}

Config parse_file(const std::string& path) {
  return parse_text(configuration::read_file(path), path);
}

std::vector<std::string> take_over(Config& running, const Config& wanted) {
  std::vector<std::string> left_alone =
      configuration::take_over_live(running.document, wanted.document);
  running.agent.log_level = wanted.agent.log_level;
  running.agent.administrators = wanted.agent.administrators;
  running.limits = wanted.limits;
  running.services = wanted.services;
  return left_alone;
}

std::string default_toml() {
  std::string out =
      "# The configuration of tributary-hostd. SIGHUP applies changes of keys that are "
      "live;\n# others need a restart.\n\n";
  const configuration::Schema schema = host_schema();
  out += configuration::section_text(schema[agent], {{"interface", "\"eth1\""}});
  out += configuration::section_text(schema[limits], {});
  out +=
      "# Without a service users have what tributary-run as root, the resource manager or an\n"
      "# administrator declares for them. With this one every user may declare jobs of his own.\n"
      "#\n"
      "# [[service]]\n"
      "# name = \"all-users\"\n"
      "# vnis = [1024, 65535]\n";
  return out;
}

std::string keys_markdown() { return configuration::keys_markdown(host_schema()); }

host_agent::Settings registry_settings(const Config& config) {
  host_agent::Settings settings;
  settings.mark_prefix = config.agent.mark_prefix;
  if (!config.agent.administrators.empty()) {
    settings.administrators = group_id(config, "agent.administrators", config.agent.administrators);
  }
  settings.limits.jobs = config.limits.jobs;
  settings.limits.jobs_per_user = config.limits.jobs_per_user;
  settings.limits.sockets_per_user = config.limits.sockets_per_user;
  for (const ServiceKeys& keys : config.services) {
    host_agent::Service service{.name = keys.name,
                                .first = Vni{static_cast<std::uint16_t>(keys.vnis.at(0))},
                                .last = Vni{static_cast<std::uint16_t>(keys.vnis.at(1))}};
    for (const std::string& name : keys.users) {
      service.users.push_back(user_id(config, "service.users", name));
    }
    for (const std::string& name : keys.groups) {
      service.groups.push_back(group_id(config, "service.groups", name));
    }
    settings.services.push_back(std::move(service));
  }
  return settings;
}

} // namespace tributary::hostd
