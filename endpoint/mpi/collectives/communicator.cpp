#include "endpoint/mpi/collectives/communicator.hpp"

#include "endpoint/contexts/call_history.hpp"
#include "endpoint/mpi/collectives/persistent_queue.hpp"
#include "endpoint/mpi/collectives/runtime.hpp"
#include "endpoint/mpi/collectives/setup.hpp"
#include "endpoint/mpi/collectives/shortcuts.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

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

Communicator::~Communicator() {
  if (ranks_ != nullptr) {
    runtime_.teams().release(*ranks_);
  }
}

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

void Communicator::look_again() {
  if (reason_ == Reason::no_ids && contexts::looks_again_before(++calls_without_ids_)) {
    reason_ = Reason::none;
    Setup(runtime_, *this).run();
  }
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

void Communicator::move_if_heavy() {
  if (use_.history.take_question()) {
    Setup(runtime_, *this).move();
  }
}

void Communicator::count(intra_node::Call& call) {
  const std::size_t bytes = call.elements * call.plan.frame_bytes;
  const bool is_cut = !use_.has_long_parts && bytes > use_.team->arena().part_bytes();
  use_.history.count(pieces_of(call.plan, call.elements, use_.payload), is_cut);
  call.keeps_ids = use_.history.take_shrink();
}

bool Communicator::enter() {
  if (use_.team->enter()) {
    return true;
  }
  caches.forget(this);
  reason_ = Reason::fabric_failed;
  return false;
}

void Communicator::run(intra_node::Call call) {
  count(call);
  run_uncounted(call);
}

void Communicator::run_uncounted(const intra_node::Call& call) {
  if (worker_) {
    worker_->drain(progress);
  }
  use_.team->run(call, progress);
  if (use_.team->was_rescued()) {
    runtime_.count_rescue();
  }
}

void Communicator::run_without_mpi(intra_node::Call call) {
  count(call);
  use_.team->run(call, [] {});
  if (use_.team->was_rescued()) {
    runtime_.count_rescue();
  }
}

void Communicator::run_later(intra_node::Call call, std::function<void()> done) {
  count(call);
  if (!worker_) {
    worker_ = std::make_unique<Worker>(*use_.team);
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
  calls_without_ids_ = 0;
  was_refused_ = false;
  if (ranks_ != nullptr) {
    runtime_.teams().release(*std::exchange(ranks_, nullptr));
  }
  decide_alone();
}

void Communicator::stop_worker() {
  drain();
  worker_.reset();
}

void Communicator::stop_using() {
  caches.forget(this);
  stop_worker();
  if (makes_choices_ && !runtime_.settings().tuning) {
    use_.known = std::make_shared<const Knowledge>(choices_.known());
    runtime_.remember(nodes(), choices_.known());
    print_choices(reason_ == Reason::none ? "at the end" : "until the fabric failed");
  }
}

void Communicator::give_back() {
  if (use_.team) {
    stop_using();
    runtime_.teams().put_aside(std::exchange(use_, {}));
  }
}

void Communicator::give_up_team() {
  stop_using();
  runtime_.teams().finish(std::exchange(use_, {}));
}

void Communicator::retire(End end) {
  if (queue_) {
    queue_->close(end);
    queue_.reset();
  }
  if (end == End::freed && hands_over_counts_) {
    drain();
    runtime_.hand_over_counts(comm_);
  }
  if (!use_.team) {
    return;
  }
  if (end == End::freed) {
    // It waits for no rank: one that lacks a result of this communicator still gets it, from the
    // team, which answers until all have left it (teams.hpp).
    give_back();
  } else {
    stop_using();
    runtime_.teams().leave_later(std::exchange(use_, {}));
  }
  if (reason_ == Reason::none) {
    reason_ = Reason::setup_failed; // it is about to be freed; none of its calls arrive here any
                                    // more
  }
}

} // namespace tributary::mpi::collectives
