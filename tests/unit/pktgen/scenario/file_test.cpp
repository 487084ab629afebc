// Scenario files: their settings, refusals and messages, and that a printed one reads back.
#include "pktgen/scenario/file.hpp"

#include "lib/configuration/file.hpp"
#include "pktgen/scenario/reduce_frames.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tributary::pktgen::scenario {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

ReadScenario read(const std::string& text) {
  return read_scenario(configuration::parse_toml(text, "test.toml"), "test", "test.toml");
}
std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const configuration::ConfigError& error) {
    return error.what();
  }
  return {};
}

constexpr const char* in_process = "[in_process]\n";

TEST(ScenarioFile, DefaultsStandWhereTheFileIsSilent) {
  const Scenario scenario = read("[[traffic]]\n[in_process]\n").scenario;
  EXPECT_EQ(scenario.traffic.kind, Kind::reduce);
  EXPECT_EQ(scenario.traffic.reduce.leaves, 16U);
  EXPECT_EQ(resolved(scenario.traffic.reduce).in_flight, 8U);
  EXPECT_THAT(scenario.traffic.reduce.operators, ElementsAre("sum-int64"));
  EXPECT_TRUE(scenario.traffic.reduce.armed);
  EXPECT_EQ(scenario.phases.duration, std::chrono::seconds(5));
  ASSERT_TRUE(scenario.hosted);
  EXPECT_EQ(scenario.hosted->ports, 2U);
}

TEST(ScenarioFile, EveryKindOfValueArrives) {
  const Scenario scenario = read(R"(
[run]
duration = "1.5s"
repeats = 3
calibrate = false
seed = 7
[generator]
cores = [2]
first_nid = 0x100
switch_socket = "/run/s.sock"
[[port]]
interface = "veth0"
[[port]]
kind = "af_xdp"
interface = "veth1"
[[port]]
kind = "memif"
socket = "/run/m.sock"
memif_id = 4
[search]
search = true
search_loss = "0.1%"
[[traffic]]
kind = "reduce"
leaves = 1000
operations_per_second = 1e5
operators = ["sum-double", "repsum"]
skew = "exponential"
skew_by = "250us"
wrong_cookie = 0.25
role = "leaves"
)")
                                .scenario;
  EXPECT_EQ(scenario.phases.duration, std::chrono::milliseconds(1500));
  EXPECT_EQ(scenario.phases.repeats, 3U);
  EXPECT_FALSE(scenario.phases.calibrate);
  EXPECT_EQ(scenario.seed, 7U);
  EXPECT_THAT(scenario.cores, ElementsAre(2U));
  EXPECT_EQ(scenario.first_nid, 0x100U);
  ASSERT_EQ(scenario.ports.size(), 3U);
  EXPECT_TRUE(scenario.ports[0].raw);
  EXPECT_EQ(scenario.ports[0].device.interface, "veth0");
  EXPECT_FALSE(scenario.ports[1].raw);
  EXPECT_EQ(scenario.ports[1].device.kind, config::PortKind::af_xdp);
  EXPECT_EQ(scenario.ports[2].device.kind, config::PortKind::memif);
  EXPECT_EQ(scenario.ports[2].device.role, "client");
  EXPECT_EQ(scenario.ports[2].device.memif_id, 4U);
  EXPECT_TRUE(scenario.search.wanted);
  const Reduce& reduce = scenario.traffic.reduce;
  EXPECT_EQ(reduce.leaves, 1000U);
  EXPECT_EQ(reduce.rate, 1e5);
  EXPECT_THAT(reduce.operators, ElementsAre("sum-double", "repsum"));
  EXPECT_EQ(reduce.skew, Skew::exponential);
  EXPECT_EQ(reduce.skew_by, std::chrono::microseconds(250));
  EXPECT_EQ(reduce.tampering.wrong_cookie, 0.25);
  EXPECT_EQ(reduce.role, Role::leaves);
}

TEST(ScenarioFile, SeveralTrafficsAreMixed) {
  const Scenario scenario = read(std::string(in_process) + R"(
[[traffic]]
kind = "reduce"
share = 3
[[traffic]]
kind = "unicast"
pattern = "hotspot"
sizes = [64, 0]
)")
                                .scenario;
  EXPECT_EQ(scenario.traffic.kind, Kind::mixed);
  ASSERT_EQ(scenario.parts.size(), 2U);
  EXPECT_EQ(scenario.parts[0].share, 3);
  EXPECT_EQ(scenario.parts[1].kind, Kind::unicast);
  EXPECT_EQ(scenario.parts[1].stream.pattern, Pattern::hotspot);
  EXPECT_THAT(scenario.parts[1].stream.sizes, ElementsAre(64U, 0U));
}

TEST(ScenarioFile, AllThatIsWrongIsSaidAtOnceWithItsLine) {
  const std::string said = refusal(R"([run]
duration = "5 parsecs"
[in_process]
ports = 1
[[traffic]]
kind = "reduce"
leafs = 4
pattern = "fixed"
)");
  EXPECT_THAT(said,
              AllOf(HasSubstr("test.toml:2: key 'run.duration': \"5 parsecs\" is not a duration"),
                    HasSubstr("test.toml:4: key 'in_process.ports': 1 is out of range"),
                    HasSubstr("test.toml:7: key 'traffic.leafs': unknown key; did you mean "
                              "'leaves'?"),
                    HasSubstr("test.toml:8: key 'traffic.pattern': has no effect for a traffic of "
                              "kind \"reduce\"")));
}

TEST(ScenarioFile, WhatDoesNotFitTogetherIsRefused) {
  EXPECT_THAT(refusal("[[traffic]]\n"), HasSubstr("no port is given"));
  EXPECT_THAT(refusal(in_process), HasSubstr("nothing is to be sent"));
  EXPECT_THAT(refusal("[[traffic]]\n[in_process]\n[[port]]\ninterface = \"a\"\n"),
              HasSubstr("has its ports from rings"));
  EXPECT_THAT(refusal("[[traffic]]\nkind = \"unicast\"\nbits_per_second = 1e6\n"
                      "packets_per_second = 5\n[in_process]\n"),
              HasSubstr("keep one of the two"));
  EXPECT_THAT(refusal("[[traffic]]\nkind = \"unicast\"\nsizes = [63]\n[in_process]\n"),
              HasSubstr("63 bytes is not the size of an Ethernet frame"));
  EXPECT_THAT(refusal("[[traffic]]\nrole = \"root\"\n[in_process]\n"),
              HasSubstr("give both the same seed"));
  EXPECT_THAT(refusal("[[traffic]]\nkind = \"replay\"\n[in_process]\n"),
              HasSubstr("'traffic.file': missing"));
}

TEST(ScenarioFile, TransfersHaveTheirKeys) {
  const Scenario scenario = read(R"(
[in_process]
[[traffic]]
kind = "rdma"
pattern = "hotspot"
nodes = 5
hot_share = 0.25
in_flight = 3
transfer_sizes = [0, 4000000000]
read_share = 0.1
window = 256
credit = 0
mtu = 9000
spraying = true
vni = 9
)")
                                .scenario;
  const Rdma& rdma = scenario.traffic.rdma;
  EXPECT_EQ(scenario.traffic.kind, Kind::rdma);
  EXPECT_EQ(rdma.pattern, Pattern::hotspot);
  EXPECT_EQ(rdma.nodes, 5U);
  EXPECT_EQ(rdma.hot_share, 0.25);
  EXPECT_EQ(rdma.in_flight, 3U);
  EXPECT_THAT(rdma.sizes, ElementsAre(0U, 4'000'000'000U));
  EXPECT_EQ(rdma.read_share, 0.1);
  EXPECT_EQ(rdma.window, 256U);
  EXPECT_EQ(rdma.credit, 0U);
  EXPECT_EQ(rdma.mtu, 9000U);
  EXPECT_TRUE(rdma.spraying);
  EXPECT_EQ(rdma.vni, 9U);
  EXPECT_FALSE(is_shared(scenario));
}

TEST(ScenarioFile, WhatCannotBeOfTransfersIsRefused) {
  const std::string rdma = "[in_process]\n[run]\nseed = 1\n[[traffic]]\nkind = \"rdma\"\n";
  EXPECT_THAT(refusal(rdma + "window = 200\n"),
              AllOf(HasSubstr("test.toml:6"), HasSubstr("a window of 200")));
  EXPECT_THAT(refusal(rdma + "serve = true\nto = 5\n"), HasSubstr("test.toml:7"));
  EXPECT_THAT(refusal(rdma + "sizes = [64]\n"), HasSubstr("sizes"));
  EXPECT_THAT(refusal("[in_process]\n[[traffic]]\nkind = \"rdma\"\nto = 5\n"),
              HasSubstr("run.seed"));
}

TEST(ScenarioFile, VectorsHaveTheirKeys) {
  const Reduce reduce = read(R"(
[in_process]
[[traffic]]
type = "bfloat16"
operator = "max_nan"
elements = 100000000
payload = 1024
slots = 32
in_flight = 20
)")
                            .scenario.traffic.reduce;
  EXPECT_EQ(reduce.type, "bfloat16");
  EXPECT_EQ(reduce.operation, "max_nan");
  EXPECT_EQ(reduce.elements, 100'000'000U);
  EXPECT_EQ(reduce.payload, 1024U);
  EXPECT_EQ(reduce.slots, 32U);
  EXPECT_EQ(reduce.in_flight, 20U);
}

TEST(ScenarioFile, WhatCannotBeOfVectorsIsRefusedWithWhatCan) {
  const std::string reduce = "[in_process]\n[[traffic]]\n";
  EXPECT_THAT(refusal(reduce + "type = \"float46\"\n"),
              AllOf(HasSubstr("test.toml:3"), HasSubstr("float16")));
  EXPECT_THAT(refusal(reduce + "type = \"int8\"\noperators = [\"repsum\"]\n"),
              AllOf(HasSubstr("test.toml:3"), HasSubstr("remove one of the two")));
  EXPECT_THAT(refusal(reduce + "operator = \"max\"\n"),
              AllOf(HasSubstr("test.toml:3"), HasSubstr("give type, too")));
  EXPECT_THAT(refusal(reduce + "type = \"int8\"\npayload = 100\n"),
              AllOf(HasSubstr("test.toml:4"), HasSubstr("multiple of 64, e.g. 64")));
  EXPECT_THAT(refusal(reduce + "type = \"int8\"\npayload = 9216\n"), HasSubstr("out of range"));
  EXPECT_THAT(refusal(reduce + "type = \"int8\"\nslots = 24\n"),
              AllOf(HasSubstr("test.toml:4"), HasSubstr("8, 16, 32, 64 or 128")));
  EXPECT_THAT(refusal(reduce + "slots = 16\n"), HasSubstr("need wide frames"));
  EXPECT_THAT(refusal(reduce + "in_flight = 9\n"),
              AllOf(HasSubstr("9 operations"), HasSubstr("8 slots")));
}

TEST(ReduceFrames, OpenSettingsFollowFromTheVectorsAndTheLeaves) {
  Reduce reduce;
  EXPECT_EQ(resolved(reduce).payload, 32U);
  EXPECT_EQ(resolved(reduce).slots, 8U);
  EXPECT_EQ(resolved(reduce).in_flight, 8U);
  EXPECT_EQ(resolved(reduce).retry, std::chrono::milliseconds(32));
  EXPECT_EQ(longest_frame_of(resolved(reduce)), 94U);
  reduce.type = "float32";
  EXPECT_EQ(resolved(reduce).payload, 1408U);
  EXPECT_EQ(resolved(reduce).slots, 128U);
  EXPECT_EQ(resolved(reduce).in_flight, 128U) << "four elements are one frame";
  EXPECT_EQ(longest_frame_of(resolved(reduce)), 1470U);
  reduce.elements = 1'000'000;
  EXPECT_EQ(resolved(reduce).in_flight, 2U);
  reduce.elements = 1000; // three frames
  EXPECT_EQ(resolved(reduce).in_flight, 44U);
  EXPECT_EQ(resolved(reduce).retry, std::chrono::milliseconds(500));
  reduce.leaves = 64;
  EXPECT_EQ(resolved(reduce).slots, 32U);
  reduce.trees = 2;
  EXPECT_EQ(resolved(reduce).slots, 16U);
  reduce.trees = 1;
  reduce.leaves = 1000;
  EXPECT_EQ(resolved(reduce).slots, 8U);
  EXPECT_EQ(resolved(reduce).retry, std::chrono::milliseconds(500));
  reduce.leaves = 100'000;
  EXPECT_EQ(resolved(reduce).retry, std::chrono::seconds(5));
  reduce.leaves = 1000;
  EXPECT_FALSE(adds_half_floats(resolved(reduce)));
  reduce.type = "bfloat16";
  EXPECT_TRUE(adds_half_floats(resolved(reduce)));
  reduce.payload = 32;
  EXPECT_FALSE(adds_half_floats(resolved(reduce)));
}

TEST(ScenarioFile, NoTwoPortsDriveTheSameThing) {
  const std::string traffic = "[[traffic]]\n";
  EXPECT_THAT(refusal(traffic + "[[port]]\ninterface = \"veth0\"\n"
                                "[[port]]\nkind = \"af_xdp\"\ninterface = \"veth0\"\n"),
              HasSubstr("test.toml:4: key 'port': the interface veth0 is that of port 1 already"));
  EXPECT_THAT(refusal(traffic + "[[port]]\nkind = \"pci\"\npci_address = \"01:00.0\"\n"
                                "[[port]]\nkind = \"pci\"\npci_address = \"0000:1:0.0\"\n"),
              HasSubstr("the NIC 0000:01:00.0 is that of port 1 already"));
  const std::string memif = "[[port]]\nkind = \"memif\"\nsocket = \"/run/m\"\n";
  EXPECT_THAT(refusal(traffic + memif + memif),
              HasSubstr("the memif /run/m 0 as client is that of port 1 already"));
  EXPECT_EQ(refusal(traffic + memif + memif + "role = \"server\"\n"), "") << "its other end";
  EXPECT_EQ(refusal(traffic + "[[port]]\nkind = \"null\"\n[[port]]\nkind = \"null\"\n"), "");
}

TEST(ScenarioFile, WhatIsPrintedReadsBackTheSame) {
  const auto first = read(R"(
[run]
duration = "1500ms"
[[port]]
interface = "veth0"
[[port]]
interface = "veth1"
[[traffic]]
kind = "reduce"
skew_by = "1us"
[[traffic]]
kind = "reduce"
first_tree = 7
type = "float16"
[[traffic]]
kind = "unicast"
sizes = [64, 1518]
)")
                         .settings;
  const auto second = read(scenario_text(first)).settings;
  EXPECT_EQ(first, second);
  EXPECT_THAT(scenario_text(first), HasSubstr("duration = \"1500ms\""));
}

TEST(ScenarioFile, OptionsBecomeValuesOfTheKeysType) {
  toml::table table;
  const auto put = [&](std::string_view name, const std::string& text) {
    const auto& keys = section_spec(Section::traffic).keys;
    return put_option(table, *std::ranges::find(keys, name, &configuration::KeySpec::name), text);
  };
  EXPECT_TRUE(put("leaves", "10k"));
  EXPECT_TRUE(put("cookie", "0xFF"));
  EXPECT_TRUE(put("operations_per_second", "1.5M"));
  EXPECT_TRUE(put("operators", "sum-int64,repsum"));
  EXPECT_TRUE(put("sizes", "64,9000"));
  EXPECT_TRUE(put("skew", "none"));
  EXPECT_TRUE(put("late", "25%"));
  EXPECT_FALSE(put("late", "125%"));
  EXPECT_FALSE(put("trees", "many"));
  EXPECT_EQ(table["leaves"].value<int>(), 10'000);
  EXPECT_EQ(table["cookie"].value<int>(), 255);
  EXPECT_EQ(table["operations_per_second"].value<double>(), 1.5e6);
  EXPECT_EQ(table["late"].value<double>(), 0.25);
  EXPECT_EQ(table["operators"][1].value<std::string>(), "repsum");
  EXPECT_EQ(table["sizes"][1].value<int>(), 9000);
  EXPECT_FALSE(table.contains("trees"));
}

} // namespace
} // namespace tributary::pktgen::scenario
