// What a log line looks like, on a terminal and for the journal.
#include "lib/service/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include <spdlog/spdlog.h>

namespace tributary::service {
namespace {

using testing::MatchesRegex;

class Log : public testing::Test {
protected:
  void TearDown() override { ::unsetenv("JOURNAL_STREAM"); }

  template <typename Write> static std::string written(Write write) {
    testing::internal::CaptureStderr();
    start_logging("program");
    write();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(Log, a_line_has_its_time_with_the_zone) {
  EXPECT_THAT(written([] { spdlog::info("ready"); }),
              MatchesRegex("[0-9-]+ [0-9:]+[.][0-9]+[+-][0-9]+:[0-9]+ info: ready\n"));
}

TEST_F(Log, the_journal_gets_priorities) {
  ::setenv("JOURNAL_STREAM", "8:1", 1);
  EXPECT_EQ(written([] {
              spdlog::info("ready");
              spdlog::warn("slow");
              spdlog::error("lost");
              spdlog::critical("ended");
            }),
            "<6>info: ready\n<4>warning: slow\n<3>error: lost\n<2>critical: ended\n");
}

TEST_F(Log, a_hundred_flaps_do_not_fill_it) {
  const std::string text = written([] {
    for (int i = 0; i < 100; ++i) {
      spdlog::info("link {} is down", 7);
      spdlog::info("link {} is up", 7);
    }
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
}

} // namespace
} // namespace tributary::service
