#include "endpoint/mpi/collectives/pending.hpp"

#include <algorithm>
#include <chrono>

namespace tributary::mpi::collectives {

namespace {

// MPI's query function of a request that is done.
int query(void*, MPI_Status* status) {
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  status->MPI_ERROR = MPI_SUCCESS;
  return MPI_SUCCESS;
}
int free_nothing(void*) { return MPI_SUCCESS; }
int cancel_nothing(void*, int) { return MPI_SUCCESS; }

} // namespace

Pending& Pending::of_process() {
  static Pending pending;
  return pending;
}

std::shared_ptr<Pending::One> Pending::add(MPI_Request* request) {
  auto one = std::make_shared<One>();
  PMPI_Grequest_start(query, free_nothing, cancel_nothing, nullptr, &one->request);
  *request = one->request;
  const std::lock_guard lock(mutex_);
  all_.push_back(one);
  ++count_;
  return one;
}

void Pending::done(One& one) {
  {
    const std::lock_guard lock(mutex_);
    one.done = true;
  }
  changed_.notify_all();
}

void Pending::notify() {
  const std::lock_guard lock(mutex_);
  for (auto at = all_.begin(); at != all_.end();) {
    One& one = **at;
    if (one.inner != MPI_REQUEST_NULL) {
      int flag = 0;
      PMPI_Test(&one.inner, &flag, MPI_STATUS_IGNORE);
      one.done = flag != 0;
    }
    if (!one.done) {
      ++at;
      continue;
    }
    if (one.finish) {
      one.finish();
    }
    PMPI_Grequest_complete(one.request);
    at = all_.erase(at);
    --count_;
  }
}

void Pending::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void Pending::wait_a_little() {
  constexpr std::chrono::microseconds little{200};
  std::unique_lock lock(mutex_);
  const bool polls = std::any_of(all_.begin(), all_.end(),
                                 [](const auto& one) { return one->inner != MPI_REQUEST_NULL; });
  const auto something = [this] {
    return woken_ ||
           std::any_of(all_.begin(), all_.end(), [](const auto& one) { return one->done.load(); });
  };
  changed_.wait_for(lock, polls ? little / 10 : little, something);
  woken_ = false;
}

bool Pending::holds(MPI_Request request) {
  const std::lock_guard lock(mutex_);
  return std::any_of(all_.begin(), all_.end(),
                     [request](const auto& one) { return one->request == request; });
}

} // namespace tributary::mpi::collectives
