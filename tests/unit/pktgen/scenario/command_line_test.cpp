// The command line: options over files, every key an option, and the user guide's table.
#include "pktgen/command_line.hpp"

#include "tests/support/scratch_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace tributary::pktgen::scenario {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Said {
  std::optional<Invocation> invocation;
  int code = -1;
  std::string out;
  std::string error;
};

Said say(std::vector<std::string> words) {
  words.insert(words.begin(), "tributary-pktgen");
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  Said said;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  said.invocation = read_command_line(static_cast<int>(argv.size()), argv.data(), said.code);
  std::fflush(nullptr);
  said.out = testing::internal::GetCapturedStdout();
  said.error = testing::internal::GetCapturedStderr();
  return said;
}

class CommandLine : public testing::Test {
protected:
  std::string file(const std::string& text) {
    std::ofstream(scratch_.file("scenario_of_a_test.toml")) << text;
    return scratch_.file("scenario_of_a_test.toml");
  }

private:
  tributary::test::ScratchDirectory scratch_;
};

TEST_F(CommandLine, OptionsMakeAScenario) {
  const Said said = say(
      {"reduce", "--leaves", "10000", "--in-process", "--duration", "5s", "--no-armed", "--json"});
  ASSERT_TRUE(said.invocation) << said.error;
  const Scenario& scenario = said.invocation->read.scenario;
  EXPECT_EQ(scenario.name, "reduce");
  EXPECT_EQ(scenario.traffic.reduce.leaves, 10'000U);
  EXPECT_FALSE(scenario.traffic.reduce.armed);
  EXPECT_TRUE(scenario.hosted);
  EXPECT_TRUE(scenario.output.json);
  EXPECT_EQ(scenario.output.report, "-");
}

TEST_F(CommandLine, InterfacesAndPortsBecomePorts) {
  const Said said = say({"unicast", "--interface", "veth0,veth1", "--transport", "af_packet",
                         "--device", "pci:0000:03:00.0"});
  ASSERT_TRUE(said.invocation) << said.error;
  const auto& ports = said.invocation->read.scenario.ports;
  ASSERT_EQ(ports.size(), 3U);
  EXPECT_EQ(ports[1].device.interface, "veth1");
  EXPECT_EQ(ports[1].device.kind, config::PortKind::af_packet);
  EXPECT_EQ(ports[2].device.pci_address, "0000:03:00.0");
}

TEST_F(CommandLine, QueuesAreForAllPortsOrOneNumberForEach) {
  const auto queues = [](const Said& said) {
    std::vector<std::uint16_t> all;
    for (const PortSpec& port : said.invocation->read.scenario.ports) {
      all.push_back(port.queues);
    }
    return all;
  };
  const Said none = say({"unicast", "--interface", "a,b"});
  ASSERT_TRUE(none.invocation) << none.error;
  EXPECT_THAT(queues(none), ElementsAre(1, 1));
  const Said all = say({"unicast", "--interface", "a,b", "--queues", "4"});
  ASSERT_TRUE(all.invocation) << all.error;
  EXPECT_THAT(queues(all), ElementsAre(4, 4));
  const std::string path = file("[[port]]\ninterface = \"a\"\nqueues = 9\n[[port]]\n"
                                "interface = \"b\"\n[[traffic]]\nkind = \"unicast\"\n");
  const Said of_file = say({"run", path});
  ASSERT_TRUE(of_file.invocation) << of_file.error;
  EXPECT_THAT(queues(of_file), ElementsAre(9, 1));
  const Said overridden = say({"run", path, "--queues", "1,2"});
  ASSERT_TRUE(overridden.invocation) << overridden.error;
  EXPECT_THAT(queues(overridden), ElementsAre(1, 2));
}

TEST_F(CommandLine, QueuesThatNoPortCanHaveAreRefused) {
  const Said three = say({"unicast", "--interface", "a,b", "--queues", "1,2,3"});
  EXPECT_EQ(three.code, 2);
  EXPECT_THAT(three.error, HasSubstr("3 queue counts are given for 2 ports"));
  const Said hosted = say({"unicast", "--in-process", "--queues", "2"});
  EXPECT_EQ(hosted.code, 2);
  EXPECT_THAT(hosted.error, HasSubstr("ports of a switch in process have one queue"));
  const Said memif = say({"unicast", "--device", "memif:/run/m.sock", "--queues", "2"});
  EXPECT_EQ(memif.code, 2);
  EXPECT_THAT(memif.error, HasSubstr("queues"));
  const Said too_many = say({"unicast", "--interface", "a,b", "--queues", "65"});
  EXPECT_EQ(too_many.code, 2);
  EXPECT_THAT(too_many.error, HasSubstr("64"));
}

TEST_F(CommandLine, OptionsOverrideTheFile) {
  const std::string path =
      file("[in_process]\nports = 4\n[[traffic]]\nkind = \"reduce\"\nleaves = 5\n"
           "trees = 3\n");
  const Said said = say({"run", path, "--leaves", "9", "--seed", "3"});
  ASSERT_TRUE(said.invocation) << said.error;
  const Scenario& scenario = said.invocation->read.scenario;
  EXPECT_EQ(scenario.name, "scenario_of_a_test");
  EXPECT_EQ(scenario.traffic.reduce.leaves, 9U);
  EXPECT_EQ(scenario.traffic.reduce.trees, 3U);
  EXPECT_EQ(scenario.hosted->ports, 4U);
  EXPECT_EQ(scenario.seed, 3U);
}

TEST_F(CommandLine, TrafficOptionsDoNotFitAMixedFile) {
  const std::string path = file("[in_process]\n[[traffic]]\n[[traffic]]\nkind = \"unicast\"\n");
  const Said said = say({"run", path, "--leaves", "9"});
  EXPECT_FALSE(said.invocation);
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.error, HasSubstr("a file with exactly one"));
}

TEST_F(CommandLine, WrongValuesAreUsageErrors) {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"reduce", "--leaves", "none", "--in-process"},
                                             {"reduce", "--leafs", "4", "--in-process"},
                                             {"reduce", "--pattern", "fixed", "--in-process"},
                                             {"run", "/does/not/exist.toml"},
                                             {"fly"},
                                             {}}) {
    const Said said = say(words);
    EXPECT_FALSE(said.invocation);
    EXPECT_EQ(said.code, 2);
    EXPECT_FALSE(said.error.empty());
  }
}

TEST_F(CommandLine, ValueThatIsNoNumberIsShownWithWhatFits) {
  for (const char* value : {"none", "1.5", "1e30", "0x", "--4"}) {
    EXPECT_THAT(say({"reduce", "--in-process", std::string("--leaves=") + value}).error,
                AllOf(HasSubstr("--leaves does not take"),
                      HasSubstr(std::string("\"") + value + "\""),
                      HasSubstr("integer, 1 to 1000000")));
  }
  EXPECT_THAT(say({"unicast", "--in-process", "--sizes", "64,many"}).error,
              HasSubstr("--sizes does not take \"64,many\""));
}

TEST_F(CommandLine, UnknownOptionsAndCommandsAreToldTheNearest) {
  EXPECT_THAT(say({"reduce", "--leafs", "4", "--in-process"}).error,
              HasSubstr("tributary-pktgen reduce: unknown option --leafs; did you mean --leaves?"));
  EXPECT_THAT(say({"unicast", "--in-proces"}).error, HasSubstr("did you mean --in-process?"));
  EXPECT_THAT(say({"redcue"}).error, HasSubstr("did you mean reduce?"));
  EXPECT_THAT(say({"fly"}).error, Not(HasSubstr("did you mean")));
}

TEST_F(CommandLine, TwoOutputsToOnePlaceAreRefused) {
  EXPECT_THAT(say({"reduce", "--in-process", "--json", "--csv", "-"}).error,
              HasSubstr("two outputs go to standard output"));
  EXPECT_THAT(say({"reduce", "--in-process", "--plot", "a", "--pcap", "a"}).error,
              HasSubstr("two outputs go to a;"));
  EXPECT_THAT(say({"reduce", "--in-process", "--pcap", "-"}).error,
              HasSubstr("a capture needs a file name"));
  EXPECT_TRUE(say({"reduce", "--in-process", "--json", "--csv", "a"}).invocation);
}

TEST_F(CommandLine, HelpHasExamplesAndEveryKeyOfItsKind) {
  const Said said = say({"reduce", "--help"});
  EXPECT_EQ(said.code, 0);
  for (const char* word : {"--leaves", "--skew-by", "--duration", "--in-process", "--json",
                           "Examples:", "Exit codes:"}) {
    EXPECT_THAT(said.out, HasSubstr(word));
  }
  EXPECT_THAT(said.out, Not(HasSubstr("--pattern TEXT")));
  EXPECT_THAT(said.out, Not(HasSubstr("{false}")));
}

TEST(TrafficGeneratorGuide, HasTheTableOfKeys) {
  std::ifstream page(TRIBUTARY_SOURCE "/docs/guide/traffic-generator.md");
  std::ostringstream text;
  text << page.rdbuf();
  EXPECT_TRUE(text.str().find(scenario_keys_markdown()) != std::string::npos)
      << "the page is behind the schema; put in there what `tributary-pktgen --print-keys` writes";
}

} // namespace
} // namespace tributary::pktgen::scenario
