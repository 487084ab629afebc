// A directory of a test's own that goes with it. Its name is chosen by the system, so that tests
// that run side by side, or twice, never meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>

#include <unistd.h>

namespace tributary::test {

class ScratchDirectory {
public:
  /// In memory where the system has such a place: waiting for a disk proves nothing to most tests,
  /// and what was written survives a killed process there as well.
  enum class Place : std::uint8_t { memory, disk };

  explicit ScratchDirectory(Place place = Place::memory) {
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = place == Place::memory && ::access(memory.c_str(), W_OK) == 0;
    std::string pattern =
        (in_memory ? memory : std::filesystem::temp_directory_path()) / "tributary-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("no directory for the test: " + pattern);
    }
    path_ = pattern;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// The path of a file in it, which need not be there.
  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }
  /// How many files and directories lie in it.
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_),
                                                  std::filesystem::directory_iterator()));
  }

private:
  std::filesystem::path path_;
};

/// All of a file; empty when there is none.
inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace tributary::test
