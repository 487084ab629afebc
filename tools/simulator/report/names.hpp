// Names on the command line and in JSON.
#pragma once

#include "tools/simulator/experiment/experiment.hpp"

#include <map>
#include <string>

namespace tributary::simulator::report {

template <typename T> using Names = std::map<std::string, T>;

inline const Names<unicast::Policy> policies{{"safe", unicast::Policy::safe},
                                             {"plus", unicast::Policy::plus},
                                             {"fast", unicast::Policy::fast}};
inline const Names<experiment::Layout> layouts{{"random", experiment::Layout::random},
                                               {"row", experiment::Layout::row},
                                               {"column", experiment::Layout::column},
                                               {"all", experiment::Layout::all}};
inline const Names<engine::Queueing> queueings{{"fifo", engine::Queueing::fifo},
                                               {"voq", engine::Queueing::voq}};
inline const Names<engine::FlowControl> flow_controls{{"credits", engine::FlowControl::credits},
                                                      {"pause", engine::FlowControl::pause}};
inline const Names<engine::Spread> spreads{{"packet", engine::Spread::packet},
                                           {"flow", engine::Spread::flow},
                                           {"credits", engine::Spread::credits}};
inline const Names<traffic::Pattern> patterns{{"uniform", traffic::Pattern::uniform},
                                              {"permutation", traffic::Pattern::permutation},
                                              {"shift", traffic::Pattern::shift},
                                              {"bit_complement", traffic::Pattern::bit_complement},
                                              {"transpose", traffic::Pattern::transpose},
                                              {"hotspot", traffic::Pattern::hotspot}};

template <typename T> [[nodiscard]] std::string name_of(const Names<T>& names, T value) {
  for (const auto& [name, of] : names) {
    if (of == value) {
      return name;
    }
  }
  return {};
}

} // namespace tributary::simulator::report
