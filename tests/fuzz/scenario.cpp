// Scenario files of the traffic generator from any bytes, and the same bytes as frames into its
// traffics.
//
//   1  a refusal has a message
//   2  an accepted scenario reads the same from its printed form
//   3  whatever arrives at a port, virtual members and flows stay consistent

#include "lib/configuration/file.hpp"
#include "lib/link/memory_port.hpp"
#include "pktgen/scenario/file.hpp"
#include "pktgen/traffic/reduce.hpp"
#include "pktgen/traffic/stream.hpp"
#include "tests/fuzz/require.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tributary::fuzz {
namespace {

std::optional<pktgen::scenario::ReadScenario> read(const std::string& text) {
  try {
    return pktgen::scenario::read_scenario(configuration::parse_toml(text, "fuzz"), "fuzz", "fuzz");
  } catch (const configuration::ConfigError& refused) {
    TRIBUTARY_REQUIRE(refused.what() != std::string());
    return std::nullopt;
  }
}

/// Three leaves and their root, and two nodes that send to each other, on two ports that lead
/// nowhere. It lives as long as the fuzzer.
class World {
public:
  World()
      : reductions_(three_leaves(), placement(), 1),
        unicast_(pktgen::scenario::Kind::unicast, slow(), placement(), 1) {
    for (int i = 0; i < 2; ++i) {
      links_.push_back(link::MemoryPort::joined(2048, {}));
      ports_.push_back(links_.back().first.get());
    }
    for (pktgen::traffic::Traffic* traffic : traffics()) {
      traffic->start(now_);
      traffic->begin_measuring(now_);
    }
  }

  void receive(std::vector<std::byte>& frame) {
    const FrameView view{frame.data(), static_cast<std::uint32_t>(frame.size())};
    for (pktgen::traffic::Traffic* traffic : traffics()) {
      for (pktgen::scenario::PortIndex port = 0; port < ports_.size(); ++port) {
        traffic->receive(port, view, now_);
      }
      traffic->generate(ports_, now_);
    }
    for (auto& [near, far] : links_) {
      near->flush();
      while (!far->receive().empty()) {
      }
    }
    now_ = now_ + 1'000'000;
    TRIBUTARY_REQUIRE(reductions_.tally(now_).figure("overruns") == 0);
  }

private:
  static pktgen::scenario::Reduce three_leaves() {
    pktgen::scenario::Reduce reduce;
    reduce.leaves = 3;
    return reduce;
  }
  static pktgen::scenario::Stream slow() {
    pktgen::scenario::Stream stream;
    stream.packets_per_second = 100;
    return stream;
  }
  static pktgen::traffic::Placement placement() {
    pktgen::traffic::Placement two;
    two.ports.resize(2);
    return two;
  }
  std::vector<pktgen::traffic::Traffic*> traffics() { return {&reductions_, &unicast_}; }

  pktgen::traffic::ReduceTraffic reductions_;
  pktgen::traffic::StreamTraffic unicast_;
  std::vector<std::pair<std::unique_ptr<link::MemoryPort>, std::unique_ptr<link::MemoryPort>>>
      links_;
  std::vector<link::Port*> ports_;
  TimeNs now_{1'000'000};
};

void run(const std::uint8_t* data, std::size_t size) {
  if (const auto once = read(std::string(data, data + size))) {
    const auto again = read(pktgen::scenario::scenario_text(once->settings));
    TRIBUTARY_REQUIRE(again.has_value());
    TRIBUTARY_REQUIRE(again->settings == once->settings);
  }
  static World world;
  std::vector<std::byte> frame(size);
  std::transform(data, data + size, frame.begin(),
                 [](std::uint8_t byte) { return static_cast<std::byte>(byte); });
  world.receive(frame);
}

} // namespace
} // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::run(data, size);
  return 0;
}
