#include "pktgen/report/plot.hpp"

#include "lib/net/file_descriptor.hpp"
#include "lib/terminal/output_file.hpp"
#include "lib/terminal/write_all.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // NOLINT(readability-redundant-declaration): POSIX wants it declared here

namespace tributary::pktgen::report {
namespace {

[[noreturn]] void no_plot(std::string_view what, int error) {
  throw PlotError(fmt::format("no plot: {}: {}", what, std::generic_category().message(error)));
}

/// A file that only this process and its children see. Unlike a pipe, it never blocks, and a
/// program that does not read to its end causes no SIGPIPE.
class MemoryFile {
public:
  explicit MemoryFile(const char* name) : descriptor_(::memfd_create(name, MFD_CLOEXEC)) {
    if (!descriptor_) {
      no_plot("cannot make a file in memory", errno);
    }
  }

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  void write(std::string_view text) const {
    if (const int error = terminal::write_all(descriptor(), text); error != 0) {
      no_plot("cannot write to memory", error);
    }
    ::lseek(descriptor(), 0, SEEK_SET);
  }
  [[nodiscard]] std::string content() const {
    std::string all;
    std::array<char, 65'536> some{};
    ssize_t count = 0;
    while ((count = ::pread(descriptor(), some.data(), some.size(),
                            static_cast<off_t>(all.size()))) > 0) {
      all.append(some.data(), static_cast<std::size_t>(count));
    }
    return all;
  }

private:
  net::FileDescriptor descriptor_;
};

/// The exit status as waitpid(2) gives it.
int run(const std::string& program, const MemoryFile& in, const MemoryFile& out,
        const MemoryFile& complaints) {
  posix_spawn_file_actions_t files{};
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, in.descriptor(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, out.descriptor(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, complaints.descriptor(), STDERR_FILENO);
  std::string name = program;
  const std::array<char*, 2> arguments = {name.data(), nullptr};
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, program.c_str(), &files, nullptr,
                                   const_cast<char* const*>(arguments.data()), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (error == ENOENT) {
    throw PlotError(fmt::format("no plot: no {} here; install the package gnuplot-nox, or "
                                "leave out --plot",
                                program));
  }
  if (error != 0) {
    no_plot("cannot start " + program, error);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      no_plot("cannot wait for " + program, errno);
    }
  }
  return status;
}

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  return std::string(text.substr(text.find_last_of('\n') + 1));
}

} // namespace

void draw_plot(const result::Result& result, const std::string& path, const std::string& gnuplot) {
  const std::string script = plot_script(result);
  if (script.empty()) {
    throw PlotError("no plot: nothing was measured");
  }
  const MemoryFile in("script");
  const MemoryFile out("picture");
  const MemoryFile complaints("complaints");
  in.write(script);
  const int status = run(gnuplot, in, out, complaints);
  const std::string picture = out.content();
  if (status != 0 || picture.empty()) {
    const std::string complaint = last_line(complaints.content());
    throw PlotError(fmt::format("no plot: {} failed: {}", gnuplot,
                                !complaint.empty() ? complaint
                                : WIFSIGNALED(status)
                                    ? fmt::format("signal {}", WTERMSIG(status))
                                    : fmt::format("exit code {}", WEXITSTATUS(status))));
  }
  terminal::write_output(path, picture);
}

} // namespace tributary::pktgen::report
