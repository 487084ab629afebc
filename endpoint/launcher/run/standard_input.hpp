// tributary-run's standard input on its way to rank 0: as fast as the rank reads, no faster.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tributary::launch::run {

class StandardInput {
public:
  /// `came` receives the bytes read, and "" at the end.
  StandardInput(boost::asio::io_context& io, std::function<void(std::string)> came);

  /// Does nothing when it has begun; nor in the background of a terminal, where reading would stop
  /// this process: then rank 0's input is empty.
  void begin();
  /// Bytes that rank 0 has read.
  void taken(std::uint64_t bytes);
  void stop();

private:
  void wait();
  void read();

  boost::asio::io_context& io_;
  std::function<void(std::string)> came_;
  boost::asio::posix::stream_descriptor descriptor_;
  std::uint64_t open_ = 0; ///< bytes read here and not yet read by rank 0
  bool begun_ = false;
  bool ended_ = false;
  bool waiting_ = false;
};

} // namespace tributary::launch::run
