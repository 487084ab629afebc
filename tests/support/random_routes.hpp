// Routes drawn at random: valid ones, and ones with some wrong numbers.
#pragma once

#include "dataplane/forwarding_table/routes.hpp"
#include "tributary/random.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tributary::test {

/// Routes for a switch of `ports` ports, 2 to 64, of which about half lead to switches.
inline forwarding_table::Routes random_routes(std::size_t ports, tributary::Random& random) {
  forwarding_table::Routes routes;
  routes.epoch = random.next();
  const std::uint64_t all = ports == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << ports) - 1;
  const std::uint64_t fabric = (random.next() & all) | 1;
  routes.fabric_ports = {fabric};
  routes.sprayed_dscps = random.next() & random.next();

  forwarding_table::SwitchTable& t = routes.table;
  t.destinations = static_cast<std::uint32_t>(random.between(1, 20));
  t.self = static_cast<std::uint32_t>(random.below(30));
  t.vcs = static_cast<std::uint8_t>(random.between(1, 8));
  const std::uint64_t classes = random.between(1, 4);
  const std::uint64_t row_count = random.between(1, 6);
  for (std::size_t p = 0; p < ports; ++p) {
    t.classes.push_back((fabric >> p & 1U) == 0
                            ? std::uint16_t{0}
                            : static_cast<std::uint16_t>(random.below(classes)));
  }
  const std::uint64_t groups = random.between(1, 10);
  t.port_words = {0};
  for (std::uint64_t g = 1; g < groups; ++g) {
    t.port_words.push_back(random.next() & fabric);
  }
  const std::uint64_t actions = random.between(1, 30);
  for (std::uint64_t i = 0; i < actions; ++i) {
    t.actions.push_back({.ports = static_cast<std::uint16_t>(random.below(groups)),
                         .spares = static_cast<std::uint16_t>(random.below(groups)),
                         .step = static_cast<std::uint8_t>(random.below(3)),
                         .turns = static_cast<std::uint8_t>(random.below(3)),
                         .spare_turns = static_cast<std::uint8_t>(random.below(3)),
                         .otherwise = static_cast<forwarding_table::Outcome>(random.between(
                             static_cast<unsigned>(forwarding_table::Outcome::dest_dead),
                             static_cast<unsigned>(forwarding_table::Outcome::no_route))),
                         .u_turn = random.chance(0.3),
                         .rises = random.chance(0.3)});
  }
  for (std::uint64_t i = 0; i < classes * t.vcs; ++i) {
    t.row_of.push_back(static_cast<std::uint16_t>(random.below(row_count)));
  }
  for (std::uint64_t i = 0; i < row_count * t.destinations; ++i) {
    t.rows.push_back(static_cast<std::uint16_t>(random.below(actions)));
  }

  forwarding_table::HostRuns runs;
  std::uint32_t next = 0;
  for (std::uint64_t i = random.below(10); i > 0; --i) {
    const auto first = next + static_cast<std::uint32_t>(random.below(1000));
    const auto count = static_cast<std::uint32_t>(random.between(1, 50));
    runs.push_back({first, count, static_cast<std::uint32_t>(random.below(30))});
    next = first + count;
  }
  routes.hosts = std::make_shared<const forwarding_table::HostRuns>(std::move(runs));
  for (std::size_t p = 0; p < ports; ++p) {
    if ((fabric >> p & 1U) == 0) {
      routes.local.push_back(
          {Nid{static_cast<std::uint32_t>(p * 7)}, static_cast<forwarding_table::Port>(p)});
    }
  }
  return routes;
}

/// Replaces one of its numbers by another, near the allowed range or far off.
inline void spoil(forwarding_table::Routes& routes, tributary::Random& random) {
  forwarding_table::SwitchTable& t = routes.table;
  const auto wrong = [&] {
    return static_cast<std::uint16_t>(random.chance(0.5) ? random.below(40) : random.next());
  };
  const auto one_of = [&](auto& values) {
    if (!values.empty()) {
      values[random.below(values.size())] = static_cast<std::uint16_t>(wrong());
    }
  };
  switch (random.below(12)) {
  case 0: t.destinations = wrong(); break;
  case 1: t.vcs = static_cast<std::uint8_t>(wrong()); break;
  case 2: one_of(t.classes); break;
  case 3: one_of(t.row_of); break;
  case 4: one_of(t.rows); break;
  case 5: t.row_of.resize(random.below(t.row_of.size() + 3)); break;
  case 6: t.rows.resize(random.below(t.rows.size() + 3)); break;
  case 7: t.actions.resize(random.below(t.actions.size() + 1)); break;
  case 8: t.port_words.resize(random.below(t.port_words.size() + 1)); break;
  case 9:
    if (!t.port_words.empty()) {
      t.port_words[random.below(t.port_words.size())] ^= std::uint64_t{1} << random.below(64);
    }
    break;
  case 10:
    if (!t.actions.empty()) {
      forwarding_table::Action& a = t.actions[random.below(t.actions.size())];
      (random.chance(0.5) ? a.ports : a.spares) = wrong();
      a.step = static_cast<std::uint8_t>(wrong());
    }
    break;
  case 11:
    if (!routes.local.empty()) {
      forwarding_table::LocalHost& host = routes.local[random.below(routes.local.size())];
      host.port = wrong();
      host.nid = Nid{static_cast<std::uint32_t>(random.next())};
    }
    break;
  }
}

} // namespace tributary::test
