// What a scenario leaves open, resolved for this machine: cores, polling, the seed.
#pragma once

#include "pktgen/scenario/scenario.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace tributary::pktgen::run {

/// Cores this process may run on, lowest first.
[[nodiscard]] std::vector<unsigned> usable_cores();

/// Chooses what is open, and returns notes for the user, a sentence each:
///   cores    in process: the generator and each of the switch's workers get one of their own, if
///            there are enough, and poll without sleeping; otherwise both sleep when idle
///   seed     from the system's random source
///   replays  how long their frames are, from their files
/// Throws ScenarioError (make_traffic.hpp) when its virtual hosts do not fit into memory, a file
/// cannot be replayed, or this version lacks what it asks for.
std::vector<std::string> prepare(scenario::Scenario& scenario, const std::vector<unsigned>& cores,
                                 std::uint64_t available_bytes);

/// Memory the system could give to this process now.
[[nodiscard]] std::uint64_t available_memory();
/// What /proc/cpuinfo, read from `cpuinfo`, calls the processor. Arm's kernels know numbers only:
/// "Arm processor, implementer 0x41, part 0xd0c".
[[nodiscard]] std::string processor_name(std::istream& cpuinfo);
/// The processor's name and the number of its cores.
[[nodiscard]] std::string machine_description();

} // namespace tributary::pktgen::run
