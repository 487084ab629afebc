#include "pktgen/report/capture_file.hpp"

#include "lib/service/pcapng_stream.hpp"
#include "lib/terminal/output_file.hpp"
#include "lib/terminal/write_all.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tributary::pktgen::report {

using service::PcapngWriter;

CaptureFile::CaptureFile(std::string path, const std::vector<Source>& sources, Clock clock)
    : path_(std::move(path)), clock_(std::move(clock)) {
  terminal::survive_file_size_limit();
  descriptor_ =
      net::FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!descriptor_) {
    throw terminal::OutputError(terminal::output_problem(path_, errno));
  }
  std::vector<std::string> names;
  for (const Source& source : sources) {
    ports_.push_back(source.port);
    names.push_back(source.name);
  }
  writer_.reserve(buffer_bytes);
  writer_.begin("tributary-pktgen", names, 0);
}

CaptureFile::~CaptureFile() { close(); }

std::uint32_t CaptureFile::interface_of(const link::Port& port) const {
  return static_cast<std::uint32_t>(std::find(ports_.begin(), ports_.end(), &port) -
                                    ports_.begin());
}

void CaptureFile::sent(const link::Port& port, std::span<const std::byte> frame) {
  write(port, Direction::outbound, frame);
}

void CaptureFile::received(const link::Port& port, std::span<const std::byte> frame) {
  write(port, Direction::inbound, frame);
}

void CaptureFile::write(const link::Port& port, Direction direction,
                        std::span<const std::byte> frame) {
  const std::uint32_t interface = interface_of(port);
  const std::lock_guard lock(mutex_);
  if (!descriptor_) {
    return;
  }
  if (writer_.size() + PcapngWriter::packet_bytes(frame.size()) > buffer_bytes) {
    flush();
  }
  if (descriptor_) {
    writer_.packet(interface, clock_(), direction, frame, static_cast<std::uint32_t>(frame.size()));
    ++frames_;
  }
}

void CaptureFile::flush() {
  const auto bytes = writer_.bytes();
  const int error = terminal::write_all(
      descriptor_.get(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (error != 0) {
    fail(error);
  } else {
    written_ += bytes.size();
    frames_written_ = frames_;
  }
  writer_.clear();
}

void CaptureFile::fail(int error) {
  service::PcapngStream in_the_file;
  struct stat file {};
  if (::fstat(descriptor_.get(), &file) == 0 && S_ISREG(file.st_mode)) {
    const std::size_t found_room =
        static_cast<std::size_t>(file.st_size) - static_cast<std::size_t>(written_);
    const std::size_t whole = in_the_file.add(writer_.bytes().first(found_room)).size();
    // Where it cannot be truncated, readers report its last block and show all others.
    [[maybe_unused]] const int cut =
        ::ftruncate(descriptor_.get(), static_cast<off_t>(written_) + static_cast<off_t>(whole));
  }
  frames_ = frames_written_ + in_the_file.packets();
  descriptor_.close();
  problem_ = fmt::format("the capture ended after {} frames: {}", frames_,
                         terminal::output_problem(path_, error));
}

void CaptureFile::close(std::span<const std::uint64_t> drops) {
  const std::lock_guard lock(mutex_);
  if (!descriptor_) {
    return;
  }
  for (std::size_t i = 0; i < std::min(drops.size(), ports_.size()); ++i) {
    writer_.statistics(static_cast<std::uint32_t>(i), clock_(), drops[i]);
  }
  flush();
  if (const int error = descriptor_.close(); error != 0) {
    problem_ = terminal::output_problem(path_, error);
  }
}

std::string CaptureFile::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

std::uint64_t CaptureFile::frames() const {
  const std::lock_guard lock(mutex_);
  return frames_;
}

} // namespace tributary::pktgen::report
