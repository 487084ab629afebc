#include "endpoint/mpi/collectives/communicator.hpp"

#include "endpoint/mpi/collectives/persistent_queue.hpp"
#include "endpoint/mpi/collectives/runtime.hpp"
#include "endpoint/mpi/collectives/setup.hpp"
#include "endpoint/mpi/collectives/shortcuts.hpp"

#include <fmt/format.h>

#include <array>

namespace tributary::mpi::collectives {

void progress() { Runtime::get()->progress(); }

Communicator::Communicator(Runtime& runtime, MPI_Comm comm) : runtime_(runtime), comm_(comm) {
  abilities_ = runtime.wanted_abilities();
  PMPI_Comm_size(comm, &size_);
  PMPI_Comm_rank(comm, &rank_);
  decide_alone();
}

void Communicator::decide_alone() {
  int inter = 0;
  PMPI_Comm_test_inter(comm_, &inter);
  const auto without = [this](Reason reason) {
    decided_ = true;
    reason_ = reason;
  };
  if (inter != 0) {
    without(Reason::inter_communicator);
  } else if (!runtime_.settings().on) {
    without(Reason::switched_off);
  } else if (size_ == 1) {
    without(Reason::one_rank);
  }
}

Communicator::~Communicator() = default;

std::string Communicator::name() const {
  std::array<char, MPI_MAX_OBJECT_NAME> text{};
  int length = 0;
  PMPI_Comm_get_name(comm_, text.data(), &length);
  return length > 0 ? text.data() : fmt::format("a communicator of {} ranks", size_);
}

void Communicator::set_up() {
  if (decided_) {
    return;
  }
  decided_ = true;
  Setup setup(runtime_, *this);
  setup.run();
}

void Communicator::set_up_without_choices() {
  makes_choices_ = false;
  set_up();
}

std::shared_ptr<PersistentQueue> Communicator::persistent_queue() {
  if (!queue_) {
    queue_ = std::make_shared<PersistentQueue>(runtime_, comm_, name());
  }
  return queue_;
}

bool Communicator::enter() {
  if (team_->arena().enter(team_->rank(), calls_ + 1)) {
    ++calls_;
    return true;
  }
  caches.forget(this);
  reason_ = Reason::fabric_failed;
  return false;
}

void Communicator::run(const intra_node::Call& call) {
  if (worker_) {
    worker_->drain(progress);
  }
  team_->run(call, progress);
  if (team_->was_rescued()) {
    runtime_.count_rescue();
  }
}

void Communicator::run_without_mpi(const intra_node::Call& call) {
  team_->run(call, [] {});
  if (team_->was_rescued()) {
    runtime_.count_rescue();
  }
}

void Communicator::run_later(const intra_node::Call& call, std::function<void()> done) {
  if (!worker_) {
    worker_ = std::make_unique<Worker>(*team_);
  }
  worker_->add(call, std::move(done));
}

void Communicator::drain() {
  if (queue_) {
    queue_->drain();
  }
  if (worker_) {
    worker_->drain(progress);
  }
}

void Communicator::begin_again() {
  decided_ = false;
  reason_ = Reason::none;
  hands_over_counts_ = false;
  decide_alone();
}

void Communicator::leave() {
  drain();
  worker_.reset();
  if (team_) {
    team_->leave();
    team_.reset();
  }
}

void Communicator::retire(Wait wait) {
  if (queue_) {
    queue_->close(wait);
    queue_.reset();
  }
  if (wait == Wait::for_all && hands_over_counts_) {
    drain();
    runtime_.hand_over_counts(comm_);
  }
  if (!team_) {
    return;
  }
  caches.forget(this);
  drain();
  worker_.reset();
  if (makes_choices_ && !runtime_.settings().tuning) {
    runtime_.remember(nodes(), choices_.known());
    print_choices(reason_ == Reason::none ? "at the end" : "until the fabric failed");
  }
  if (wait == Wait::for_all && !hands_over_counts_) {
    PMPI_Barrier(comm_);
  }
  leave();
  if (reason_ == Reason::none) {
    reason_ = Reason::setup_failed; // it is about to be freed; none of its calls arrive here any
                                    // more
  }
}

} // namespace tributary::mpi::collectives
