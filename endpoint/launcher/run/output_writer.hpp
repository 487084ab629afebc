// Writes the output of ranks, on a thread of its own. Order is kept; a chunk that has been written
// is reported, so that daemons never have more than a window of bytes in flight.
#pragma once

#include "endpoint/launcher/control/launch.hpp"
#include "endpoint/launcher/job/output_lines.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace tributary::launch::run {

class OutputWriter {
public:
  /// `written` is called on the writer's thread: a node, and bytes of its output. `gone` there,
  /// once: standard output has no reader any more.
  OutputWriter(bool tagged, std::function<void(control::NodeIndex, std::uint64_t)> written,
               std::function<void()> gone);
  /// Writes the rest, unless the reader takes nothing for a second.
  ~OutputWriter();
  OutputWriter(const OutputWriter&) = delete;
  OutputWriter& operator=(const OutputWriter&) = delete;

  void write(control::Chunk chunk);

private:
  void run();
  /// Waits for the reader; false: it is gone.
  bool write_all(int fd, std::string_view bytes);

  bool tagged_;
  std::function<void(control::NodeIndex, std::uint64_t)> written_;
  std::function<void()> gone_;
  std::map<std::pair<std::uint32_t, bool>, job::OutputLines> lines_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<control::Chunk> chunks_;
  bool stopping_ = false;
  std::thread thread_; // last: it uses all of the others
};

} // namespace tributary::launch::run
