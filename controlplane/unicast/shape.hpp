// The numbering of the k-dimension fat tree.
//
// Leaves form a grid. The leaves of every line along a dimension are connected by that line's
// roots, one in each of m planes: a line is a two-level fat tree of its own.
//
//   dimension   routes correct dimension 0 first, then 1, and so on. In two dimensions 0 is the
//               paper's row (X: the root RSW of a row leads to another column), 1 its column
//   leaf        coordinates with dimension 0 fastest: leaf (r, c) is r * columns + c
//   line        of a dimension: the leaf without that coordinate
//   root        by dimension, line and plane
//   switch      leaves first, then roots: a destination is a leaf, and has the leaf's number
//   port        of a leaf: dimension * planes + plane; of a root: the coordinate of the leaf there.
//               Hosts have no port here; placement.hpp has the ports of a real switch
//   uplink      leaf * (ports of a leaf) + port: a link, by its leaf
//
//   rank        of a channel, a direction of a link with a virtual channel: it rises with every hop
//               of a legal route, so no cycle of waits can close, whatever the tables are:
//
//                 rank(up or down link of dimension d, vc) = 2 (k vc + d) + (0 up, 1 down)
//
// "kdft:16x12x4,2" has 16 along dimension 1 and 12 along dimension 0, 4 hosts a leaf, 2 planes: the
// last size of a name is the fastest coordinate, as in topology/builders.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tributary::unicast {

class Shape {
public:
  /// Sizes with dimension 0 first. Throws RouteError for zero dimensions, a size or number of
  /// planes of 0, more than 65,536 leaves, or more ports than a switch can have.
  explicit Shape(std::span<const std::uint32_t> sizes, std::uint32_t planes = 1);
  /// Two dimensions: the page's R x C.
  static Shape grid(std::uint32_t rows, std::uint32_t columns, std::uint32_t planes = 1);

  [[nodiscard]] std::uint32_t dimensions() const {
    return static_cast<std::uint32_t>(sizes_.size());
  }
  [[nodiscard]] std::uint32_t size(std::uint32_t dimension) const { return sizes_[dimension]; }
  [[nodiscard]] std::uint32_t planes() const { return planes_; }
  [[nodiscard]] std::uint32_t leaves() const { return leaves_; }
  [[nodiscard]] std::uint32_t roots() const { return first_root_.back(); }
  [[nodiscard]] std::uint32_t switches() const { return leaves_ + roots(); }
  [[nodiscard]] std::uint32_t leaf_ports() const { return dimensions() * planes_; }
  [[nodiscard]] std::uint32_t uplinks() const { return leaves_ * leaf_ports(); }
  [[nodiscard]] std::uint32_t lines(std::uint32_t dimension) const {
    return leaves_ / sizes_[dimension];
  }

  [[nodiscard]] std::uint32_t coordinate(std::uint32_t leaf, std::uint32_t dimension) const {
    return leaf / strides_[dimension] % sizes_[dimension];
  }
  [[nodiscard]] std::uint32_t line(std::uint32_t leaf, std::uint32_t dimension) const {
    const std::uint32_t stride = strides_[dimension];
    return leaf / (stride * sizes_[dimension]) * stride + leaf % stride;
  }
  [[nodiscard]] std::uint32_t leaf_on(std::uint32_t dimension, std::uint32_t line,
                                      std::uint32_t coordinate) const {
    const std::uint32_t stride = strides_[dimension];
    return line / stride * stride * sizes_[dimension] + line % stride + coordinate * stride;
  }
  /// From a leaf to the next one of its line.
  [[nodiscard]] std::uint32_t stride(std::uint32_t dimension) const { return strides_[dimension]; }
  [[nodiscard]] std::uint32_t leaf_at(std::span<const std::uint32_t> coordinates) const;

  struct Root {
    std::uint32_t dimension = 0;
    std::uint32_t line = 0;
    std::uint32_t plane = 0;
  };
  [[nodiscard]] std::uint32_t root(const Root& root) const {
    return first_root_[root.dimension] + root.line * planes_ + root.plane;
  }
  [[nodiscard]] Root root(std::uint32_t number) const;
  [[nodiscard]] std::uint32_t switch_of_root(std::uint32_t root) const { return leaves_ + root; }
  [[nodiscard]] std::uint32_t leaf_port(std::uint32_t dimension, std::uint32_t plane) const {
    return dimension * planes_ + plane;
  }
  [[nodiscard]] std::uint32_t uplink(std::uint32_t leaf, std::uint32_t dimension,
                                     std::uint32_t plane) const {
    return leaf * leaf_ports() + leaf_port(dimension, plane);
  }

  /// "leaf3.4", "root1:0.4:0": as in topology::build_model.
  [[nodiscard]] std::string name(std::uint32_t switch_number) const;
  /// "16x12, 2 planes"
  [[nodiscard]] std::string describe() const;

  friend bool operator==(const Shape&, const Shape&) = default;

private:
  std::vector<std::uint32_t> sizes_;
  std::vector<std::uint32_t> strides_;
  std::vector<std::uint32_t> first_root_; ///< by dimension, followed by the total
  std::uint32_t planes_ = 1;
  std::uint32_t leaves_ = 1;
};

} // namespace tributary::unicast
