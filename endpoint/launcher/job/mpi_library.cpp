#include "endpoint/launcher/job/mpi_library.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace tributary::launch::job {

namespace {

constexpr std::string_view elf("\x7F"
                               "ELF");

/// Whether the file needs one of these shared libraries: the string table of the dynamic section
/// holds names of needed libraries in plain text.
bool needs_one_of(std::string_view program, std::span<const std::string_view> libraries) {
  return program.starts_with(elf) &&
         std::any_of(libraries.begin(), libraries.end(), [&](std::string_view library) {
           return program.find(library) != std::string_view::npos;
         });
}

void add_words(std::vector<std::string>& found, std::string_view text) {
  constexpr std::string_view between = " \t\r\n;&|()<>\"'`";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(between), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool assigns = word.find('=') < word.find('/');
    if (!word.empty() && word.front() != '-' && !assigns) {
      found.emplace_back(word);
    }
  }
}

} // namespace

MpiLibrary mpi_library_of(std::string_view program) {
  static constexpr std::array<std::string_view, 1> mpich{"libmpich.so."};
  static constexpr std::array<std::string_view, 1> open_mpi{"libmpi.so.40"};
  if (needs_one_of(program, mpich)) {
    return MpiLibrary::mpich;
  }
  return needs_one_of(program, open_mpi) ? MpiLibrary::open_mpi : MpiLibrary::none;
}

bool does_without_mpi(std::string_view program) {
  static constexpr std::array<std::string_view, 3> own{"libtributary.so.",
                                                       "libtributary_events.so.", "libpmix.so."};
  return mpi_library_of(program) == MpiLibrary::none && needs_one_of(program, own);
}

std::vector<std::string> candidates_in(const std::vector<std::string>& command) {
  std::vector<std::string> found;
  for (const std::string& word : command) {
    add_words(found, word);
  }
  return found;
}

std::vector<std::string> candidates_in_script(std::string_view content) {
  std::vector<std::string> found;
  if (content.starts_with("#!")) {
    add_words(found, content.substr(2, content.find('\n') - 2));
  }
  return found;
}

bool is_python(std::string_view path) {
  return path.substr(path.rfind('/') + 1).starts_with("python");
}

} // namespace tributary::launch::job
