// Handles the case that another process took the hugepages that were free a moment ago. DPDK can be
// initialised only once in a process, even if that fails, so the second attempt, with ordinary
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

/// Thrown by an Eal that could run with ordinary pages, too (`hugepages = "auto"`).
class HugepagesTaken : public PortError {
public:
  using PortError::PortError;
};

/// Executes this program again in this process, with the same arguments, environment and open
/// files; `without_hugepages()` is true there. Throws PortError if that fails.
[[noreturn]] void start_again_without_hugepages(const HugepagesTaken& taken, char** argv);

/// Whether this is such a second attempt.
[[nodiscard]] bool without_hugepages();

} // namespace tributary::port
