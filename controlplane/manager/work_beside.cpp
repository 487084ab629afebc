#include "controlplane/manager/work_beside.hpp"

#include "controlplane/manager/stall_detector.hpp"

#include <fmt/format.h>

namespace tributary::manager {

void WorkBeside::came_back(std::unique_ptr<Work> piece) {
  came_back_.push_back(std::move(piece));
  environment_->request_reconcile();
}

bool WorkBeside::finish(StallDetector& stalls) {
  std::vector<std::unique_ptr<Work>> back = std::exchange(came_back_, {});
  for (const std::unique_ptr<Work>& piece : back) {
    const Section section(stalls, piece->name());
    ++finished_;
    failed_ += piece->finish() ? 0 : 1;
  }
  return !back.empty();
}

std::string WorkBeside::describe(std::string_view name, const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return fmt::format("{}: {}", name, error.what());
  } catch (...) {
    return fmt::format("{}: no exception of the standard library", name);
  }
}

} // namespace tributary::manager
