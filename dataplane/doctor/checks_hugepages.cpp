// Hugepages: without them everything costs more TLB misses.
#include "dataplane/doctor/checks.hpp"
#include "dataplane/port/eal_plan.hpp"
#include "dataplane/port/port_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

namespace tributary::doctor {
namespace {

constexpr std::uint64_t bytes_of_mib = 1ULL << 20;

/// The number of the socket that listens at `path`, as in "socket:[4711]"; empty if none does.
std::string socket_at(const MachineFiles& files, const std::string& path) {
  std::istringstream sockets(files.text("/proc/net/unix").value_or(""));
  for (std::string line; std::getline(sockets, line);) {
    std::istringstream words(line);
    std::string address, references, protocol, flags, type, state, inode, at;
    words >> address >> references >> protocol >> flags >> type >> state >> inode >> at;
    if (at == path && flags == "00010000") { // __SO_ACCEPTCON
      return inode;
    }
  }
  return {};
}

/// Hugepage memory of the running switch of this configuration: the process that listens at its
/// control socket.
std::uint64_t bytes_held_by_the_switch(const MachineFiles& files, const std::string& control) {
  const std::string inode = socket_at(files, control);
  if (inode.empty()) {
    return 0;
  }
  const std::string socket = "socket:[" + inode + "]";
  for (const std::string& process : files.names("/proc")) {
    const std::string descriptors = fmt::format("/proc/{}/fd", process);
    if (process.find_first_not_of("0123456789") == std::string::npos &&
        std::ranges::any_of(files.names(descriptors), [&](const std::string& number) {
          return files.target(fmt::format("{}/{}", descriptors, number)) == socket;
        })) {
      const std::string status = files.text(fmt::format("/proc/{}/status", process)).value_or("");
      constexpr std::string_view key = "HugetlbPages:"; // in kB
      const std::size_t at = status.find(key);
      return at == std::string::npos
                 ? 0
                 : std::strtoull(status.c_str() + at + key.size(), nullptr, 10) << 10;
    }
  }
  return 0;
}

} // namespace

void check_hugepages(const Examination& of) {
  const config::Process& process = of.configuration.process;
  if (process.hugepages == "never") {
    of.add("hugepages", {}, Verdict::good, "the configuration wants none");
    return;
  }
  std::uint64_t replayed = 0;
  try {
    replayed = port::replayed_frames(of.configuration);
  } catch (const port::PortError& error) {
    of.add("replay", {}, Verdict::wrong, error.what());
  }
  const std::uint64_t wanted = port::plan_memory(of.configuration, replayed).bytes();
  const port::Hugepages pages = port::Hugepages::read(of.files);
  const std::uint64_t held = bytes_held_by_the_switch(of.files, process.control_socket);
  const std::uint64_t there = pages.free_bytes + held;
  std::string text = fmt::format("{} MiB are free", pages.free_bytes / bytes_of_mib);
  if (held != 0) {
    text += fmt::format(", the running switch has {} MiB", held / bytes_of_mib);
  }
  text += fmt::format(", {} MiB are needed", wanted / bytes_of_mib);
  if (there >= wanted) {
    of.add("hugepages", {}, Verdict::good, text);
    return;
  }
  const std::uint64_t total =
      static_cast<std::uint64_t>(of.files.number("/proc/sys/vm/nr_hugepages").value_or(0)) +
      pages.pages_for(wanted - there);
  const bool required = process.hugepages == "require";
  of.add("hugepages", {}, required ? Verdict::wrong : Verdict::advice,
         text + (required ? "" : "; the switch takes ordinary pages instead, which are slower"),
         fmt::format("sysctl -w vm.nr_hugepages={0} && echo vm.nr_hugepages={0} > "
                     "/etc/sysctl.d/80-tributary.conf",
                     total));
}

} // namespace tributary::doctor
