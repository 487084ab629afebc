#include "controlplane/topology/builders_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tributary::topology {

void add_hosts(Graph& graph, SwitchId at, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint32_t>(graph.hosts().size());
    graph.add_host(
        {.name = fmt::format("h{}", number), .nid = Nid{number}, .at = {at, as_port(i)}});
  }
}

bool next_place(std::span<const std::uint32_t> shape, std::vector<std::uint32_t>& place) {
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (++place[d] < shape[d]) {
      return true;
    }
    place[d] = 0;
  }
  return false;
}

std::uint32_t number_of(std::span<const std::uint32_t> shape,
                        std::span<const std::uint32_t> place) {
  std::uint32_t number = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    number = number * shape[d] + place[d];
  }
  return number;
}

std::string name_of(std::span<const std::uint32_t> place) {
  return fmt::format("{}", fmt::join(place, "."));
}

} // namespace tributary::topology
