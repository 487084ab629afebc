#include "endpoint/launcher/job/rank_environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace tributary::launch::job {
namespace {

std::string value_of(const Variables& variables, std::string_view name) {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [&](const auto& each) { return each.first == name; });
  return found == variables.end() ? "none" : found->second;
}

TEST(RankEnvironment, ForgetsWhatAnotherLauncherSaid) {
  for (const char* name : {"PMIX_RANK", "PMIX_SERVER_URI41", "PMI_FD", "PMI_RANK", "PMI2_SIZE",
                           "OMPI_COMM_WORLD_RANK", "OMPI_MCA_ess", "OMPI_MCA_orte_hnp_uri",
                           "OMPI_MCA_ess_base_jobid", "HYDI_CONTROL_FD", "MPI_LOCALRANKID"}) {
    EXPECT_TRUE(is_of_another_launcher(name)) << name;
    EXPECT_FALSE(travels(name)) << name;
  }
  for (const char* name : {"PATH", "OMPI_MCA_btl", "OMPI_MCA_coll_tuned_use", "PMIX_MCA_gds",
                           "TRIBUTARY_PROGRESS", "PMIXED"}) {
    EXPECT_FALSE(is_of_another_launcher(name)) << name;
  }
}

TEST(RankEnvironment, TakesAlongWhatConfiguresCommunication) {
  for (const char* name : {"TRIBUTARY_TRANSPORT", "OMPI_MCA_btl", "UCX_TLS", "MPIR_CVAR_NOLOCAL"}) {
    EXPECT_TRUE(travels(name)) << name;
  }
  for (const char* name : {"TRIBUTARY_FABRIC_MANAGER_TOKEN", "TRIBUTARY_JOB_ID",
                           "TRIBUTARY_RUN_SECRET", "FI_CXI_COLL_MCAST_TOKEN"}) {
    EXPECT_FALSE(travels(name)) << name << " may be the administrator's";
  }
  EXPECT_FALSE(travels("PATH"));
  EXPECT_FALSE(travels("HOME"));
}

TEST(RankEnvironment, TellsOpenMpiOfCrowding) {
  EXPECT_EQ(value_of(for_open_mpi({.ranks = 3, .processors = 2}), "OMPI_MCA_mpi_yield_when_idle"),
            "1");
  EXPECT_EQ(value_of(for_open_mpi({.ranks = 2, .processors = 2}), "OMPI_MCA_mpi_yield_when_idle"),
            "none");
  EXPECT_EQ(value_of(for_open_mpi({}), "OMPI_MCA_schizo"), "^orte");
}

TEST(RankEnvironment, TellsRanksOfTorchWhoTheyAreAndWhereTheFirstIs) {
  const RankFacts rank{.rank = 5,
                       .ranks = 8,
                       .local_rank = 1,
                       .local_ranks = 4,
                       .master_address = "10.0.0.1",
                       .master_port = 4711};
  EXPECT_EQ(for_torch(rank), (Variables{{"RANK", "5"},
                                        {"WORLD_SIZE", "8"},
                                        {"LOCAL_RANK", "1"},
                                        {"LOCAL_WORLD_SIZE", "4"},
                                        {"MASTER_ADDR", "10.0.0.1"},
                                        {"MASTER_PORT", "4711"}}));
  EXPECT_EQ(value_of(for_torch({.rank = 0, .ranks = 1}), "MASTER_ADDR"), "none");
  EXPECT_TRUE(is_of_another_launcher("TORCHELASTIC_RUN_ID"));
  EXPECT_TRUE(travels("GLOO_SOCKET_IFNAME"));
}

TEST(RankEnvironment, ReadsVariablesOfTheCommandLine) {
  const Variables own{{"HOME", "/root"}, {"EMPTY", ""}};
  EXPECT_EQ(variable_from("A=b=c", own), (std::pair<std::string, std::string>("A", "b=c")));
  EXPECT_EQ(variable_from("HOME", own).second, "/root");
  EXPECT_EQ(variable_from("EMPTY", own).second, "");
  EXPECT_THROW((void)variable_from("=x", own), std::invalid_argument);
  EXPECT_THROW((void)variable_from("MISSING", own), std::invalid_argument);
}

TEST(RankEnvironment, TheLaterValueWins) {
  Variables variables{{"A", "1"}, {"B", "2"}};
  set_variable(variables, "A", "3");
  set_variable(variables, "C", "4");
  EXPECT_EQ(variables, (Variables{{"A", "3"}, {"B", "2"}, {"C", "4"}}));
}

} // namespace
} // namespace tributary::launch::job
