// Computations that run beside the manager, on a snapshot, and deliver their result as an event.
//
//   beside.give("unicast routes",
//               [fabric = graph] { return computed(fabric); },         beside, in order
//               [this](Tables tables) { take_in(std::move(tables)); },  in a turn of the manager
//               [this](const std::string& why) { do_without(why); });   or this, when it threw
//
// The first is a pure function of what it owns, which nothing else changes: numbers, plain data, a
// copy of the graph (a snapshot, cheap to take). It is destroyed where it ran, so that a large
// snapshot costs no turn. The second is called in a later turn, and may change the manager; its
// input may be outdated by then, which the caller has to check: by the version that it gave out,
// for example, and it submits the work again when that is not the latest.
//
// Computations run one after the other, in the order given. One that throws fails alone: the turn
// continues, and its owner gets the reason instead of a result, so that nothing waits forever.
//
// Pure: the environment runs them (`Environment::work`, `Manager::worked`).
#pragma once

#include "controlplane/turns/background_work.hpp"
#include "controlplane/turns/controller.hpp"
#include "controlplane/turns/environment.hpp"

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tributary::turns {

class BackgroundJobs final : public Controller {
public:
  BackgroundJobs(Environment& environment, StallDetector& stalls)
      : environment_(&environment), stalls_(&stalls) {}

  /// `name` is a literal. `failed` gets a text for the log: the name, and what was thrown.
  template <typename Compute, typename Then, typename Failed>
  void give(std::string_view name, Compute compute, Then then, Failed failed) {
    ++given_;
    environment_->work(std::make_unique<Piece<Compute, Then, Failed>>(
        name, std::move(compute), std::move(then), std::move(failed)));
  }

  /// Takes back work that has run; the next turn finishes it.
  void came_back(std::unique_ptr<BackgroundWork> piece);

  // ---- Controller ----

  [[nodiscard]] std::string_view name() const override { return "computations"; }
  /// Finishes all that have returned, in that order.
  void begin(const Turn& turn) override;

  /// Numbers of computations submitted, unfinished, and failed.
  [[nodiscard]] std::uint64_t given() const { return given_; }
  [[nodiscard]] std::uint64_t under_way() const { return given_ - finished_; }
  [[nodiscard]] std::uint64_t failed() const { return failed_; }

private:
  template <typename Compute, typename Then, typename Failed>
  class Piece final : public BackgroundWork {
  public:
    Piece(std::string_view name, Compute compute, Then then, Failed failed)
        : name_(name), compute_(std::move(compute)), then_(std::move(then)),
          failed_(std::move(failed)) {}

    void run() noexcept override {
      try {
        result_.emplace((*compute_)());
      } catch (...) {
        failure_ = std::current_exception();
      }
      compute_.reset();
    }
    bool finish() override {
      if (failure_) {
        failed_(describe(name_, failure_));
        return false;
      }
      then_(*std::move(result_));
      return true;
    }
    [[nodiscard]] std::string_view name() const override { return name_; }

  private:
    std::string_view name_;
    std::optional<Compute> compute_;
    Then then_;
    Failed failed_;
    std::optional<std::invoke_result_t<Compute&>> result_;
    std::exception_ptr failure_;
  };
  /// "unicast routes: std::bad_alloc"
  [[nodiscard]] static std::string describe(std::string_view name,
                                            const std::exception_ptr& failure);

  Environment* environment_;
  StallDetector* stalls_;
  std::vector<std::unique_ptr<BackgroundWork>> came_back_;
  std::uint64_t given_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t failed_ = 0;
};

} // namespace tributary::turns
