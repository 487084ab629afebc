// `tributary-switch --doctor`: checks the machine's prerequisites of a switch, and prints problems
// with the command that fixes each. Changes nothing.
//
//   const std::vector<Finding> findings = examine(configuration, port::MachineFiles());
//   fmt::print("{}", text_of(findings));
//
// The configuration selects the checks: NICs and the IOMMU for ports of kind pci, interfaces for
// af_xdp and af_packet, cores if the file names some. Each check is a function in checks_*.cpp.
#pragma once

#include "dataplane/config/host_machine.hpp"
#include "dataplane/port/machine_files.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::doctor {

using port::MachineFiles;

enum class Verdict : std::uint8_t {
  good,
  advice, ///< it runs, slower or less evenly than it could
  wrong,  ///< the switch will not start, or will lose frames
};

[[nodiscard]] std::string_view name_of(Verdict verdict);

struct Finding {
  std::string check;   ///< "iommu", "hugepages", "mtu" ...: listed in docs/operate/real-nics.md
  std::string subject; ///< a port with its device, "worker 0 on core 2"; empty: the machine
  Verdict verdict = Verdict::good;
  std::string text;
  std::string command; ///< fixes it, as root; empty: nothing to do, or no shell command can
};

/// In the order in which the problems have to be fixed.
[[nodiscard]] std::vector<Finding>
examine(const config::Config& configuration, const MachineFiles& files,
        config::MemoryOrder memory_order = config::memory_order_of_this_processor);

[[nodiscard]] bool anything_wrong(const std::vector<Finding>& findings);
/// For operators: one line each, with the command on a line below.
[[nodiscard]] std::string text_of(const std::vector<Finding>& findings);
[[nodiscard]] boost::json::object json_of(const std::vector<Finding>& findings);

} // namespace tributary::doctor
