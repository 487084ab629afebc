#include "launcher/run/fabric_thread.hpp"

#include "endpoint/manager/manager_error.hpp"
#include "net/signals_blocked.hpp"

#include <boost/asio/post.hpp>

#include <fmt/format.h>

#include <utility>

namespace tributary::launch::run {

FabricThread::FabricThread(boost::asio::io_context& io, fabric::FabricSettings settings)
    : io_(io), client_(std::move(settings)) {
  const net::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

FabricThread::~FabricThread() {
  {
    const std::scoped_lock held(lock_);
    tasks_.clear();
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void FabricThread::run() {
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock held(lock_);
      changed_.wait(held, [this] { return ending_ || !tasks_.empty(); });
      if (ending_) {
        break;
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
  try {
    client_.release();
  } catch (const std::exception& error) {
    fmt::print(stderr, "tributary-run: the job stays with the fabric manager: {}\n", error.what());
  }
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
  work([this, nodes = std::move(nodes), done = std::move(done)] {
    fabric::Allocation allocation;
    std::string error;
    try {
      allocation = client_.allocate(nodes);
    } catch (const std::exception& failed) {
      error = failed.what();
    }
    boost::asio::post(io_, [done, allocation = std::move(allocation), error = std::move(error)] {
      done(allocation, error);
    });
  });
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
