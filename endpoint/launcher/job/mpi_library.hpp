// Which MPI library a program is linked with, and which words of a command may name the program.
// Pure.
//
// A command need not begin with the program that calls MPI: `env A=b ./pi`, `sh -c "cd x && ./pi"`,
// `python3 app.py`. Its words are candidates, in order; the first that is linked with an MPI
// library decides. Of a script the first line, #!, is looked at. Python's MPI is that of mpi4py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::launch::job {

enum class MpiLibrary : std::uint8_t { none, open_mpi, mpich };

/// Finds it by the names of shared libraries in the bytes of the program's file. `none` also for
/// scripts and for programs that load their MPI library later.
[[nodiscard]] MpiLibrary mpi_library_of(std::string_view program);

/// Whether a program is linked with the host library, its events or PMIx: it does without MPI.
[[nodiscard]] bool does_without_mpi(std::string_view program);

/// Words of a command that may name programs, in order, without options and assignments; a word
/// with blanks, as for `sh -c`, counts as a command of its own.
[[nodiscard]] std::vector<std::string> candidates_in(const std::vector<std::string>& command);

/// The same of a script's first line; empty for files that do not begin with #!.
[[nodiscard]] std::vector<std::string> candidates_in_script(std::string_view content);

/// Whether a program of this path is an interpreter of Python, by its name.
[[nodiscard]] bool is_python(std::string_view path);

} // namespace tributary::launch::job
