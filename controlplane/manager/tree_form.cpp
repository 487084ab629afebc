#include "controlplane/manager/tree_form.hpp"

namespace tributary::manager {
namespace {

records::NamedPort named(const topology::Graph& graph, const topology::Attachment& end) {
  return {graph[end.at].name, end.port};
}

std::optional<topology::Attachment> found(const topology::Graph& graph,
                                          const records::NamedPort& port) {
  const auto at = graph.find_switch(port.at);
  return at ? std::optional(topology::Attachment{*at, port.port}) : std::nullopt;
}

/// The cable between these two ports, if that is what is there.
std::optional<topology::CableId> found(const topology::Graph& graph,
                                       const records::TreeForm::Cable& cable) {
  const auto a = found(graph, cable.a);
  const auto b = found(graph, cable.b);
  if (!a || !b) {
    return std::nullopt;
  }
  const auto id = graph.cable_at(*a);
  return id && id == graph.cable_at(*b) ? id : std::nullopt;
}

} // namespace

records::TreeForm form_of(const topology::Graph& graph, const RoutedTree& routed,
                          const std::string& algorithm) {
  records::TreeForm form{.algorithm = algorithm,
                         .center = graph[routed.tree.center].name,
                         .height = routed.tree.height,
                         .cables = {},
                         .parts = {}};
  form.cables.reserve(routed.tree.cables.size());
  for (const topology::CableId id : routed.tree.cables) {
    const topology::Cable& cable = graph[id];
    form.cables.push_back({named(graph, cable.ends[0]), named(graph, cable.ends[1])});
  }
  form.parts.reserve(routed.parts.size());
  for (const multicast::TreePart& part : routed.parts) {
    form.parts.push_back(
        {graph[part.at].name, part.parent, part.children, part.wait_count, part.depth});
  }
  return form;
}

std::optional<RoutedTree> routed_tree(const topology::Graph& graph, const records::TreeForm& form) {
  RoutedTree routed;
  const auto center = graph.find_switch(form.center);
  if (!center) {
    return std::nullopt;
  }
  routed.tree.center = *center;
  routed.tree.height = form.height;
  for (const records::TreeForm::Cable& cable : form.cables) {
    const auto id = found(graph, cable);
    if (!id) {
      return std::nullopt;
    }
    routed.tree.cables.push_back(*id);
  }
  for (const records::TreeForm::Part& part : form.parts) {
    const auto at = graph.find_switch(part.at);
    if (!at) {
      return std::nullopt;
    }
    routed.parts.push_back({*at, part.parent, part.children, part.wait_count, part.depth});
  }
  return routed;
}

} // namespace tributary::manager
