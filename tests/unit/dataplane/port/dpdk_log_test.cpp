// Which of DPDK's messages reach our log, and at which level.
#include "dataplane/port/dpdk_log.hpp"
#include "dataplane/port/port_device.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/dataplane/port/shared_eal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

#include <rte_log.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

namespace tributary::port::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Captures our log, "LEVEL: TEXT" in each line, during its lifetime.
class OurLog {
public:
  OurLog() : before_(spdlog::default_logger()) {
    shared_eal(); // DPDK's log goes to ours
    auto logger = std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_pattern("%l: %v");
    logger->set_level(spdlog::level::debug);
    spdlog::set_default_logger(logger);
  }
  ~OurLog() { spdlog::set_default_logger(before_); }
  OurLog(const OurLog&) = delete;
  OurLog& operator=(const OurLog&) = delete;

  [[nodiscard]] std::string text() const { return text_.str(); }

private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

void say(const char* line) { rte_log(RTE_LOG_WARNING, RTE_LOGTYPE_EAL, "%s", line); }

TEST(DpdkLog, holds_the_lines_with_these_words_and_logs_them_at_debug_level) {
  const OurLog log;
  {
    const HeldDpdk held("EAL: ");
    say("EAL: no pages of 1 GiB\n");
    say("ice: the firmware is old\n");
    EXPECT_EQ(log.text(), "warning: dpdk: ice: the firmware is old\n");
  }
  EXPECT_THAT(log.text(), HasSubstr("debug: dpdk: EAL: no pages of 1 GiB\n"));
}

TEST(DpdkLog, logs_them_at_their_own_level_after_a_failure) {
  const OurLog log;
  {
    HeldDpdk held("EAL: ");
    say("EAL: no pages at all\n");
    EXPECT_EQ(log.text(), "");
    held.log();
  }
  EXPECT_EQ(log.text(), "warning: dpdk: EAL: no pages at all\n") << "once";
}

TEST(DpdkLog, has_no_warning_when_a_memif_opens_as_it_should) {
  const OurLog log;
  const tributary::test::ScratchDirectory scratch;
  config::Port server;
  server.name = "server";
  server.kind = config::PortKind::memif;
  server.role = "server";
  server.socket = scratch.file("memif.sock");
  const PortDevice port(server, shared_eal());
  EXPECT_THAT(log.text(), Not(HasSubstr("warning: ")));
  EXPECT_THAT(log.text(), Not(HasSubstr("error: ")));
}

} // namespace
} // namespace tributary::port::test
