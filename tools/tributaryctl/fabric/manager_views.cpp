#include "tools/tributaryctl/fabric/manager_views.hpp"

#include "tools/tributaryctl/fabric/cells.hpp"

#include <fmt/format.h>

namespace tributary::cli {

std::string managers_view(const Entry& all, const terminal::Display& display) {
  std::string out = fmt::format("fabric {}\n", all.text("fabric"));
  Table managers({{"NAME"},
                  {"ROLE"},
                  {"EPOCH", right},
                  {"SUPERSEDED BY", right, 2},
                  {"ADDRESSES", left, 1, 20}});
  for (const Entry& manager : all.entries("managers")) {
    const std::string role = manager.text("role");
    managers.add({{manager.text("name")},
                  {role, role == "superseded" ? Style::bad : Style::good},
                  {manager.text("epoch")},
                  {manager.text("superseded_by")},
                  {manager.joined("addresses")}});
  }
  out += managers.text(display);
  Table others({{"OTHER FABRIC"}, {"EPOCH", right}, {"REJECTED SWITCHES", left, 0, 20}});
  for (const Entry& fabric : all.entries("other_fabrics")) {
    others.add(
        {{fabric.text("fabric"), Style::bad}, {fabric.text("epoch")}, {fabric.joined("switches")}});
  }
  Table adopted({{"ADOPTED FABRIC"}, {"UP TO EPOCH", right}});
  for (const Entry& fabric : all.entries("adopted_fabrics")) {
    adopted.add({{fabric.text("fabric")}, {fabric.text("epoch")}});
  }
  for (const Table* const table : {&others, &adopted}) {
    if (!table->empty()) {
      out += '\n' + table->text(display);
    }
  }
  for (const Entry& problem : all.entries("problems")) {
    out += fmt::format("problem: {}\n", problem.self());
  }
  return out;
}

} // namespace tributary::cli
