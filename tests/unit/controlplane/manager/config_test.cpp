// The fabric manager's configuration file.
#include "controlplane/process/config.hpp"
#include "lib/configuration/diagnostic.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

namespace tributary::fabricd {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view text) {
  try {
    static_cast<void>(parse_text(text, "f.toml"));
  } catch (const configuration::ConfigError& e) {
    return e.what();
  }
  return "it was taken";
}

TEST(config, an_empty_file_is_a_manager_for_the_switches_of_this_machine) {
  const Config config = parse_text("", "f.toml");
  EXPECT_THAT(config.rest.listen, testing::ElementsAre("unix:/run/tributary/fabricd.sock"));
  EXPECT_EQ(config.groups.payload, 1408U) << "so that groups reduce all types";
}

TEST(config, the_printed_default_parses_and_says_the_same_as_an_empty_file) {
  const Config printed = parse_text(default_toml(), "default.toml");
  const Config empty = parse_text("", "f.toml");
  EXPECT_EQ(printed.rest.listen, empty.rest.listen);
  EXPECT_EQ(printed.switches.listen, empty.switches.listen);
  EXPECT_EQ(printed.switches.keepalive, empty.switches.keepalive);
  EXPECT_EQ(printed.store.file, empty.store.file);
  EXPECT_EQ(printed.groups.lease, empty.groups.lease);
  EXPECT_EQ(printed.groups.payload, empty.groups.payload);
  EXPECT_EQ(printed.groups.first_vni, empty.groups.first_vni);
  EXPECT_EQ(printed.multicast.seed, empty.multicast.seed);
}

TEST(config, of_what_changed_the_live_keys_are_taken_over_and_the_others_named) {
  Config running = parse_text("[groups]\nlease_ms = 5000\nfirst_vni = 10\n", "f.toml");
  const Config wanted = parse_text("[manager]\nlog_level = \"debug\"\nopen_job = \"open\"\n"
                                   "[groups]\nlease_ms = 7000\nmulticast_limit = 2\n"
                                   "max_size = 9\nfirst_vni = 20\n",
                                   "f.toml");
  EXPECT_THAT(take_over(running, wanted),
              testing::UnorderedElementsAre(HasSubstr("manager: open_job"),
                                            HasSubstr("groups: first_vni, 10 -> 20")));
  EXPECT_EQ(running.manager.log_level, "debug");
  EXPECT_EQ(running.manager.open_job, "");
  EXPECT_EQ(running.groups.lease, std::chrono::milliseconds(7000));
  EXPECT_EQ(running.groups.multicast_limit, 2U);
  EXPECT_EQ(running.groups.max_size, 9U);
  EXPECT_EQ(running.groups.first_vni, 10U);
  // The next configuration is compared with the adopted one.
  EXPECT_THAT(take_over(running, parse_text("[groups]\nfirst_vni = 10\n", "f.toml")),
              testing::IsEmpty());
  EXPECT_EQ(running.groups.lease, std::chrono::milliseconds(30'000));
}

TEST(config, tokens_that_cross_a_network_readably_are_warned_of) {
  const auto warned = [](std::string listen, std::string more = "") {
    return warnings(parse_text("[rest]\nlisten = [\"" + listen + "\"]\n" + more, "f.toml"));
  };
  EXPECT_THAT(warned("0.0.0.0:7580"), testing::ElementsAre(HasSubstr("rest.listen 0.0.0.0:7580")));
  EXPECT_THAT(warned("[::]:7580"), testing::SizeIs(1));
  EXPECT_THAT(warned("manager.example:7580"), testing::SizeIs(1));
  for (const char* local : {"127.0.0.1:7580", "[::1]:7580", "localhost:1", "unix:/run/x.sock"}) {
    EXPECT_THAT(warned(local), testing::IsEmpty()) << local;
  }
  EXPECT_THAT(warned("0.0.0.0:7580", "tls_certificate = \"c\"\ntls_key = \"k\"\n"),
              testing::IsEmpty());
}

TEST(config, dscps_to_spray_are_those_of_sprayed_rdma_unless_the_file_says_otherwise) {
  EXPECT_THAT(parse_text("", "f.toml").routes.sprayed_dscps, testing::ElementsAre(10));
  EXPECT_THAT(parse_text("[routes]\nsprayed_dscps = [12, 63]\n", "f.toml").routes.sprayed_dscps,
              testing::ElementsAre(12, 63));
  EXPECT_THAT(parse_text("[routes]\nsprayed_dscps = []\n", "f.toml").routes.sprayed_dscps,
              testing::IsEmpty());
  EXPECT_THAT(error_of("[routes]\nsprayed_dscps = [64]\n"), HasSubstr("0 to 63"));
}

TEST(config, a_payload_that_no_frame_carries_is_refused) {
  EXPECT_EQ(parse_text("[groups]\npayload = 9152\n", "f.toml").groups.payload, 9152U);
  EXPECT_THAT(error_of("[groups]\npayload = 9216\n"),
              HasSubstr("9216 is out of range; give 32 to 9152"));
}

TEST(config, an_etcd_that_managers_share_needs_names_of_managers_and_what_goes_together) {
  const std::string name = "[manager]\nname = \"a\"\n[store]\netcd = [\"https://e:2379\"]\n";
  const Config config = parse_text(name, "f.toml");
  ASSERT_EQ(config.store.endpoints.size(), 1U);
  EXPECT_TRUE(config.store.endpoints[0].tls);
  EXPECT_EQ(config.store.lease, std::chrono::milliseconds(3000));
  EXPECT_TRUE(parse_text("", "f.toml").store.etcd.empty());
  EXPECT_THAT(error_of("[store]\netcd = [\"https://e\"]\n"), HasSubstr("its own manager.name"));
  EXPECT_THAT(error_of("[store]\netcd = [\"e:2379\"]\n"),
              HasSubstr("f.toml:2: key 'store.etcd': \"e:2379\" is not an endpoint of etcd"));
  EXPECT_THAT(error_of(name + "lease_ms = 2500\n"), HasSubstr("full seconds; give 3000"));
  EXPECT_THAT(error_of(name + "lease_ms = 1000\n"), HasSubstr("2000 to 60000"));
  EXPECT_THAT(error_of(name + "etcd_prefix = \"fabric/\"\n"), HasSubstr("not a prefix"));
  EXPECT_THAT(error_of(name + "etcd_key = \"k\"\n"), HasSubstr("go together"));
  EXPECT_THAT(error_of(name + "etcd_user = \"u\"\n"), HasSubstr("go together"));
  EXPECT_THAT(error_of(name + "peer = \"a.example\"\n"), HasSubstr("'store.peer'"));
  EXPECT_EQ(parse_text(name + "peer = \"a:7582\"\n", "f.toml").store.peer_place,
            (net::HostPort{"a", 7582}));
  EXPECT_THAT(warnings(config), testing::ElementsAre(HasSubstr("rest.advertise is missing"),
                                                     HasSubstr("store.peer is missing")));
  EXPECT_THAT(warnings(parse_text("[manager]\nname = \"a\"\n[rest]\nadvertise = [\"https://a\"]\n"
                                  "[store]\netcd = [\"http://e\", \"http://127.0.0.1\"]\n"
                                  "peer = \"a:7582\"\n",
                                  "f.toml")),
              testing::ElementsAre(HasSubstr("store.etcd http://e:2379")));
}

TEST(config, mistakes_are_named_with_line_and_key) {
  EXPECT_THAT(error_of("[groups]\nlease = 3\n"), HasSubstr("f.toml:2: key 'groups.lease'"));
  EXPECT_THAT(error_of("[groups]\nfirst_vni = 9\nlast_vni = 8\n"), HasSubstr("below first_vni"));
  EXPECT_THAT(error_of("[rest]\ntls_key = \"k\"\n"), HasSubstr("go together"));
  EXPECT_THAT(error_of("[rest]\ntls_ca = \"c\"\n"), HasSubstr("by TLS alone"));
  EXPECT_THAT(error_of("[switches]\nlisten = [\"0.0.0.0:7581\"]\n"), HasSubstr("TCP address"));
  EXPECT_THAT(error_of("[fabric]\n"), HasSubstr("unknown section"));
  EXPECT_THAT(error_of("[routes]\nalgorithm = \"fastest\"\n"), HasSubstr("not known"));
  EXPECT_THAT(error_of("[rest]\nlisten = [\"fabricd\"]\n"),
              HasSubstr("f.toml:2: key 'rest.listen': \"fabricd\" is not an address: the port is"));
  EXPECT_THAT(error_of("\n[switches]\nlisten = [\"unix:/x\", \"::1:7581\"]\n"),
              HasSubstr("f.toml:3: key 'switches.listen': \"::1:7581\" is not an address"));
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
