#include "endpoint/mpi/model/statistics.hpp"
#include "endpoint/mpi/model/tuning.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tributary::mpi::test {
namespace {

TEST(Tuning, IsReadAsItIsWritten) {
  const Tuning tuning = Tuning::parse("allreduce:8-64,allreduce:1000-2000,barrier");
  EXPECT_FALSE(tuning.through_network(Kind::allreduce, 7));
  EXPECT_TRUE(tuning.through_network(Kind::allreduce, 64));
  EXPECT_FALSE(tuning.through_network(Kind::allreduce, 65));
  EXPECT_TRUE(tuning.through_network(Kind::allreduce, 1500));
  EXPECT_TRUE(tuning.through_network(Kind::ibarrier, 0));
  EXPECT_FALSE(tuning.through_network(Kind::reduce, 10));
  EXPECT_FALSE(tuning.is_empty());
  EXPECT_TRUE(Tuning::never().is_empty());
  EXPECT_FALSE(Tuning::parse("reduce_scatter_block").through_network(Kind::reduce_scatter, 10));
  EXPECT_TRUE(Tuning::parse("reduce_scatter:8-9").through_network(Kind::reduce_scatter_init, 9));
  EXPECT_TRUE(Tuning::parse("always").through_network(Kind::reduce, 10));
  for (const char* const wrong : {"allreduc", "allreduce:", "allreduce:9-8", "bcast:x-9", "",
                                  "iallreduce", "barrier,", "bcast:1-2x"}) {
    EXPECT_THROW(static_cast<void>(Tuning::parse(wrong)), std::invalid_argument) << wrong;
  }
}

TEST(Statistics, TheSummarySaysWhereAndWhyNot) {
  Statistics all;
  all.count(Kind::allreduce, Reason::none);
  all.count(Kind::allreduce, Reason::slower);
  all.count(Kind::bcast, Reason::slower);
  all.cells[Statistics::bytes_at] = 32;
  const std::string line = summary_line(all, 4);
  EXPECT_NE(line.find("1 of 3 calls of 4 ranks were reduced in the network, 32 bytes"),
            std::string::npos)
      << line;
  EXPECT_NE(line.find("2 because the MPI library is faster at this size"), std::string::npos);
  EXPECT_EQ(summary_table(Statistics{}), "");
}

} // namespace
} // namespace tributary::mpi::test
