#include "controlplane/manager/work_beside.hpp"

#include "controlplane/manager/stall_detector.hpp"

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
    piece->finish();
  }
  return !back.empty();
}

} // namespace tributary::manager
