#include "endpoint/launcher/job/rank_environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tributary::launch::job {

namespace {

template <std::size_t n>
bool begins_with_one_of(std::string_view name, const std::array<std::string_view, n>& all) {
  return std::any_of(all.begin(), all.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

} // namespace

bool is_of_another_launcher(std::string_view name) {
  // OMPI_MCA_ parameters are the user's, except for those by which mpirun addresses its ranks.
  static constexpr std::array<std::string_view, 13> foreign{"PMIX_",           "PMI_",
                                                            "PMI2_",           "OMPI_COMM_WORLD_",
                                                            "OMPI_UNIVERSE_",  "HYDI_",
                                                            "HYDRA_",          "OMPI_MCA_ess_base",
                                                            "OMPI_MCA_orte_",  "OMPI_APP_CTX_NUM",
                                                            "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
                                                            "TORCHELASTIC_"};
  if (name.starts_with("PMIX_MCA_")) {
    return false;
  }
  return begins_with_one_of(name, foreign) || name == "OMPI_MCA_ess" || name == "OMPI_MCA_pmix";
}

bool travels(std::string_view name) {
  static constexpr std::array<std::string_view, 13> ours{
      "TRIBUTARY_", "OMPI_MCA_", "PMIX_MCA_", "MPIR_CVAR_", "MPICH_", "UCX_",     "FI_",
      "OMP_",       "HWLOC_",    "MPI_",      "GLOO_",      "TORCH_", "USE_LIBUV"};
  // Ranks get the token of their job from its allocation, and never the administrator's from here.
  static constexpr std::array<std::string_view, 4> of_the_caller{
      "TRIBUTARY_FABRIC_MANAGER_", "TRIBUTARY_JOB_ID", "TRIBUTARY_RUN_", "FI_CXI_COLL_"};
  return begins_with_one_of(name, ours) && !begins_with_one_of(name, of_the_caller) &&
         !is_of_another_launcher(name);
}

Variables for_open_mpi(const NodeFacts& node) {
  Variables variables{
      // Open MPI 4.1 takes a process that mpirun has not started for a job of its own; without this
      // component it looks for PMIx and finds us (open-mpi/ompi issue 13180).
      {"OMPI_MCA_schizo", "^orte"},
      // The node assigns processors: ranks do no binding of their own.
      {"OMPI_MCA_hwloc_base_binding_policy", "none"},
      {"OMPI_MCA_orte_externally_bound", "1"},
      // Addresses are fetched when a peer is first spoken to, instead of all at the start. The
      // fence without data stays: without it (pmix_base_async_modex) Open MPI 4.1.4 sometimes asks
      // for the address of a rank that has not put it yet, and gives up, under mpirun as well.
      {"OMPI_MCA_pmix_base_collect_data", "0"},
  };
  if (node.processors != 0 && node.ranks > node.processors) {
    variables.emplace_back("OMPI_MCA_mpi_yield_when_idle", "1");
  }
  return variables;
}

Variables for_torch(const RankFacts& rank) {
  Variables variables{{"RANK", fmt::format("{}", rank.rank)},
                      {"WORLD_SIZE", fmt::format("{}", rank.ranks)},
                      {"LOCAL_RANK", fmt::format("{}", rank.local_rank)},
                      {"LOCAL_WORLD_SIZE", fmt::format("{}", rank.local_ranks)}};
  if (!rank.master_address.empty()) {
    variables.emplace_back("MASTER_ADDR", rank.master_address);
    variables.emplace_back("MASTER_PORT", fmt::format("{}", rank.master_port));
  }
  return variables;
}

std::pair<std::string, std::string> variable_from(std::string_view option,
                                                  const Variables& environment) {
  const std::size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  if (name.empty()) {
    throw std::invalid_argument(
        fmt::format("'{}' names no variable; write NAME=VALUE, or NAME to pass it on", option));
  }
  if (equals != std::string_view::npos) {
    return {std::string(name), std::string(option.substr(equals + 1))};
  }
  const auto found = std::find_if(environment.begin(), environment.end(),
                                  [&](const auto& variable) { return variable.first == name; });
  if (found == environment.end()) {
    throw std::invalid_argument(
        fmt::format("{} is not set in the environment; write {}=VALUE", name, name));
  }
  return *found;
}

void set_variable(Variables& variables, std::string_view name, std::string_view value) {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [&](const auto& variable) { return variable.first == name; });
  if (found != variables.end()) {
    found->second = value;
  } else {
    variables.emplace_back(name, value);
  }
}

} // namespace tributary::launch::job
