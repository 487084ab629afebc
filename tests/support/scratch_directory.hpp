// A directory of a test's own that is removed with it. The system chooses its name, so that tests
// that run in parallel, or twice, never collide.
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
  /// In memory where the system has such a place: most tests gain nothing from waiting for a disk,
  /// and data there survives a killed process as well.
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
  /// The path of a file in it, which need not exist.
  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }
  /// Number of files and directories in it.
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_),
                                                  std::filesystem::directory_iterator()));
  }

private:
  std::filesystem::path path_;
};

/// The content of a file; empty if it does not exist.
inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace tributary::test
