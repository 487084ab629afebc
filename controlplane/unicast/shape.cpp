#include "controlplane/unicast/shape.hpp"

#include "controlplane/unicast/route_error.hpp"

#include <fmt/format.h>

#include <array>

namespace tributary::unicast {
namespace {

constexpr std::uint64_t most_leaves = 65'536;
constexpr std::uint64_t most_ports = 4'096;

} // namespace

Shape::Shape(std::span<const std::uint32_t> sizes, std::uint32_t planes)
    : sizes_(sizes.begin(), sizes.end()), planes_(planes) {
  if (sizes.empty() || planes == 0) {
    throw RouteError("a fat tree needs at least one dimension and one plane of roots");
  }
  std::uint64_t leaves = 1;
  for (const std::uint32_t size : sizes) {
    strides_.push_back(static_cast<std::uint32_t>(leaves));
    leaves *= size;
    if (size == 0 || size > most_ports || leaves > most_leaves) {
      throw RouteError(fmt::format("{} leaves along a dimension: 1 to {} are possible, and {} in "
                                   "all dimensions together",
                                   size, most_ports, most_leaves));
    }
  }
  if (std::uint64_t{sizes.size()} * planes > most_ports) {
    throw RouteError(fmt::format("{} planes along {} dimensions: a leaf has at most {} ports",
                                 planes, sizes.size(), most_ports));
  }
  leaves_ = static_cast<std::uint32_t>(leaves);
  std::uint32_t roots = 0;
  for (std::uint32_t d = 0; d < dimensions(); ++d) {
    first_root_.push_back(roots);
    roots += lines(d) * planes_;
  }
  first_root_.push_back(roots);
}

Shape Shape::grid(std::uint32_t rows, std::uint32_t columns, std::uint32_t planes) {
  const std::array<std::uint32_t, 2> sizes{columns, rows};
  return Shape(sizes, planes);
}

std::uint32_t Shape::leaf_at(std::span<const std::uint32_t> coordinates) const {
  std::uint32_t leaf = 0;
  for (std::uint32_t d = 0; d < dimensions(); ++d) {
    leaf += coordinates[d] * strides_[d];
  }
  return leaf;
}

Shape::Root Shape::root(std::uint32_t number) const {
  std::uint32_t d = 0;
  while (number >= first_root_[d + 1]) {
    ++d;
  }
  const std::uint32_t rest = number - first_root_[d];
  return {d, rest / planes_, rest % planes_};
}

std::string Shape::name(std::uint32_t switch_number) const {
  const bool is_leaf = switch_number < leaves_;
  const Root of = is_leaf ? Root{} : root(switch_number - leaves_);
  const std::uint32_t leaf = is_leaf ? switch_number : leaf_on(of.dimension, of.line, 0);
  std::string place;
  for (std::uint32_t d = dimensions(); d-- > 0;) {
    place += fmt::format("{}{}", place.empty() ? "" : ".", coordinate(leaf, d));
  }
  return is_leaf ? "leaf" + place
                 : fmt::format("root{}:{}:{}", dimensions() - 1 - of.dimension, place, of.plane);
}

std::string Shape::describe() const {
  std::string text;
  for (std::uint32_t d = dimensions(); d-- > 0;) {
    text += fmt::format("{}{}", text.empty() ? "" : "x", sizes_[d]);
  }
  return fmt::format("{}, {} plane{}", text, planes_, planes_ == 1 ? "" : "s");
}

} // namespace tributary::unicast
