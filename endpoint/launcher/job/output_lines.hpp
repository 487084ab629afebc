// Output of ranks with a mark in front of every line. Pure.
//
//   [rank 3] iteration 10            standard output
//   [rank 3!] warning: ...           standard error
//
// Bytes arrive in pieces of any size; a line is handed on when it is complete, or longer than
// `longest_line`, or the rank has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::launch::job {

class OutputLines {
public:
  static constexpr std::size_t longest_line = 64 * 1024;

  OutputLines(std::uint32_t rank, bool errors);

  /// Adds output; returns the lines that can be written now.
  [[nodiscard]] std::string add(std::string_view bytes);
  /// The incomplete last line.
  [[nodiscard]] std::string end();

private:
  std::string mark_;
  std::string begun_;
};

} // namespace tributary::launch::job
