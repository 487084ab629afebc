#include "endpoint/launcher/run/fabric_thread.hpp"

#include "endpoint/manager_client/manager_error.hpp"
#include "lib/net/signals_blocked.hpp"

#include <boost/asio/post.hpp>

#include <fmt/format.h>

#include <utility>

namespace tributary::launch::run {

FabricThread::FabricThread(boost::asio::io_context& io, fabric::FabricSettings settings,
                           std::chrono::seconds ask_for)
    : io_(io), client_(std::move(settings)), ask_for_(ask_for) {
  const net::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

FabricThread::~FabricThread() {
  {
    const std::scoped_lock held(lock_);
    tasks_.clear();
    stopping_ = true;
  }
  if (is_asking_) { // for nothing any more
    client_.cancel();
  }
  changed_.notify_one();
  thread_.join();
}

void FabricThread::run() {
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock held(lock_);
      const auto wanted = [this] { return stopping_ || !tasks_.empty(); };
      if (next_renewal_) {
        changed_.wait_until(held, *next_renewal_, wanted);
      } else {
        changed_.wait(held, wanted);
      }
      if (stopping_) {
        break;
      }
      if (!tasks_.empty()) {
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
    }
    if (task) {
      task();
    }
    if (next_renewal_ && Clock::now() >= *next_renewal_) {
      renew();
    }
  }
  try {
    client_.release();
  } catch (const std::exception& error) {
    fmt::print(stderr, "tributary-run: the job stays with the fabric manager: {}\n", error.what());
  }
}

void FabricThread::renew() {
  constexpr std::chrono::seconds again{2};
  constexpr std::chrono::seconds grace{10}; // for a manager that restarts
  const std::chrono::seconds every = client_.renewed_every().value();
  const auto began = Clock::now();
  std::chrono::seconds next = every;
  try {
    client_.renew();
    if (std::exchange(said_, false)) {
      fmt::print(stderr, "tributary-run: the fabric manager answers again\n");
    }
    renewed_ = began;
  } catch (const manager_client::ManagerError& error) {
    if (error.kind() == manager_client::ManagerError::Kind::refused && error.is_final()) {
      fmt::print(stderr,
                 "tributary-run: the fabric manager has ended the job's allocation: {}; its ranks "
                 "continue, and may lose the network's reductions\n",
                 error.what());
      next_renewal_.reset();
      return;
    }
    if (Clock::now() - renewed_ >= every + grace && !std::exchange(said_, true)) {
      fmt::print(stderr,
                 "tributary-run: {}; the manager ends the job's allocation unless this launcher "
                 "renews it in time\n",
                 error.what());
    }
    next = again;
  }
  next_renewal_ = Clock::now() + next;
}

void FabricThread::work(std::function<void()> task) {
  {
    const std::scoped_lock held(lock_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void FabricThread::allocate(std::vector<fabric::NodeFacts> nodes,
                            std::function<void(fabric::Allocation, std::string)> done) {
  is_asking_ = true;
  work([this, nodes = std::move(nodes), done = std::move(done)] {
    fabric::Allocation allocation;
    std::string error;
    try {
      allocation = allocate(nodes);
      renewed_ = Clock::now();
      if (const auto every = client_.renewed_every()) {
        next_renewal_ = renewed_ + *every;
      }
    } catch (const std::exception& failed) {
      error = failed.what();
    }
    is_asking_ = false;
    boost::asio::post(io_, [done, allocation = std::move(allocation), error = std::move(error)] {
      done(allocation, error);
    });
  });
}

fabric::Allocation FabricThread::allocate(const std::vector<fabric::NodeFacts>& nodes) {
  using manager_client::ManagerError;
  try {
    return client_.allocate(nodes);
  } catch (const ManagerError& error) {
    if (ask_for_ == ask_for_.zero() || error.is_final() ||
        error.kind() == ManagerError::Kind::cancelled) {
      throw;
    }
    fmt::print(stderr, "tributary-run: {}; asking again for {} s\n", error.what(),
               ask_for_.count());
  }
  return client_.allocate(nodes, ask_for_);
}

void FabricThread::report(std::string node, messages::Hello hello) {
  work([this, node = std::move(node), hello = std::move(hello)] {
    try {
      client_.report(node, hello);
    } catch (const std::exception& error) {
      fmt::print(stderr, "tributary-run: {}\n", error.what());
    }
  });
}

void FabricThread::request(fabric::Request request, std::function<void(fabric::Reply)> done) {
  work([this, request = std::move(request), done = std::move(done)] {
    fabric::Reply reply;
    try {
      reply = client_.request(request);
    } catch (const std::exception& failed) {
      reply = {0, failed.what()};
    }
    boost::asio::post(io_, [done, reply = std::move(reply)] { done(reply); });
  });
}

} // namespace tributary::launch::run
