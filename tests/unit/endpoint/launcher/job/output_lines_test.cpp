#include "endpoint/launcher/job/output_lines.hpp"

#include <gtest/gtest.h>

namespace tributary::launch::job {
namespace {

TEST(OutputLines, MarksEveryLineHoweverItIsCut) {
  OutputLines lines(3, false);
  EXPECT_EQ(lines.add("one\ntw"), "[rank 3] one\n");
  EXPECT_EQ(lines.add("o"), "");
  EXPECT_EQ(lines.add("\n\nthree"), "[rank 3] two\n[rank 3] \n");
  EXPECT_EQ(lines.end(), "[rank 3] three\n");
  EXPECT_EQ(lines.end(), "");
}

TEST(OutputLines, TellErrorsApart) {
  OutputLines lines(0, true);
  EXPECT_EQ(lines.add("x\n"), "[rank 0!] x\n");
}

TEST(OutputLines, KeepNoMoreThanALongLine) {
  OutputLines lines(1, false);
  const std::string out = lines.add(std::string(OutputLines::longest_line + 1, 'x'));
  EXPECT_GT(out.size(), OutputLines::longest_line);
  EXPECT_EQ(lines.end(), "");
}

} // namespace
} // namespace tributary::launch::job
