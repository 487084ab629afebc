#include "controlplane/topology/dot_file.hpp"

#include "tributary/text.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace tributary::topology {
namespace {

constexpr std::string_view style_of(bool up) { return up ? "solid" : "dashed"; }

} // namespace

std::string write_dot(const Graph& graph, const DotOptions& options) {
  std::string text = "graph fabric {\n  node [fontname=\"sans-serif\"];\n"
                     "  edge [fontname=\"sans-serif\", fontsize=8];\n";
  const auto write = [out = std::back_inserter(text)]<typename... Args>(
                         fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(out, format, std::forward<Args>(args)...);
  };
  // Nodes are numbers, so that a host may have the name of a switch.
  for (std::size_t i = 0; i < graph.switches().size(); ++i) {
    const Switch& s = graph.switches()[i];
    write("  s{} [shape=box, label={}, style={}];\n", i, in_quotes(s.name), style_of(s.up));
  }
  for (std::uint32_t i = 0; i < graph.links().size(); ++i) {
    const Link& link = graph[LinkId{i}];
    if (link.plugged) {
      write("  s{} -- s{} [taillabel=\"{}\", headlabel=\"{}\", style={}];\n", link.ends[0].at.value,
            link.ends[1].at.value, link.ends[0].port, link.ends[1].port,
            style_of(graph.usable(LinkId{i})));
    }
  }
  for (std::size_t i = 0; options.hosts && i < graph.hosts().size(); ++i) {
    const Host& host = graph.hosts()[i];
    if (host.plugged) {
      const std::string_view style = style_of(host.up && graph[host.at.at].up);
      write("  h{} [shape=ellipse, label={}, style={}];\n", i, in_quotes(host.name), style);
      write("  s{} -- h{} [taillabel=\"{}\", style={}];\n", host.at.at.value, i, host.at.port,
            style);
    }
  }
  return text + "}\n";
}

} // namespace tributary::topology
