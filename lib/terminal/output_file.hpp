// Files that hold results: complete or absent.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tributary::terminal {

/// what() names the file, the reason, and the remedy.
class OutputError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The message of an OutputError: `error` is an errno.
[[nodiscard]] std::string output_problem(std::string_view path, int error);

/// From now on a write beyond the process's file size limit fails with EFBIG, as on a full disk,
/// instead of ending the process (SIGXFSZ is ignored).
void survive_file_size_limit();

/// Writes `content` to a temporary file beside `path` and renames it, so that no reader ever sees
/// half of it and a failure keeps the previous contents. "-" is standard output; existing special
/// files (a pipe, a device) are written in place. Throws OutputError.
void write_output(const std::string& path, std::string_view content);

/// From now on standard output goes to the file at `path`, which is created or emptied, as with the
/// shell's ">"; "-" changes nothing. Throws OutputError.
void send_output_to(const std::string& path);

} // namespace tributary::terminal
