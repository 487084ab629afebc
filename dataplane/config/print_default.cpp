#include "dataplane/config/print_default.hpp"

#include "dataplane/config/schema.hpp"
#include "lib/configuration/reference.hpp"

namespace tributary::config {

using configuration::section_text;

namespace {

/// The section as a comment: for optional sections.
std::string commented_out(const std::string& section) {
  std::string out;
  for (std::size_t begin = 0; begin < section.size();) {
    const std::size_t end = section.find('\n', begin) + 1;
    if (section[begin] != '#' && section[begin] != '\n') {
      out += "# ";
    }
    out.append(section, begin, end - begin);
    begin = end;
  }
  return out;
}

} // namespace

std::string default_toml() {
  std::string out = "# The configuration of tributary-switch. Integers may be written as 0x...\n"
                    "# [live]: `tributaryctl reload` or SIGHUP applies a change. [restart]: a new "
                    "start does.\n\n";
  out += section_text(spec_of(Section::process), {});
  out += "# Without a fabric manager, the trees are those below.\n";
  out += commented_out(section_text(spec_of(Section::manager), {}));
  out += "# A process may host several switches.\n";
  out += section_text(spec_of(Section::switches), {});
  out +=
      "# A traffic class of all its ports. By default all are alike, and only class 0 is used.\n";
  out += commented_out(section_text(spec_of(Section::switch_class), {}));
  out += "# A port of the switch above; its keys depend on its kind.\n";
  out += section_text(spec_of(Section::port), {{"interface", "\"eth0\""}, {"nid", "0x00001"}});
  out += "# Faults the port inflicts on purpose, for tests; none by default. `tributaryctl impair` "
         "changes\n# them while the switch runs.\n";
  out += section_text(spec_of(Section::impairment), {});
  out += "# What is different for one direction; the same keys.\n";
  out += commented_out(
      configuration::short_section(spec_of(Section::received_impairment), {{"loss", "0.01"}}));
  out += commented_out(
      configuration::short_section(spec_of(Section::sent_impairment), {{"delay_us", "100"}}));
  out += "# A traffic class of the port above; what it does not say is as the switch's class has "
         "it.\n";
  out += commented_out(configuration::short_section(spec_of(Section::port_class),
                                                    {{"class", "3"}, {"queue_frames", "1024"}}));
  out += configuration::short_section(
      spec_of(Section::port),
      {{"name", "\"host1\""}, {"interface", "\"eth1\""}, {"nid", "0x00002"}});
  out += "# A multicast tree through the switch above. Here host0 is the root.\n";
  out += section_text(spec_of(Section::tree), {});
  out += "# Where unicast frames go.\n";
  out += section_text(spec_of(Section::route), {});
  out += configuration::short_section(spec_of(Section::route),
                                      {{"nid", "0x00002"}, {"port", "\"host1\""}});
  out.pop_back();
  return out;
}

std::string keys_markdown() { return keys_markdown(switch_schema()); }

} // namespace tributary::config
