// Models of fabrics by name, for tests, benchmarks and the offline comparison of algorithms.
//
//   const Model model = build_model("torus:30x20x20x2");
//
// | name                       | is                                                              |
// |----------------------------|-----------------------------------------------------------------|
// | ft3:K                      | three-level fat tree of K-port switches, K^3/4 hosts            |
// | tft:P,L,H,M,T,N            | trimmed fat tree: P pods of L leaves with H hosts each; M       |
// |                            | middle switches a pod, each joined to all its leaves; T top     |
// |                            | switches; N paths from a leaf to each top it reaches: M/N       |
// |                            | planes with N of a pod's middle switches each, and every middle |
// |                            | switch joined to all tops of its plane                          |
// | torus:AxB[xC...]xH         | torus of any dimension, H hosts a switch                        |
// | dragonfly:A,P,H[,how]      | groups of A switches with P hosts and H global links each,     |
// |                            | every two of the A*H+1 groups joined once; how: palmtree        |
// |                            | (default), absolute, relative                                   |
// | kdft:AxB[xC...]xH[,R]      | k-dimension fat tree: a grid of leaves with H hosts each, the   |
// |                            | leaves of every line along every dimension joined to the R      |
// |                            | (default 1) root switches of that line                          |
// | ft40                       | ft3:40: 16,000 hosts, 2,000 switches                            |
// | torus                      | torus:30x20x20x2: 24,000 hosts, 12,000 switches                 |
// | dragonfly                  | dragonfly:18,9,9: 26,406 hosts, 2,934 switches                  |
// | bluelight                  | tft:17,32,16,8,16,8: 8,704 hosts, 696 switches, 4 ranks a host |
// | taihulight                 | tft:40,32,32,16,128,2: 40,960 hosts, 2,048 switches            |
//
// The last two are models: only host and path counts of the machines are published.
//
// Hosts are numbered pod by pod and leaf by leaf (grids: last dimension fastest), their NIDs are
// their numbers. Ports of a switch: hosts first, then links downward or in the order of dimensions
// (ahead before back), then upward.
#pragma once

#include "controlplane/topology/graph.hpp"

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::topology {

/// A fabric, with its structure.
struct Model {
  static constexpr std::uint32_t no_region = 0xFFFFFFFF;

  std::string name;
  Graph graph;
  /// For each switch its pod or dragonfly group, from 0 on; `no_region` for top switches and in
  /// fabrics without regions.
  std::vector<std::uint32_t> regions;
  /// A torus's dimensions, slowest first; switch numbers are row-major in them. Empty for others.
  std::vector<std::uint32_t> torus_shape;
  /// Processes on each host, unless a pattern needs more.
  std::uint32_t ranks_per_host = 1;
};

/// An unknown name, or numbers that make no fabric; says what to write instead.
class ModelError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Throws ModelError. Builds at most 65,536 switches and 2^20 hosts.
[[nodiscard]] Model build_model(std::string_view name);

/// The forms of names for `build_model`, for messages and help.
[[nodiscard]] std::span<const std::string_view> model_forms();

/// Which of the N planes the top switch t of T is in.
enum class PlaneOrder {
  blocks,  ///< t / (T/N): full fat trees
  in_turn, ///< t mod N: trimmed ones
};
struct TrimmedFatTree {
  std::uint32_t pods = 0;
  std::uint32_t leaves = 0;  ///< in each pod
  std::uint32_t hosts = 0;   ///< at each leaf
  std::uint32_t middles = 0; ///< in each pod
  std::uint32_t tops = 0;
  std::uint32_t paths = 0; ///< from a leaf to a top: middle switches of a pod in one plane
  PlaneOrder order = PlaneOrder::in_turn;
};
[[nodiscard]] Model build_trimmed_fat_tree(const TrimmedFatTree& shape);

/// One link only where a dimension has two switches.
[[nodiscard]] Model build_torus(std::span<const std::uint32_t> shape, std::uint32_t hosts);

/// The group that the global port g (0 to A*H-1) of group i leads to, with n groups in total:
enum class GlobalLinks {
  palmtree, ///< (i - g - 1) mod n
  absolute, ///< g, or g + 1 from i on
  relative, ///< (i + g + 1) mod n
};
struct Dragonfly {
  std::uint32_t switches = 0; ///< in each group
  std::uint32_t hosts = 0;    ///< at each switch
  std::uint32_t globals = 0;  ///< at each switch
  GlobalLinks how = GlobalLinks::palmtree;
};
[[nodiscard]] Model build_dragonfly(const Dragonfly& shape);

[[nodiscard]] Model build_k_dimension_fat_tree(std::span<const std::uint32_t> shape,
                                               std::uint32_t hosts, std::uint32_t roots);

} // namespace tributary::topology
