// The host agent's configuration file.

#include "endpoint/hostd/config.hpp"

#include "lib/configuration/findings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace tributary::hostd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string least = "[agent]\ninterface = \"eth1\"\n";

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(registry_settings(parse_text(text, "f.toml")));
  } catch (const configuration::ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(HostAgentConfig, DefaultsAreThoseOfThePage) {
  const Config config = parse_text(least, "f.toml");
  EXPECT_EQ(config.agent.interface, "eth1");
  EXPECT_EQ(config.agent.ethertype, 0x88B5);
  EXPECT_EQ(config.agent.socket, "/run/tributary/host.sock");
  EXPECT_FALSE(config.agent.nid);
  EXPECT_THAT(config.services, IsEmpty());
  const host_agent::Settings settings = registry_settings(config);
  EXPECT_FALSE(settings.administrators);
  EXPECT_EQ(settings.limits.sockets_per_user, 1024U);
  EXPECT_EQ(settings.mark_prefix, 0x54);
}

TEST(HostAgentConfig, ServicesNameUsersAndGroups) {
  const Config config = parse_text(least + "administrators = \"77\"\n[[service]]\nname = \"a\"\n"
                                           "vnis = [5, 6]\nusers = [\"root\", \"1000\"]\n"
                                           "[[service]]\nname = \"b\"\nvnis = [7, 7]\n",
                                   "f.toml");
  const host_agent::Settings settings = registry_settings(config);
  EXPECT_EQ(settings.administrators, 77U);
  ASSERT_EQ(settings.services.size(), 2U);
  EXPECT_THAT(settings.services[0].users, ElementsAre(0, 1000));
  EXPECT_EQ(settings.services[0].first, Vni{5});
  EXPECT_EQ(settings.services[1].last, Vni{7});
}

TEST(HostAgentConfig, ErrorsNameLineAndKey) {
  EXPECT_THAT(error_of(""), HasSubstr("interface"));
  EXPECT_THAT(error_of(least + "nid = 0xFF801\n"), HasSubstr("cannot stand in a frame"));
  EXPECT_THAT(error_of(least + "ethertype = 4\n"), HasSubstr("f.toml:3"));
  EXPECT_THAT(error_of(least + "administrators = \"nosuchgroup\"\n"),
              HasSubstr("no group \"nosuchgroup\""));
  EXPECT_THAT(error_of(least + "[[service]]\nname = \"a\"\nvnis = [6, 5]\n"),
              HasSubstr("below the first"));
  EXPECT_THAT(error_of(least + "[[service]]\nname = \"a\"\n"), HasSubstr("vnis"));
  EXPECT_THAT(
      error_of(least + "[[service]]\nname = \"a\"\nvnis = [5, 6]\nusers = [\"nosuchuser\"]\n"),
      HasSubstr("no user \"nosuchuser\""));
  EXPECT_THAT(error_of(least + "[jobs]\n"), HasSubstr("unknown section"));
}

TEST(HostAgentConfig, SighupChangesWhatIsLiveAndNamesTheRest) {
  Config running = parse_text(least, "f.toml");
  const Config wanted = parse_text("[agent]\ninterface = \"eth2\"\n[limits]\nsockets_per_user = 3\n"
                                   "[[service]]\nname = \"a\"\nvnis = [5, 6]\n",
                                   "f.toml");
  const auto left_alone = take_over(running, wanted);
  ASSERT_EQ(left_alone.size(), 1U);
  EXPECT_THAT(left_alone[0], HasSubstr("interface"));
  EXPECT_EQ(running.agent.interface, "eth1");
  EXPECT_EQ(running.limits.sockets_per_user, 3U);
  EXPECT_EQ(running.services.size(), 1U);
}

TEST(HostAgentConfig, ThePrintedFileParses) {
  const Config config = parse_text(default_toml(), "default.toml");
  EXPECT_EQ(config.agent.interface, "eth1");
}

TEST(HostAgentConfig, ThePageHasTheTablesOfKeysAsTheSchemaHasThem) {
  std::ifstream in(std::string(TRIBUTARY_SOURCE_ROOT) + "/docs/operate/host-agent.md");
  ASSERT_TRUE(in.is_open());
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(keys_markdown()))
      << "docs/operate/host-agent.md is behind the schema; put in there what "
         "`tributary-hostd --print-keys` writes";
}

} // namespace
} // namespace tributary::hostd
