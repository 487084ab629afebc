#include "tools/tributaryctl/fabric/tree_drawing.hpp"

#include "tributary/text.hpp"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <set>
#include <string_view>

namespace tributary::cli {
namespace {

using Node = DrawnTree::Node;

class Builder {
public:
  explicit Builder(const Entry& answer) {
    for (const Entry& part : answer.entries("parts")) {
      parts_.emplace(part.text("switch"), part);
    }
    const Entry root = answer.entry("root");
    tree_.title = fmt::format("tree {} of {}/{}", answer.text("tree"), answer.text("job"),
                              answer.text("group"));
    tree_.nodes.push_back({.name = root.text("host").empty() ? "root" : root.text("host"),
                           .is_switch = false,
                           .port_above = {},
                           .port_here = {},
                           .wait_count = 0,
                           .children = {}});
    for (const Entry& part : answer.entries("parts")) {
      if (part.number("depth") == 0) {
        add_switch(0, part.text("switch"), "");
      }
    }
    for (const auto& [name, part] : parts_) {
      if (!placed_.contains(name)) {
        tree_.apart.push_back(name);
      }
    }
  }
  DrawnTree take() { return std::move(tree_); }

private:
  void add_switch(std::size_t above, const std::string& name, const std::string& port_above) {
    placed_.insert(name);
    const Entry& part = parts_.at(name);
    const std::size_t here = add(above, {.name = name,
                                         .is_switch = true,
                                         .port_above = port_above,
                                         .port_here = part.entry("parent").text("port"),
                                         .wait_count = part.number("wait_count"),
                                         .children = {}});
    for (const Entry& child : part.entries("children")) {
      const std::string to = child.text("to");
      // A switch that has a place already would close a cycle: the manager's tree is being changed.
      if (parts_.contains(to) && !placed_.contains(to)) {
        add_switch(here, to, child.text("port"));
      } else {
        add(here, {.name = to.empty() ? "?" : to,
                   .is_switch = false,
                   .port_above = child.text("port"),
                   .port_here = {},
                   .wait_count = 0,
                   .children = {}});
      }
    }
  }
  std::size_t add(std::size_t above, Node node) {
    const std::size_t here = tree_.nodes.size();
    tree_.nodes.push_back(std::move(node));
    tree_.nodes[above].children.push_back(here);
    return here;
  }

  std::map<std::string, Entry> parts_;
  std::set<std::string> placed_;
  DrawnTree tree_;
};

void add_lines(const DrawnTree& tree, std::size_t at, const std::string& indent, std::string& out) {
  const Node& above = tree.nodes[at];
  for (std::size_t i = 0; i < above.children.size(); ++i) {
    const std::size_t index = above.children[i];
    const Node& node = tree.nodes[index];
    const bool last = i + 1 == above.children.size();
    out += indent + (last ? "└─ " : "├─ ");
    out += node.port_above.empty() ? "" : node.port_above + ": ";
    out += node.name;
    if (node.is_switch) {
      out += fmt::format("  (port {} up, waits for {})", node.port_here, node.wait_count);
    }
    out += '\n';
    add_lines(tree, index, indent + (last ? "   " : "│  "), out);
  }
}

} // namespace

DrawnTree drawn_tree(const Entry& answer) { return Builder(answer).take(); }

std::string tree_text(const DrawnTree& tree) {
  std::string out = fmt::format("{}\n{}  (root)\n", tree.title, tree.nodes.front().name);
  add_lines(tree, 0, "", out);
  for (const std::string& name : tree.apart) {
    out += fmt::format("disconnected: {}\n", name);
  }
  return out;
}

std::string tree_dot(const DrawnTree& tree) {
  std::string out =
      fmt::format("graph {} {{\n  node [fontname=\"sans-serif\"];\n", in_quotes(tree.title));
  const auto write = std::back_inserter(out);
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = tree.nodes[i];
    const std::string label =
        node.is_switch ? fmt::format("{} ({})", node.name, node.wait_count) : node.name;
    fmt::format_to(write, "  n{} [label={}, shape={}{}];\n", i, in_quotes(label),
                   node.is_switch ? "box" : "ellipse", i == 0 ? ", style=bold" : "");
  }
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    for (const std::size_t child : tree.nodes[i].children) {
      const Node& below = tree.nodes[child];
      fmt::format_to(write, "  n{} -- n{} [taillabel={}, headlabel={}];\n", i, child,
                     in_quotes(below.port_above), in_quotes(below.port_here));
    }
  }
  for (const std::string& name : tree.apart) {
    fmt::format_to(write, "  {} [shape=box, style=dashed];\n", in_quotes(name));
  }
  return out + "}\n";
}

} // namespace tributary::cli
