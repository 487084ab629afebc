// Read in two passes: lines to records, each checked separately; then records to a graph, checked
// against each other.
#include "controlplane/topology/netlist_file.hpp"

#include "lib/configuration/file.hpp"
#include "tributary/wire/fabric_address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tributary::topology {
namespace {

using configuration::Findings;

/// The upper 44 bits of a host's guid: the EUI-64 of 02:00:00:0N:NN:NN, whose rest is the NID.
constexpr std::uint64_t host_guid_prefix = 0x020000FFFE000000;

constexpr std::size_t longest_name = 255; // is_name_for_files

/// The name followed by the suffix, and shortened where both would be too long.
std::string with_suffix(std::string_view name, std::string_view suffix) {
  return fmt::format("{}{}", name.substr(0, longest_name - suffix.size()), suffix);
}

/// The first unused name among NAME, NAME', NAME'2, NAME'3 and so on.
template <typename Taken> std::string free_name(std::string name, Taken&& taken) {
  std::string free = name;
  for (std::size_t i = 1; taken(free); ++i) {
    free = with_suffix(name, i == 1 ? "'" : fmt::format("'{}", i));
  }
  return free;
}

struct PortLine {
  int line = 0;
  Port port = 0; ///< from 1 on
  std::string other;
  Port other_port = 0;
  std::optional<std::uint64_t> guid; ///< of this port of a host
};
struct Record {
  int line = 0;
  bool host = false;
  Port ports = 0;
  std::string name;
  std::uint64_t guid = 0;
  std::vector<PortLine> lines;
};

/// One line, parsed from left to right. Columns count from 1.
class Line {
public:
  explicit Line(std::string_view text) : text_(text) { skip_blanks(); }

  [[nodiscard]] bool at_end() const { return at_ == text_.size() || text_[at_] == '#'; }
  [[nodiscard]] std::size_t column() const { return at_ + 1; }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) {
      return false;
    }
    ++at_;
    skip_blanks();
    return true;
  }
  /// Up to the next blank or `#`.
  std::string_view word() {
    const std::size_t end = text_.find_first_of(" \t\r#", at_);
    return upto(end);
  }
  template <typename T> std::optional<T> number(int base = 10) {
    T value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value, base);
    if (error != std::errc()) {
      return std::nullopt;
    }
    at_ = static_cast<std::size_t>(end - text_.data());
    skip_blanks();
    return value;
  }
  std::optional<std::string> quoted() {
    if (at_ == text_.size() || text_[at_] != '"') {
      return std::nullopt;
    }
    const std::size_t end = text_.find('"', at_ + 1);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    std::string inside(text_.substr(at_ + 1, end - at_ - 1));
    if (!is_name_for_files(inside)) {
      return std::nullopt;
    }
    at_ = end + 1;
    skip_blanks();
    return inside;
  }

private:
  std::string_view upto(std::size_t end) {
    const std::string_view taken =
        text_.substr(at_, end == std::string_view::npos ? end : end - at_);
    at_ += taken.size();
    skip_blanks();
    return taken;
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// First pass.
class Records {
public:
  explicit Records(Findings& findings) : findings_(findings) {}

  std::vector<Record> read(std::string_view text) {
    for (int number = 1; !text.empty(); ++number) {
      const std::size_t end = text.find('\n');
      read_line(number, text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return std::move(records_);
  }

private:
  void read_line(int number, std::string_view text) {
    Line line(text);
    if (line.at_end()) {
      return;
    }
    number_ = number;
    if (line.take('[')) {
      return read_port(line);
    }
    const std::size_t column = line.column();
    const std::string_view word = line.word();
    if (word == "Switch" || word == "Hca" || word == "Ca" || word == "Rt") {
      return read_header(line, word != "Switch");
    }
    if (word == "Chassis" || word == "Non-Chassis") {
      return;
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      in_record_ = false;
      return complain(column,
                      "\"{}\" does not begin a line of a netlist; a record begins with Switch or "
                      "Hca, a port with [",
                      word);
    }
    const std::string_view key = word.substr(0, equals);
    if (key == "switchguid" || key == "caguid") {
      Line value(word.substr(equals + 1));
      const bool hexadecimal = value.take('0') && value.take('x');
      const auto guid = hexadecimal ? value.number<std::uint64_t>(16) : std::nullopt;
      if (!guid) {
        return complain(column + equals + 1,
                        "this is not a guid; write 0x and up to 16 hexadecimal "
                        "digits");
      }
      guid_ = *guid;
    }
  }

  void read_header(Line& line, bool host) {
    in_record_ = false;
    const std::size_t ports_column = line.column();
    const auto ports = line.number<Port>();
    if (!ports) {
      return complain(ports_column, "a number of ports, 0 to 65535, is missing here");
    }
    const std::size_t name_column = line.column();
    auto name = line.quoted();
    if (!name) {
      return complain(name_column,
                      "a name in quotes, 1 to {} printable characters, is missing here",
                      longest_name);
    }
    if (!line.at_end()) {
      return complain(line.column(), "nothing but a comment may follow; put # in front of it");
    }
    records_.push_back({number_, host, *ports, std::move(*name), std::exchange(guid_, 0), {}});
    in_record_ = true;
  }

  void read_port(Line& line) {
    PortLine port;
    port.line = number_;
    const auto own = line.number<Port>();
    if (!own || !line.take(']')) {
      return complain(line.column(), "this is not a port; write it as in [3]");
    }
    port.port = *own;
    if (line.take('(')) {
      port.guid = line.number<std::uint64_t>(16);
      if (!port.guid || !line.take(')')) {
        return complain(line.column(),
                        "this is not a guid; write up to 16 hexadecimal digits and )");
      }
    }
    auto other = line.quoted();
    if (!other) {
      return complain(line.column(), "the name of the other end, in quotes, is missing here");
    }
    port.other = std::move(*other);
    const bool bracket = line.take('[');
    const auto other_port = bracket ? line.number<Port>() : std::nullopt;
    if (!other_port || !line.take(']')) {
      return complain(line.column(), "the port of the other end is missing; write it as in [3]");
    }
    port.other_port = *other_port;
    if (line.take('(')) { // the guid of the other end, which reports it itself
      if (!line.number<std::uint64_t>(16) || !line.take(')')) {
        return complain(line.column(),
                        "this is not a guid; write up to 16 hexadecimal digits and )");
      }
    }
    while (!line.at_end()) { // w=4, s=2
      const std::size_t column = line.column();
      if (line.word().find('=') == std::string_view::npos) {
        return complain(column,
                        "nothing but name=value and a comment may follow; put # in front of "
                        "it");
      }
    }
    if (!in_record_) {
      return complain(1, "this port is not part of a Switch or Hca; put it after one");
    }
    records_.back().lines.push_back(std::move(port));
  }

  template <typename... Args>
  void complain(std::size_t column, fmt::format_string<Args...> text, Args&&... args) {
    findings_.add(number_, "", "column {}: {}", column,
                  fmt::format(text, std::forward<Args>(args)...));
  }

  Findings& findings_;
  std::vector<Record> records_;
  int number_ = 0;
  std::uint64_t guid_ = 0; ///< for the next record
  bool in_record_ = false;
};

/// Second pass.
class Builder {
public:
  Builder(const std::vector<Record>& records, Findings& findings)
      : records_(records), findings_(findings) {}

  Graph build() {
    for (const Record& record : records_) {
      if (const auto [first, added] = by_name_.emplace(record.name, &record); !added) {
        complain(record.line, "there is a \"{}\" already, in line {}; names must differ",
                 record.name, first->second->line);
      } else if (!record.host) {
        add_switch(record);
      }
    }
    for (const Record& record : records_) {
      for (const PortLine& line : record.lines) {
        check(record, line);
      }
    }
    if (findings_.empty()) {
      connect();
    }
    return std::move(graph_);
  }

private:
  using End = std::pair<std::string_view, Port>;

  void add_switch(const Record& record) {
    try {
      graph_.add_switch({.name = record.name, .guid = record.guid, .ports = record.ports});
    } catch (const GraphError& error) {
      complain(record.line, "{}; correct one of them", error.what());
    }
  }

  void check(const Record& record, const PortLine& line) {
    const auto other = by_name_.find(line.other);
    if (other == by_name_.end()) {
      return complain(line.line, "no \"{}\"; add a record of this name, or correct it", line.other);
    }
    if (!has_port(record, line.port, line.line) ||
        !has_port(*other->second, line.other_port, line.line)) {
      return;
    }
    if (record.host && other->second->host) {
      return complain(line.line,
                      "\"{}\" and \"{}\" are both hosts; a link needs a switch at one end",
                      record.name, line.other);
    }
    if (record.name == line.other) {
      return complain(line.line, "a link has both ends in \"{}\"", record.name);
    }
    claim({record.name, line.port}, {line.other, line.other_port}, line.line);
    claim({line.other, line.other_port}, {record.name, line.port}, line.line);
  }

  bool has_port(const Record& record, Port port, int line) {
    if (port >= 1 && port <= record.ports) {
      return true;
    }
    complain(line, "\"{}\" has no port {}; it has 1 to {}", record.name, port, record.ports);
    return false;
  }

  void claim(End at, End to, int line) {
    const auto [first, added] = ends_.emplace(at, std::pair(to, line));
    if (!added && first->second.first != to) {
      complain(line,
               "\"{}\"[{}] goes to \"{}\"[{}], but to \"{}\"[{}] in line {}; correct one of "
               "them",
               at.first, at.second, to.first, to.second, first->second.first.first,
               first->second.first.second, first->second.second);
    }
  }

  Attachment attachment(End end) const {
    return {*graph_.find_switch(end.first), static_cast<Port>(end.second - 1)};
  }

  void connect() {
    std::set<End> connected;
    for (const Record& record : records_) {
      for (const PortLine& line : record.lines) {
        const End here{record.name, line.port};
        const End there{line.other, line.other_port};
        if (!record.host && !by_name_.at(line.other)->host && connected.insert(here).second &&
            connected.insert(there).second) {
          graph_.connect(attachment(here), attachment(there));
        }
      }
    }
    add_hosts();
  }

  void add_hosts() {
    struct Found {
      std::string name;
      std::uint64_t guid;
      Attachment at;
    };
    std::vector<Found> found;
    for (const Record& record : records_) {
      if (!record.host) {
        continue;
      }
      const auto first = ends_.lower_bound({record.name, Port{0}});
      for (auto end = first; end != ends_.end() && end->first.first == record.name; ++end) {
        const Port port = end->first.second;
        std::uint64_t guid = record.guid;
        for (const PortLine& line : record.lines) {
          guid = line.port == port && line.guid ? *line.guid : guid;
        }
        found.push_back(
            {end == first ? record.name : with_suffix(record.name, fmt::format("-{}", port)), guid,
             attachment(end->second.first)});
      }
    }
    std::set<std::uint64_t> guids;
    for (const Found& host : found) {
      const bool ours = host.guid >> 20 == host_guid_prefix >> 20 &&
                        wire::is_valid_nid(Nid{static_cast<std::uint32_t>(host.guid & max_nid)});
      if (ours) {
        guids.insert(host.guid);
      }
    }
    const bool nids_given = guids.size() == found.size();
    std::uint32_t next = 1;
    for (Found& host : found) {
      const std::uint32_t nid =
          nids_given ? static_cast<std::uint32_t>(host.guid & max_nid) : next++;
      // An adapter may have the name of another one's second port.
      const std::string name = free_name(
          host.name, [&](const std::string& n) { return graph_.find_host(n).has_value(); });
      graph_.add_host({.name = name, .nid = Nid{nid}, .at = host.at});
    }
  }

  template <typename... Args>
  void complain(int line, fmt::format_string<Args...> text, Args&&... args) {
    findings_.add(line, "", text, std::forward<Args>(args)...);
  }

  const std::vector<Record>& records_;
  Findings& findings_;
  Graph graph_;
  std::map<std::string_view, const Record*> by_name_;
  std::map<End, std::pair<End, int>> ends_; ///< both directions; with the first line that has it
};

} // namespace

Graph read_netlist(std::string_view text, const std::string& file) {
  Findings findings;
  const std::vector<Record> records = Records(findings).read(text);
  Graph graph = Builder(records, findings).build();
  findings.throw_if_any(file);
  return graph;
}

namespace {

bool is_written(const Graph& graph, const Host& host) { return host.up && graph[host.at.at].up; }

/// The name of each host in the file, "" for one that is not written. In a netlist a host cannot
/// have the name of a switch.
std::vector<std::string> host_names(const Graph& graph) {
  std::set<std::string, std::less<>> taken;
  for (const Switch& s : graph.switches()) {
    if (s.up) {
      taken.insert(s.name);
    }
  }
  const auto is_free = [&](const Host& host) { return !taken.contains(host.name); };
  std::vector<bool> keeps_its_name;
  std::ranges::transform(graph.hosts(), std::back_inserter(keeps_its_name), is_free);
  for (const Host& host : graph.hosts()) {
    if (is_written(graph, host)) {
      taken.insert(host.name);
    }
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < graph.hosts().size(); ++i) {
    const Host& host = graph.hosts()[i];
    if (!is_written(graph, host)) {
      names.emplace_back();
    } else if (keeps_its_name[i]) {
      names.push_back(host.name);
    } else {
      names.push_back(
          free_name(host.name, [&](const std::string& name) { return taken.contains(name); }));
      taken.insert(names.back());
    }
  }
  return names;
}

} // namespace

std::string write_netlist(const Graph& graph) {
  const std::vector<std::string> names = host_names(graph);
  std::string text;
  const auto write = [out = std::back_inserter(text)]<typename... Args>(
                         fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(out, format, std::forward<Args>(args)...);
  };
  for (std::uint32_t i = 0; i < graph.switches().size(); ++i) {
    const SwitchId s{i};
    const Switch& record = graph[s];
    if (!record.up) {
      continue;
    }
    if (record.guid != 0) {
      write("switchguid=0x{0:x}({0:x})\n", record.guid);
    }
    write("Switch\t{} \"{}\"\n", record.ports, record.name);
    for (Port port = 0; port < record.ports; ++port) {
      if (const auto c = graph.link_at({s, port}); c && graph.usable(*c)) {
        const Link& link = graph[*c];
        const Attachment other = link.ends[link.ends[0] == Attachment{s, port} ? 1 : 0];
        write("[{}]\t\"{}\"[{}]\n", port + 1, graph[other.at].name, other.port + 1);
      } else if (const auto h = graph.host_at({s, port}); h && graph[*h].up) {
        write("[{}]\t\"{}\"[1]({:x})\n", port + 1, names[h->value],
              host_guid_prefix | graph[*h].nid.value);
      }
    }
    write("\n");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (const Host& host = graph.hosts()[i]; !names[i].empty()) {
      write("caguid=0x{0:x}\nHca\t1 \"{1}\"\n[1]({0:x})\t\"{2}\"[{3}]\n\n",
            host_guid_prefix | host.nid.value, names[i], graph[host.at.at].name, host.at.port + 1);
    }
  }
  return text;
}

} // namespace tributary::topology
