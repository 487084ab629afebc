#include "dataplane/config/schema.hpp"

#include "dataplane/config/section_keys.hpp"

namespace tributary::config {

configuration::Schema switch_schema() {
  static const configuration::SectionSpec sections[] = {
      {.path = "process", .keys = specs_of_process()},
      {.path = "manager", .keys = specs_of_manager()},
      {.path = "switch",
       .repeated = true,
       .keys = specs_of_switch(),
       .subsections = {"class", "port", "tree", "route"}},
      {.path = "switch.class", .repeated = true, .keys = specs_of_class()},
      {.path = "switch.port",
       .repeated = true,
       .keys = specs_of_port(),
       .subsections = {"impairment", "class"},
       .kinds = port_kind_names,
       .kind_key = "kind"},
      {.path = "switch.port.impairment",
       .keys = specs_of_impairment(),
       .subsections = {"received", "sent"}},
      {.path = "switch.port.impairment.received", .keys = specs_of_impairment()},
      {.path = "switch.port.impairment.sent", .keys = specs_of_impairment()},
      {.path = "switch.port.class", .repeated = true, .keys = specs_of_class()},
      {.path = "switch.tree", .repeated = true, .keys = specs_of_tree()},
      {.path = "switch.route", .repeated = true, .keys = specs_of_route()},
  };
  return sections;
}

} // namespace tributary::config
