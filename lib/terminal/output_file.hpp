// Files that hold results: whole or not there at all.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tributary::terminal {

/// what() says which file, why, and what to do.
class OutputError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The sentence for an OutputError: `error` is an errno.
[[nodiscard]] std::string output_problem(std::string_view path, int error);

/// From now on a file that reaches the process's size limit fails with EFBIG, as on a full disk,
/// instead of ending the process (SIGXFSZ is ignored).
void survive_file_size_limit();

/// Writes `content` to a temporary file beside `path` and renames it, so that nobody ever sees half
/// of it and a failure leaves what was there before. "-" is standard output; what is there and is
/// no ordinary file (a pipe, a device) is written in place. Throws OutputError.
void write_output(const std::string& path, std::string_view content);

} // namespace tributary::terminal
