// `tributary-switch --doctor`: looks at what a switch needs of its machine, says what is wrong, and
// the command that mends it. Changes nothing.
//
//   const std::vector<Finding> findings = examine(configuration, port::MachineFiles());
//   fmt::print("{}", text_of(findings));
//
// What it looks at follows the configuration: NICs and the IOMMU for ports of kind pci, interfaces
// for af_xdp and af_packet, cores if the file names some. Each check is a function in checks_*.cpp.
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
  std::string check;   ///< "iommu", "hugepages", "mtu" ...: docs/operate/real-nics.md has them all
  std::string subject; ///< a port with its device, "worker 0 on core 2"; empty: the machine
  Verdict verdict = Verdict::good;
  std::string text;
  std::string command; ///< mends it, as root; empty: nothing to do, or nothing that a shell can
};

/// In the order in which things are to be mended.
[[nodiscard]] std::vector<Finding>
examine(const config::Config& configuration, const MachineFiles& files,
        config::MemoryOrder memory_order = config::memory_order_of_this_processor);

[[nodiscard]] bool anything_wrong(const std::vector<Finding>& findings);
/// For a person: a line each, those with a command have it below.
[[nodiscard]] std::string text_of(const std::vector<Finding>& findings);
[[nodiscard]] boost::json::object json_of(const std::vector<Finding>& findings);

} // namespace tributary::doctor
