#include "controlplane/turns/background_jobs.hpp"

#include "controlplane/turns/stall_detector.hpp"

#include <fmt/format.h>

namespace tributary::turns {

void BackgroundJobs::came_back(std::unique_ptr<BackgroundWork> piece) {
  came_back_.push_back(std::move(piece));
  environment_->request_reconcile();
}

void BackgroundJobs::begin(const Turn& /*turn*/) {
  std::vector<std::unique_ptr<BackgroundWork>> back = std::exchange(came_back_, {});
  for (const std::unique_ptr<BackgroundWork>& piece : back) {
    const Section section(*stalls_, piece->name());
    ++finished_;
    failed_ += piece->finish() ? 0 : 1;
  }
}

std::string BackgroundJobs::describe(std::string_view name, const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return fmt::format("{}: {}", name, error.what());
  } catch (...) {
    return fmt::format("{}: no exception of the standard library", name);
  }
}

} // namespace tributary::turns
