// BackgroundWork that takes longer than a turn may, as its runner sees it: the process on a
// separate thread, tests where and when they like. background_jobs.hpp creates it. Pure.
#pragma once

#include <string_view>

namespace tributary::turns {

class BackgroundWork {
public:
  BackgroundWork() = default;
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;
  virtual ~BackgroundWork() = default;

  /// On any thread, once: uses only what it owns.
  virtual void run() noexcept = 0;
  /// In a turn of the manager, after `run`: delivers the result, or the failure if the work threw;
  /// then false.
  virtual bool finish() = 0;
  /// A literal, for logs.
  [[nodiscard]] virtual std::string_view name() const = 0;
};

} // namespace tributary::turns
