// The generator's threads: one for each core it was given, each with a driver, a traffic of its
// own, and some of the queue pairs. The calling thread stays free to watch.
//
//   worker 0   queue pairs 0, 2, 4 ...   traffics of the same settings, each with the virtual hosts
//   worker 1   queue pairs 1, 3, 5 ...   of its own queue pairs: one scenario together
//
// Workers whose queue pairs are of one port hand frames of reductions to each other (hand_off.hpp);
// otherwise they share nothing while they run. Whatever concerns all of them (beginning and ending
// a measurement, looking at tallies) is done by the calling thread while all workers are paused
// between two iterations, which takes microseconds.
//
// All calls from one thread.
#pragma once

#include "pktgen/run/clock.hpp"
#include "pktgen/run/driver.hpp"
#include "pktgen/run/hand_off.hpp"
#include "pktgen/traffic/traffic.hpp"

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tributary::pktgen::run {

class WorkerPool {
public:
  /// Makes the traffic of a worker; `elsewhere` marks the queue pairs that it does not have.
  using MakeTraffic =
      std::function<std::unique_ptr<traffic::Traffic>(const std::vector<bool>& elsewhere)>;

  /// One worker per core; a single unpinned one without cores. Never more than queue pairs. `ports`
  /// by QueuePairIndex; `port_of_queue_pair` groups them by port, when empty each is a port.
  /// `longest_handed`: the longest frame that one worker hands to another, bytes.
  WorkerPool(const MakeTraffic& make, const std::vector<link::Port*>& ports, const Clock& clock,
             bool busy, const std::vector<unsigned>& cores,
             std::vector<scenario::PortIndex> port_of_queue_pair = {},
             std::size_t longest_handed = wire::reduction_frame_bytes);
  /// Ends the threads.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Starts the traffics; the threads exist and are paused. Throws std::runtime_error when one
  /// cannot be pinned to its core.
  void start();
  /// Lets them run.
  void go();
  /// Calls `f` while all workers are paused, then resumes them; `f` may access ports and call the
  /// methods below.
  template <typename F> auto standing_still(F&& f) {
    if (!running_) {
      return f();
    }
    pause();
    const GoOn go_on{*this};
    return f();
  }

  /// Rethrows the exception that ended one of the workers, if any; all are stopped for good then.
  void check();
  /// Stops all workers for good, whatever ended any of them; they can still be inspected.
  void halt() noexcept;
  /// Halts, and gives the traffics up (traffic.hpp), whatever ended any of them; for at most
  /// `giving_up_ns`, because a port may take no more frames.
  void give_up() noexcept;
  static constexpr std::uint64_t giving_up_ns = 1'000'000'000;

  /// Returns when it began. At most `operations` begin in it, if that is not 0 and the traffic can
  /// count them.
  TimeNs begin_measuring(std::uint64_t operations = 0);
  /// Returns when it stopped.
  TimeNs stop();

  [[nodiscard]] bool drained();
  [[nodiscard]] bool exhausted();
  /// All workers' together.
  [[nodiscard]] measure::Tally tally();
  /// All workers' together, since `begin_measuring`, or since `start`.
  [[nodiscard]] DriverCounts counts();
  /// By worker.
  [[nodiscard]] std::vector<DriverCounts> counts_by_worker();
  /// Whether workers share a port.
  [[nodiscard]] bool shares_ports() const { return hand_off_ != nullptr; }
  [[nodiscard]] std::size_t worker_of(scenario::QueuePairIndex queue_pair) const {
    return queue_pair % workers_.size();
  }
  [[nodiscard]] std::string waiting_for();
  [[nodiscard]] std::size_t size() const { return workers_.size(); }

private:
  struct Worker {
    std::unique_ptr<traffic::Traffic> traffic;
    std::unique_ptr<Driver> driver;
    std::thread thread;
  };
  enum class Command : std::uint32_t { pause, run, end };
  struct GoOn {
    WorkerPool& pool;
    ~GoOn() { pool.go(); }
  };

  void work(Worker& worker);
  /// All workers are paused when it returns; rethrows what ended one of them, and then they are
  /// stopped for good.
  void pause();
  void command(Command command);
  void agree();

  const Clock& clock_;
  std::vector<unsigned> cores_;
  std::unique_ptr<HandOff> hand_off_; ///< null: no port is shared
  std::vector<Worker> workers_;
  std::atomic<Command> command_{Command::pause};
  std::atomic<std::size_t> standing_{0}; ///< workers that are paused or have ended
  std::atomic<bool> failing_{false};     ///< claimed by the first worker that fails
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_; ///< written before `failed_`
  bool running_ = false;       ///< ordered to run
};

} // namespace tributary::pktgen::run
