// What a program does when another process took the hugepages that were free a moment ago. DPDK
// can be initialised once in a process, also when that fails, so the second attempt, with ordinary
// pages, needs a process image of its own.
//
//   try {
//     Eal eal(configuration); ...
//   } catch (const HugepagesTaken& taken) {
//     start_again_without_hugepages(taken, argv);
//   }
#pragma once

#include "dataplane/port/port_error.hpp"

namespace tributary::port {

/// Thrown by an Eal that could as well do with ordinary pages (`hugepages = "auto"`).
class HugepagesTaken : public PortError {
public:
  using PortError::PortError;
};

/// Runs this program anew in this process, with the same arguments, environment and open files;
/// there `without_hugepages()` is true. Throws PortError when that cannot be.
[[noreturn]] void start_again_without_hugepages(const HugepagesTaken& taken, char** argv);

/// Whether this is such a second attempt.
[[nodiscard]] bool without_hugepages();

} // namespace tributary::port
