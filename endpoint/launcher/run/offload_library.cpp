#include "endpoint/launcher/run/offload_library.hpp"

#include "endpoint/launcher/start/starter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace tributary::launch::run {

namespace {

namespace fs = std::filesystem;
using job::MpiLibrary;

/// Words of a command, and lines of scripts, that are looked at.
constexpr std::size_t most_candidates = 64;

std::vector<fs::path> folders_in(const char* variable) {
  const char* const value = std::getenv(variable);
  std::vector<fs::path> folders;
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return folders;
}

/// The path that a rank would find; "" if it is no file.
fs::path found(const std::string& program, const fs::path& directory) {
  std::error_code ignored;
  if (program.find('/') != std::string::npos) {
    const fs::path path = directory / program;
    return fs::is_regular_file(path, ignored) ? path : fs::path();
  }
  for (const fs::path& folder : folders_in("PATH")) {
    if (const fs::path path = folder / program; fs::is_regular_file(path, ignored)) {
      return path;
    }
  }
  return {};
}

/// All of a program; other files, which may be large, are read as far as their first line.
std::string content_of(const fs::path& file) {
  constexpr std::size_t longest_line = 256;
  std::ifstream in(file, std::ios::binary);
  std::string content(longest_line, '\0');
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (content.starts_with("\x7F"
                          "ELF")) {
    content.append(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return content;
}

/// Folders of Python's packages below an installation's prefix, as interpreters find them.
void add_packages_below(const fs::path& prefix, std::vector<fs::path>& folders) {
  for (const char* const library : {"lib", "lib64", "local/lib"}) {
    std::error_code ignored;
    for (fs::directory_iterator each(prefix / library, ignored), end; each != end;
         each.increment(ignored)) {
      if (each->path().filename().string().starts_with("python")) {
        folders.push_back(each->path() / "site-packages");
        folders.push_back(each->path() / "dist-packages");
      }
    }
  }
}

/// The MPI library of mpi4py, as this interpreter of Python would import it.
MpiLibrary library_of_mpi4py(const fs::path& python, const fs::path& directory) {
  std::vector<fs::path> folders;
  for (const fs::path& folder : folders_in("PYTHONPATH")) {
    folders.push_back(directory / folder);
  }
  // A virtual environment's interpreter is a link to another one's, and comes first.
  add_packages_below(python.parent_path().parent_path(), folders);
  if (const char* const home = std::getenv("HOME"); home != nullptr) {
    add_packages_below(fs::path(home) / ".local", folders);
  }
  std::error_code ignored;
  add_packages_below(fs::weakly_canonical(python, ignored).parent_path().parent_path(), folders);
  for (const fs::path& folder : folders) {
    std::vector<fs::path> modules;
    for (fs::directory_iterator each(folder / "mpi4py", ignored), end; each != end;
         each.increment(ignored)) {
      const std::string name = each->path().filename().string();
      if (name.starts_with("MPI.") && name.ends_with(".so")) {
        modules.push_back(each->path());
      }
    }
    std::sort(modules.begin(), modules.end());
    for (const fs::path& module : modules) {
      if (const MpiLibrary library = job::mpi_library_of(content_of(module));
          library != MpiLibrary::none) {
        return library;
      }
    }
  }
  return MpiLibrary::none;
}

struct Found {
  MpiLibrary library = MpiLibrary::none;
  bool does_without = false;
};

Found library_of(const std::vector<std::string>& command, const fs::path& directory) {
  const std::vector<std::string> words = job::candidates_in(command);
  std::deque<std::string> candidates(words.begin(), words.end());
  for (std::size_t n = 0; n < most_candidates && !candidates.empty(); ++n) {
    const fs::path file = found(candidates.front(), directory);
    candidates.pop_front();
    if (file.empty()) {
      continue;
    }
    const std::string content = content_of(file);
    const MpiLibrary library = job::mpi_library_of(content);
    if (library != MpiLibrary::none || job::does_without_mpi(content)) {
      return {library, library == MpiLibrary::none};
    }
    if (job::is_python(file.string())) {
      if (const MpiLibrary of_python = library_of_mpi4py(file, directory);
          of_python != MpiLibrary::none) {
        return {of_python};
      }
    }
    const std::vector<std::string> starters = job::candidates_in_script(content);
    candidates.insert(candidates.begin(), starters.begin(), starters.end());
  }
  return {};
}

} // namespace

OffloadLibrary offload_library(const std::vector<std::string>& command,
                               const std::string& directory, MpiChoice choice) {
  OffloadLibrary library;
  MpiLibrary mpi = choice == MpiChoice::mpich      ? MpiLibrary::mpich
                   : choice == MpiChoice::open_mpi ? MpiLibrary::open_mpi
                                                   : MpiLibrary::none;
  if (choice == MpiChoice::found) {
    const Found seen = library_of(command, directory);
    mpi = seen.library;
    library.unknown = mpi == MpiLibrary::none && !seen.does_without;
  }
  if (mpi == MpiLibrary::none) {
    return library;
  }
  library.name = fmt::format("libtributary_mpi_{}.so", mpi == MpiLibrary::mpich ? "mpich" : "ompi");
  const fs::path here = fs::path(start::own_program()).parent_path();
  for (const fs::path& folder : {here / "../mpi", here / TRIBUTARY_LIBRARY_FOLDER}) {
    std::error_code error;
    const fs::path file = fs::weakly_canonical(folder / library.name, error);
    if (error || !fs::is_regular_file(file, error)) {
      continue;
    }
    const char* const others = std::getenv("LD_PRELOAD");
    messages::Value& preload = library.preload.emplace();
    preload.set_name("LD_PRELOAD");
    preload.set_use(messages::Value::ENVIRONMENT);
    preload.set_text(others == nullptr ? file.string()
                                       : fmt::format("{}:{}", file.string(), others));
    return library;
  }
  return library;
}

} // namespace tributary::launch::run
