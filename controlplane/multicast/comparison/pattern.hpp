// Patterns of groups of processes, on which trees are compared.
//
// | name                  | groups                                                               |
// |-----------------------|----------------------------------------------------------------------|
// | AxB, AxBxC, ...       | processes in a grid, row-major (last index fastest); every line      |
// |                       | along every dimension is a group, the last dimension's lines first   |
// | ~AxB, ...             | the same, each process at a random place                             |
// | rand:N,A,B            | N groups of A to B random processes                                  |
//
// Process r is on host r / P, P processes on each host: as in the model, or as many as the grid
// needs. A group is routed over the switches of its hosts.
#pragma once

#include "controlplane/topology/builders.hpp"

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace tributary::multicast::comparison {

/// The switches of a group's members: distinct, ascending.
using Group = std::vector<topology::SwitchId>;

/// An unknown name, or numbers that make no groups; says what to write instead.
class PatternError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Equal groups for equal seeds, on every machine. Throws PatternError.
[[nodiscard]] std::vector<Group> make_groups(std::string_view pattern, const topology::Model& model,
                                             std::uint64_t seed);

} // namespace tributary::multicast::comparison
