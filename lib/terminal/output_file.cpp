#include "lib/terminal/output_file.hpp"

#include "lib/net/file_descriptor.hpp"
#include "lib/terminal/write_all.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace tributary::terminal {
namespace {

namespace fs = std::filesystem;

std::string advice(std::string_view path, int error) {
  switch (error) {
  case ENOSPC:
  case EDQUOT:
  case EFBIG: return "free some space, or name a file elsewhere";
  case EACCES:
  case EPERM:
  case EROFS: return "name a file where you may write";
  case ENOENT:
  case ENOTDIR:
    return fmt::format("make the directory \"{}\" first, or name a file elsewhere",
                       fs::path(path).parent_path().string());
  case EISDIR: return "name a file, not a directory";
  default: return "name a file elsewhere";
  }
}

[[noreturn]] void fail(std::string_view path, int error) {
  throw OutputError(output_problem(path, error));
}

void write_in_place(const std::string& path, std::string_view content) {
  const net::FileDescriptor descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!descriptor) {
    fail(path, errno);
  }
  if (const int error = write_all(descriptor.get(), content); error != 0) {
    fail(path, error);
  }
}

/// Flushes to disk and closes: only that shows whether there was room. Returns an errno, or 0.
int complete(net::FileDescriptor descriptor, std::string_view content) {
  int error = write_all(descriptor.get(), content);
  if (error == 0 && ::fsync(descriptor.get()) != 0) {
    error = errno;
  }
  const int at_close = descriptor.close();
  return error != 0 ? error : at_close;
}

void replace(const std::string& path, std::string_view content) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  net::FileDescriptor descriptor(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!descriptor) {
    fail(path, errno);
  }
  int error = complete(std::move(descriptor), content);
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    ::unlink(temporary.c_str());
    fail(path, error);
  }
}

} // namespace

std::string output_problem(std::string_view path, int error) {
  return fmt::format("cannot write {}: {}; {}", path, std::generic_category().message(error),
                     advice(path, error));
}

void survive_file_size_limit() { std::signal(SIGXFSZ, SIG_IGN); }

void write_output(const std::string& path, std::string_view content) {
  survive_file_size_limit();
  if (path == "-") {
    std::fflush(stdout);
    if (const int error = write_all(STDOUT_FILENO, content); error != 0) {
      fail("standard output", error);
    }
    return;
  }
  std::error_code unknown; // the file need not exist yet
  fs::path target = path;
  if (fs::is_symlink(target, unknown)) {
    target = fs::weakly_canonical(target, unknown);
    if (unknown) {
      fail(path, unknown.value());
    }
  }
  const fs::file_status there = fs::status(target, unknown);
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    write_in_place(target.string(), content);
  } else {
    replace(target.string(), content);
  }
}

void send_output_to(const std::string& path) {
  if (path == "-") {
    return;
  }
  survive_file_size_limit();
  const net::FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file || std::fflush(stdout) != 0 || ::dup2(file.get(), STDOUT_FILENO) < 0) {
    fail(path, errno);
  }
}

} // namespace tributary::terminal
