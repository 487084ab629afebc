// Checks beyond one section: names that must exist or must be unique, limits of the machine, and
// whether the tables build.
#pragma once

#include "dataplane/config/parse.hpp"
#include "dataplane/config/schema.hpp"
#include "lib/configuration/findings.hpp"
#include "lib/configuration/section_reader.hpp"

#include <map>
#include <string>

namespace tributary::config {

class Validator {
public:
  explicit Validator(const Machine& machine) : machine_(machine) {}
  [[nodiscard]] configuration::Findings& findings() { return findings_; }

  void check(const Impairment& impairment, const configuration::SectionReader& reader);
  void check(Process& process, const configuration::SectionReader& reader);
  /// Parses the address.
  void check(Manager& manager, const configuration::SectionReader& reader);
  /// The switch, before it has ports.
  void check(const Switch& sw, const configuration::SectionReader& reader);
  /// `again`: the owner has already set the class.
  void check(const ClassDraft& draft, bool again, const configuration::SectionReader& reader);
  void add(Switch& sw, Port port, const configuration::SectionReader& reader);
  void add(Switch& sw, const TreeDraft& draft, const configuration::SectionReader& reader);
  void add(Switch& sw, const RouteDraft& draft, const configuration::SectionReader& reader);
  /// Joins two ports for foreign frames, if the switch is configured to. Requires its ports.
  void join_foreign(Switch& sw, const configuration::SectionReader& reader);
  /// The slot keys of a tree, with the ports of the switch.
  void check_slots(const Switch& sw, const TreeDraft& draft,
                   const configuration::SectionReader& reader);
  /// Checks that need the whole file.
  void finish(const Config& config);

private:
  /// Whether everything its senders may have waiting fits into its lossless queues.
  void check_room(const Switch& sw);
  struct First {
    std::string owner; ///< the owner, for the message
    int line = 0;
  };
  /// Reports a second use of `what` = `value`; `key` is the key that has it.
  void claim(const std::string& what, const std::string& value, const std::string& owner,
             const configuration::SectionReader& reader, std::string_view key);
  /// The port's number, or `no_port` after reporting that it does not exist.
  PortNumber port_of(const Switch& sw, const std::string& name,
                     const configuration::SectionReader& reader, std::string_view key);

  Machine machine_;
  configuration::Findings findings_;
  std::map<std::string, First> claimed_; ///< by "what value"
  std::map<std::string, std::vector<First>> rings_;
};

} // namespace tributary::config
