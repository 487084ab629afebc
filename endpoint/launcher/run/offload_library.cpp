#include "endpoint/launcher/run/offload_library.hpp"

#include "endpoint/launcher/job/mpi_library.hpp"
#include "endpoint/launcher/start/starter.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace tributary::launch::run {

namespace {

namespace fs = std::filesystem;

/// The path that a shell would find; "" if none.
fs::path found(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    return program;
  }
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    fs::path candidate = fs::path(rest.substr(0, end)) / program;
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored)) {
      return candidate;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

job::MpiLibrary library_of(const std::string& program) {
  std::ifstream in(found(program), std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return job::mpi_library_of(content);
}

} // namespace

OffloadLibrary offload_library(const std::string& program) {
  OffloadLibrary library;
  const job::MpiLibrary mpi = library_of(program);
  if (mpi == job::MpiLibrary::none) {
    return library;
  }
  library.name =
      fmt::format("libtributary_mpi_{}.so", mpi == job::MpiLibrary::mpich ? "mpich" : "ompi");
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
