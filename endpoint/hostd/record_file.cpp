#include "endpoint/hostd/record_file.hpp"

#include "endpoint/agent/messages.hpp"
#include "lib/net/file_descriptor.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tributary::hostd {

namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::runtime_error(fmt::format("{}: {} ({}); see `agent.record` in the configuration", path,
                                       what, std::strerror(errno)));
}

} // namespace

std::optional<host_agent::Record> RecordFile::read() const {
  const net::FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) {
    if (errno == ENOENT) {
      return std::nullopt;
    }
    fail(path_, "cannot be read");
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      (status.st_uid != ::geteuid() && status.st_uid != 0) || (status.st_mode & 0022U) != 0) {
    throw std::runtime_error(fmt::format("{}: is not a file of this user that others cannot write; "
                                         "remove it",
                                         path_));
  }
  std::string text;
  std::array<char, 16'384> buffer{};
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      fail(path_, "cannot be read");
    }
    if (n == 0) {
      break;
    }
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  try {
    return host_agent::record_of(text);
  } catch (const host_agent::AgentError& error) {
    throw std::runtime_error(
        fmt::format("{}: {}; remove it, and declare the jobs again", path_, error.what()));
  }
}

void RecordFile::write(const host_agent::Record& record) const {
  const std::string text = host_agent::text_of(record);
  try {
    replace(text);
  } catch (const std::runtime_error&) {
    // The old one would give jobs that have ended their rights back; and takes room.
    ::unlink(path_.c_str());
    replace(text);
  }
}

void RecordFile::replace(const std::string& text) const {
  const std::string beside = path_ + ".new";
  ::unlink(beside.c_str());
  net::FileDescriptor file(
      ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) {
    fail(beside, "cannot be written");
  }
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(file.get(), text.data() + written, text.size() - written);
    if (n < 0 && errno != EINTR) {
      const int error = errno;
      ::unlink(beside.c_str());
      errno = error;
      fail(beside, "cannot be written");
    }
    written += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  if (file.close() != 0 || std::rename(beside.c_str(), path_.c_str()) != 0) {
    fail(path_, "cannot be replaced");
  }
}

} // namespace tributary::hostd
