// The fabric manager's configuration file.
#include "configuration/diagnostic.hpp"
#include "controlplane/process/config.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

namespace tributary::fabricd {
namespace {

using testing::HasSubstr;

std::string refusal_of(std::string_view text) {
  try {
    static_cast<void>(parse_text(text, "f.toml"));
  } catch (const config::ConfigError& e) {
    return e.what();
  }
  return "it was taken";
}

TEST(config, an_empty_file_is_a_manager_for_the_switches_of_this_machine) {
  const Config config = parse_text("", "f.toml");
  EXPECT_THAT(config.rest.listen, testing::ElementsAre("unix:/run/tributary/fabricd.sock"));
  EXPECT_EQ(config.multicast.algorithm, "prism");
}

TEST(config, the_printed_default_parses_and_says_the_same_as_an_empty_file) {
  const Config printed = parse_text(default_toml(), "default.toml");
  const Config empty = parse_text("", "f.toml");
  EXPECT_EQ(printed.rest.listen, empty.rest.listen);
  EXPECT_EQ(printed.switches.listen, empty.switches.listen);
  EXPECT_EQ(printed.switches.keepalive, empty.switches.keepalive);
  EXPECT_EQ(printed.store.file, empty.store.file);
  EXPECT_EQ(printed.groups.lease, empty.groups.lease);
  EXPECT_EQ(printed.groups.first_vni, empty.groups.first_vni);
  EXPECT_EQ(printed.multicast.seed, empty.multicast.seed);
}

TEST(config, mistakes_are_named_with_line_and_key) {
  EXPECT_THAT(refusal_of("[groups]\nlease = 3\n"), HasSubstr("f.toml:2: key 'groups.lease'"));
  EXPECT_THAT(refusal_of("[multicast]\nalgorithm = \"fastest\"\n"), HasSubstr("not known"));
  EXPECT_THAT(refusal_of("[groups]\nfirst_vni = 9\nlast_vni = 8\n"), HasSubstr("below first_vni"));
  EXPECT_THAT(refusal_of("[rest]\ntls_key = \"k\"\n"), HasSubstr("go together"));
  EXPECT_THAT(refusal_of("[switches]\nlisten = [\"0.0.0.0:7581\"]\n"), HasSubstr("TCP address"));
  EXPECT_THAT(refusal_of("[fabric]\n"), HasSubstr("unknown section"));
}

TEST(guide, holds_the_tables_of_keys_as_the_schema_has_them) {
  std::ifstream in(std::string(TRIBUTARY_SOURCE_ROOT) + "/docs/operate/fabric-manager.md");
  ASSERT_TRUE(in.is_open());
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(keys_markdown()))
      << "docs/operate/fabric-manager.md is behind the schema; put in there what "
         "`tributary-fabricd --print-keys` writes";
}

} // namespace
} // namespace tributary::fabricd
