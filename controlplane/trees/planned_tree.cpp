#include "controlplane/trees/planned_tree.hpp"

namespace tributary::trees {
namespace {

records::NamedPort named(const topology::Graph& graph, const topology::Attachment& end) {
  return {graph[end.at].name, end.port};
}

std::optional<topology::Attachment> found(const topology::Graph& graph,
                                          const records::NamedPort& port) {
  const auto at = graph.find_switch(port.at);
  return at ? std::optional(topology::Attachment{*at, port.port}) : std::nullopt;
}

/// The link between these two ports, if they are connected.
std::optional<topology::LinkId> found(const topology::Graph& graph,
                                      const records::TreeForm::Link& link) {
  const auto a = found(graph, link.a);
  const auto b = found(graph, link.b);
  if (!a || !b) {
    return std::nullopt;
  }
  const auto id = graph.link_at(*a);
  return id && id == graph.link_at(*b) ? id : std::nullopt;
}

} // namespace

records::TreeForm form_of(const topology::Graph& graph, const PlannedTree& planned) {
  records::TreeForm form{.root_switch = graph[planned.tree.root_switch].name,
                         .height = planned.tree.height,
                         .links = {},
                         .parts = {}};
  form.links.reserve(planned.tree.links.size());
  for (const topology::LinkId id : planned.tree.links) {
    const topology::Link& link = graph[id];
    form.links.push_back({named(graph, link.ends[0]), named(graph, link.ends[1])});
  }
  form.parts.reserve(planned.parts.size());
  for (const multicast::TreePart& part : planned.parts) {
    form.parts.push_back(
        {graph[part.at].name, part.parent, part.children, part.wait_count, part.depth});
  }
  return form;
}

std::optional<PlannedTree> planned_tree(const topology::Graph& graph,
                                        const records::TreeForm& form) {
  PlannedTree planned;
  const auto center = graph.find_switch(form.root_switch);
  if (!center) {
    return std::nullopt;
  }
  planned.tree.root_switch = *center;
  planned.tree.height = form.height;
  for (const records::TreeForm::Link& link : form.links) {
    const auto id = found(graph, link);
    if (!id) {
      return std::nullopt;
    }
    planned.tree.links.push_back(*id);
  }
  for (const records::TreeForm::Part& part : form.parts) {
    const auto at = graph.find_switch(part.at);
    if (!at) {
      return std::nullopt;
    }
    planned.parts.push_back({*at, part.parent, part.children, part.wait_count, part.depth});
  }
  return planned;
}

} // namespace tributary::trees
