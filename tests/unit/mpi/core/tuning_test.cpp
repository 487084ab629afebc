#include "mpi/core/statistics.hpp"
#include "mpi/core/tuning.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tributary::mpi::test {
namespace {

TEST(Tuning, GoesThroughTheNetworkBetweenSizesThatAreFasterThere) {
  Tuning tuning;
  tuning.set_measured(Kind::allreduce, {{8, 10, 50}, {1024, 12, 60}, {65536, 400, 300}});
  EXPECT_TRUE(tuning.through_network(Kind::allreduce, 1));
  EXPECT_TRUE(tuning.through_network(Kind::allreduce, 700));
  EXPECT_TRUE(tuning.through_network(Kind::iallreduce, 1024));
  EXPECT_FALSE(tuning.through_network(Kind::allreduce, 1025));
  EXPECT_FALSE(tuning.through_network(Kind::allreduce, std::uint64_t{1} << 40));
  EXPECT_FALSE(tuning.through_network(Kind::bcast, 8)) << "nobody measured it";
}

TEST(Tuning, AGapBetweenFasterSizesIsTheLibrarys) {
  Tuning tuning;
  tuning.set_measured(Kind::bcast, {{8, 20, 10}, {64, 10, 20}, {512, 30, 10}, {4096, 10, 90}});
  EXPECT_FALSE(tuning.through_network(Kind::bcast, 8));
  EXPECT_FALSE(tuning.through_network(Kind::bcast, 63));
  EXPECT_TRUE(tuning.through_network(Kind::bcast, 64));
  EXPECT_FALSE(tuning.through_network(Kind::bcast, 500));
  EXPECT_TRUE(tuning.through_network(Kind::bcast, 4096));
}

TEST(Tuning, ATieIsTheLibrarys) {
  Tuning tuning;
  tuning.set_measured(Kind::barrier, {{8, 95, 100}});
  EXPECT_FALSE(tuning.through_network(Kind::barrier, 0));
  EXPECT_TRUE(tuning.is_empty());
  EXPECT_FALSE(Tuning::parse("barrier").is_empty());
}

TEST(Tuning, IsReadAsItIsWritten) {
  const Tuning tuning = Tuning::parse("allreduce:8-64,allreduce:1000-2000,barrier");
  EXPECT_FALSE(tuning.through_network(Kind::allreduce, 7));
  EXPECT_TRUE(tuning.through_network(Kind::allreduce, 64));
  EXPECT_FALSE(tuning.through_network(Kind::allreduce, 65));
  EXPECT_TRUE(tuning.through_network(Kind::allreduce, 1500));
  EXPECT_TRUE(tuning.through_network(Kind::ibarrier, 0));
  EXPECT_FALSE(tuning.through_network(Kind::reduce, 10));
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
