// A stream, its ports, and a real switch core between them, which must refuse nothing: node j and
// port j as in stream.hpp. Frames from the switch arrive after `delay`, optionally through an
// imperfect channel.
#pragma once

#include "dataplane/core/switch_core.hpp"
#include "pktgen/traffic/stream.hpp"
#include "tests/unit/pktgen/traffic/imperfect_channel.hpp"
#include "tests/unit/pktgen/traffic/memory_port.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace tributary::pktgen::traffic::test {

inline scenario::Stream unicast(scenario::Pattern pattern = scenario::Pattern::random,
                                std::uint32_t nodes = 0) {
  scenario::Stream stream;
  stream.pattern = pattern;
  stream.nodes = nodes;
  stream.sizes = {64, 0, 9000, 65};
  return stream;
}
inline scenario::Stream multicast(std::uint32_t trees) {
  scenario::Stream stream;
  stream.trees = trees;
  stream.first_tree = 40;
  stream.sizes = {64, 128};
  return stream;
}

inline std::uint32_t nodes_of(const scenario::Stream& stream, std::size_t ports) {
  return stream.nodes == 0 ? static_cast<std::uint32_t>(ports) : stream.nodes;
}

/// A switch that has port i to the generator's port i.
class SwitchBetween : private core::Emission {
public:
  SwitchBetween(scenario::Kind kind, const scenario::Stream& stream, const Placement& placement)
      : core_({}, PortSet::first(max_ports)) {
    core::TablesBuilder builder;
    const std::size_t ports = placement.ports.size();
    for (std::size_t i = 0; i < ports; ++i) {
      EXPECT_EQ(builder.add_port({}), "");
    }
    if (kind == scenario::Kind::multicast) {
      for (std::uint32_t t = 0; t < stream.trees; ++t) {
        const auto next = t + (stream.shared ? 1 : 0);
        const PortNumber parent{static_cast<std::uint8_t>(next % ports)};
        PortSet children = PortSet::first(ports);
        children.erase(parent);
        const TreeNumber tree{static_cast<std::uint16_t>(stream.first_tree + t)};
        EXPECT_EQ(builder.add_tree(tree, stream.shared ? 1 : 0, parent, children), "");
        EXPECT_EQ(builder.set_shared(tree, stream.shared), "");
      }
    } else {
      for (std::uint32_t j = 0; j < nodes_of(stream, ports); ++j) {
        EXPECT_EQ(builder.add_route(Nid{placement.first_nid + j},
                                    PortNumber{static_cast<std::uint8_t>(j % ports)}),
                  "");
      }
    }
    core_.adopt(builder.build(1), TimeNs{0}, *this);
  }

  /// The frames that leave the switch for this one. Expects that it is not refused.
  std::vector<Arriving> pass(scenario::PortIndex from, Bytes& frame) {
    const core::Decision decision =
        core_.process(PortNumber{static_cast<std::uint8_t>(from)},
                      {frame.data(), static_cast<std::uint32_t>(frame.size())}, TimeNs{1});
    std::vector<Arriving> out;
    if (decision.action == core::Action::forward) {
      out.push_back({decision.port.value, frame});
    } else if (decision.action == core::Action::replicate) {
      decision.ports.for_each([&](PortNumber port) { out.push_back({port.value, frame}); });
    } else {
      ADD_FAILURE() << "refused: " << core::name_of(decision.reason);
    }
    return out;
  }

private:
  std::byte* buffer(PortNumber, std::uint32_t, TrafficClass) override { return nullptr; }
  core::SwitchCore core_;
};

inline Placement placement_of(std::size_t ports) {
  Placement placement;
  for (std::size_t i = 0; i < ports; ++i) {
    placement.ports.push_back(MemoryPort(static_cast<std::uint8_t>(i)).address());
  }
  return placement;
}

class StreamWorld {
public:
  StreamWorld(scenario::Kind kind, const scenario::Stream& stream, std::size_t port_count,
              std::uint64_t seed = 1, const Imperfections& shares = {})
      : traffic(kind, stream, placement_of(port_count), seed), channel(shares, port_count, seed),
        switch_(kind, stream, placement_of(port_count)) {
    for (std::size_t i = 0; i < port_count; ++i) {
      ports.push_back(std::make_unique<MemoryPort>(static_cast<std::uint8_t>(i)));
      given.push_back(ports.back().get());
    }
  }

  /// Composes due frames, and schedules the delivery of sent ones after `delay`.
  void generate() {
    traffic.generate(given, now);
    for (scenario::PortIndex from = 0; from < ports.size(); ++from) {
      for (Bytes& frame : ports[from]->take_sent()) {
        ++sent;
        for (Arriving& passed : switch_.pass(from, frame)) {
          for (Arriving& arriving : channel.pass(std::move(passed))) {
            under_way_.push_back({now + delay, std::move(arriving)});
          }
        }
      }
    }
  }
  /// Delivers the frames that are due.
  void deliver() {
    while (!under_way_.empty() && under_way_.front().at <= now) {
      give(under_way_.front().frame);
      under_way_.pop_front();
    }
  }
  /// Runs this many rounds, `step` apart.
  void run(std::size_t rounds, std::uint64_t step) {
    for (std::size_t i = 0; i < rounds; ++i) {
      generate();
      now = now + step;
      deliver();
    }
  }
  /// Ends the measurement, and delivers all frames in flight.
  void finish() {
    traffic.stop(now);
    generate();
    for (Arriving& late : channel.rest()) {
      under_way_.push_back({now + delay, std::move(late)});
    }
    now = now + delay;
    deliver();
  }
  void give(Arriving& frame) {
    const FrameView view{frame.bytes.data(), static_cast<std::uint32_t>(frame.bytes.size())};
    recognised += traffic.receive(frame.port, view, now) ? 1 : 0;
    ++arrived;
  }
  [[nodiscard]] std::uint64_t figure(std::string_view name) const {
    return traffic.tally(now).figure(name);
  }

  TimeNs now{1'000'000};
  std::uint64_t delay = 0;
  StreamTraffic traffic;
  ImperfectChannel channel;
  std::vector<std::unique_ptr<MemoryPort>> ports;
  std::vector<link::Port*> given;
  std::uint64_t sent = 0;       ///< frames the ports took
  std::uint64_t arrived = 0;    ///< received copies
  std::uint64_t recognised = 0; ///< of those

private:
  struct UnderWay {
    TimeNs at;
    Arriving frame;
  };
  SwitchBetween switch_;
  std::deque<UnderWay> under_way_;
};

} // namespace tributary::pktgen::traffic::test
