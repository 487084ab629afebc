#include "tools/simulator/allreduce/call.hpp"

#include <array>

namespace tributary::simulator::allreduce {
namespace {

constexpr std::array of_allreduce = {Algorithm::in_network, Algorithm::ring,
                                     Algorithm::recursive_doubling, Algorithm::rabenseifner};
constexpr std::array of_broadcast = {Algorithm::in_network, Algorithm::binomial,
                                     Algorithm::scatter_allgather};
constexpr std::array of_allgather = {Algorithm::in_network, Algorithm::ring,
                                     Algorithm::recursive_doubling};
constexpr std::array of_reduce_scatter = {Algorithm::in_network, Algorithm::ring,
                                          Algorithm::recursive_halving};

} // namespace

std::string_view name(Call call) {
  switch (call) {
  case Call::allreduce: return "allreduce";
  case Call::broadcast: return "broadcast";
  case Call::allgather: return "allgather";
  case Call::reduce_scatter: return "reduce_scatter";
  }
  return "";
}

std::string_view name(Algorithm algorithm) {
  switch (algorithm) {
  case Algorithm::in_network: return "in_network";
  case Algorithm::ring: return "ring";
  case Algorithm::recursive_doubling: return "recursive_doubling";
  case Algorithm::rabenseifner: return "rabenseifner";
  case Algorithm::recursive_halving: return "recursive_halving";
  case Algorithm::binomial: return "binomial";
  case Algorithm::scatter_allgather: return "scatter_allgather";
  }
  return "";
}

std::span<const Algorithm> algorithms_of(Call call) {
  switch (call) {
  case Call::allreduce: return of_allreduce;
  case Call::broadcast: return of_broadcast;
  case Call::allgather: return of_allgather;
  case Call::reduce_scatter: return of_reduce_scatter;
  }
  return of_allreduce;
}

} // namespace tributary::simulator::allreduce
