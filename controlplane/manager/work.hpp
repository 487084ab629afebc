// A piece of work that takes longer than a turn may, as whoever runs it sees it: the process on a
// thread of its own, tests where and when they like. How one is made: work_beside.hpp. Pure.
#pragma once

#include <string_view>

namespace tributary::manager {

class Work {
public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  /// On any thread, once: touches nothing but what it owns.
  virtual void run() noexcept = 0;
  /// In a turn of the manager, behind `run`: takes in the result, or that there is none because the
  /// work threw; then false.
  virtual bool finish() = 0;
  /// A literal, for logs.
  [[nodiscard]] virtual std::string_view name() const = 0;
};

} // namespace tributary::manager
