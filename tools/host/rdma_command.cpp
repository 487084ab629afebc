#include "tools/host/rdma_command.hpp"

#include "tools/host/digest.hpp"
#include "tools/host/rdma_options.hpp"
#include "tributary/random.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::host {

namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t stopped = 0;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<std::byte> bytes_of_seed(std::uint64_t seed, std::size_t count) {
  std::vector<std::byte> bytes(count);
  Random random(seed);
  for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(&bytes[at], &word, std::min(sizeof word, count - at));
  }
  return bytes;
}

std::vector<std::byte> file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
  if (!file.good() && !file.eof()) {
    throw std::runtime_error(fmt::format("'{}' cannot be read", path));
  }
  std::vector<std::byte> bytes(content.size());
  std::copy_n(reinterpret_cast<const std::byte*>(content.data()), content.size(), bytes.begin());
  return bytes;
}

void write_file(const std::string& path, const char* data, std::size_t size) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(data, static_cast<std::streamsize>(size));
  if (!file.flush()) {
    throw std::runtime_error(fmt::format("'{}' cannot be written", path));
  }
}

std::string hex(const tributary_rdma_region& region) {
  std::string text;
  for (const unsigned char each : region.bytes) {
    text += fmt::format("{:02x}", each);
  }
  return text;
}

class Command {
public:
  explicit Command(const RdmaOptions& options) : o_(options) {
    tributary_host_options on = o_.host;
    on.interface = o_.interface.c_str();
    if (const int code = tributary_open(&on, &host_); code != TRIBUTARY_OK) {
      throw std::runtime_error(tributary_last_error(nullptr));
    }
    closer_.reset(host_);
    demand(tributary_rdma_enable(host_, &o_.sizes));
  }
  void run() { o_.action == RdmaOptions::Action::serve ? serve() : transfer(); }

private:
  struct Close {
    void operator()(tributary_host* host) const { tributary_close(host); }
  };

  void demand(int code) const {
    if (code != TRIBUTARY_OK) {
      throw std::runtime_error(tributary_last_error(host_));
    }
  }
  static void say(const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }
  [[nodiscard]] boost::json::object counters() const {
    boost::json::object all;
    tributary_rdma_counter each{};
    for (std::size_t i = 0; tributary_rdma_get_counter(host_, i, &each) == TRIBUTARY_OK; ++i) {
      all[each.name] = each.value;
    }
    return all;
  }

  void serve() {
    memory_ = bytes_of_seed(o_.seed, o_.length);
    tributary_rdma_region region{};
    demand(
        tributary_rdma_register(host_, memory_.data(), memory_.size(), o_.rights, o_.vni, &region));
    say(o_.json ? boost::json::serialize(boost::json::object{{"region", hex(region)}})
                : fmt::format("region {}", hex(region)));
    if (o_.region_file) {
      const std::string line = hex(region) + "\n";
      const std::string fresh = *o_.region_file + ".new"; // so that no reader sees half of it
      write_file(fresh, line.data(), line.size());
      if (std::rename(fresh.c_str(), o_.region_file->c_str()) != 0) {
        throw std::runtime_error(fmt::format("'{}' cannot be written", *o_.region_file));
      }
    }
    const auto begin = Clock::now();
    std::uint64_t arrived = 0;
    while (stopped == 0 && (o_.arrivals == 0 || arrived < o_.arrivals) &&
           (o_.duration.count() == 0 || Clock::now() - begin < o_.duration)) {
      arrived += take_arrivals();
    }
    // After this the memory no longer changes: the report and the file show the same.
    demand(tributary_rdma_deregister(host_, &region));
    report_served(arrived);
    if (o_.output) {
      write_file(*o_.output, reinterpret_cast<const char*>(memory_.data()), memory_.size());
    }
  }

  std::uint64_t take_arrivals() {
    std::array<tributary_rdma_completion, 64> some{};
    std::size_t count = 0;
    constexpr std::int64_t between_looks_usec = 50'000;
    const int code =
        tributary_rdma_wait_any(host_, some.data(), some.size(), between_looks_usec, &count);
    if (code != TRIBUTARY_ERR_TIMEOUT) {
      demand(code);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const tributary_rdma_completion& each = some[i];
      say(o_.json ? boost::json::serialize(boost::json::object{{"arrival", each.immediate},
                                                               {"nid", each.nid},
                                                               {"offset", each.offset},
                                                               {"length", each.length}})
                  : fmt::format("arrived: {} bytes at offset {} from NID {:#x}, immediate data {}",
                                each.length, each.offset, each.nid, each.immediate));
    }
    return count;
  }

  void report_served(std::uint64_t arrived) const {
    const std::uint64_t sum = digest(memory_);
    if (o_.json) {
      say(boost::json::serialize(boost::json::object{{"served", true},
                                                     {"arrivals", arrived},
                                                     {"length", o_.length},
                                                     {"digest", fmt::format("{:016x}", sum)},
                                                     {"counters", counters()}}));
      return;
    }
    say(fmt::format("{} arrivals; the region's {} bytes have the digest {:016x}", arrived,
                    o_.length, sum));
    say_status();
  }

  void say_status() const {
    std::array<char, 4096> text{};
    static_cast<void>(tributary_rdma_status_text(host_, text.data(), text.size()));
    fmt::print("{}", text.data());
  }

  [[nodiscard]] bool writes() const { return o_.action == RdmaOptions::Action::write; }

  void transfer() {
    memory_ = !writes()  ? std::vector<std::byte>(o_.length)
              : o_.input ? file_content(*o_.input)
                         : bytes_of_seed(o_.seed, o_.length);
    region_ = o_.region;
    const tributary_rdma_work work{
        .region = &region_,
        .offset = o_.offset,
        .memory = memory_.data(),
        .length = memory_.size(),
        .user = 0,
        .immediate = o_.immediate.value_or(0),
        .flags = o_.immediate ? static_cast<std::uint32_t>(TRIBUTARY_RDMA_IMMEDIATE) : 0U};
    begin_ = Clock::now();
    while (done_ < o_.count) {
      while (done_ + in_progress_ < o_.count && in_progress_ < o_.in_flight &&
             Clock::now() >= not_before_ && start(work)) {
      }
      take_ended();
    }
    report_transfers(seconds_since(begin_));
    if (o_.output) {
      write_file(*o_.output, reinterpret_cast<const char*>(memory_.data()), memory_.size());
    }
  }

  /// False if it cannot start now, and is to be tried again later.
  bool start(const tributary_rdma_work& work) {
    std::uint64_t number = 0;
    const int code = writes() ? tributary_rdma_write_start(host_, &work, &number)
                              : tributary_rdma_read_start(host_, &work, &number);
    if (code != TRIBUTARY_OK) {
      note_failure(tributary_last_error(host_));
      return false;
    }
    ++in_progress_;
    return true;
  }

  void take_ended() {
    std::array<tributary_rdma_completion, 64> some{};
    std::size_t count = 0;
    const bool pauses = in_progress_ == 0; // an operation has just failed
    const int code = tributary_rdma_wait_any(host_, some.data(), some.size(),
                                             pauses ? pause.count() : o_.timeout.count(), &count);
    if (!pauses || code != TRIBUTARY_ERR_TIMEOUT) {
      demand(code);
    }
    in_progress_ -= count;
    for (std::size_t i = 0; i < count; ++i) {
      if (some[i].error == TRIBUTARY_OK) {
        ++done_;
        continue;
      }
      std::array<char, 512> text{};
      static_cast<void>(tributary_rdma_completion_text(&some[i], text.data(), text.size()));
      note_failure(text.data());
    }
  }

  static constexpr std::chrono::microseconds pause{100'000}; ///< after a failure

  /// Throws if it is the end. The program that serves the region may have restarted meanwhile.
  void note_failure(const std::string& why) {
    ++failed_;
    if (Clock::now() - begin_ >= o_.retry_for) {
      throw std::runtime_error(why);
    }
    if (failed_ == 1) {
      fmt::print(stderr, "tributary-host rdma: {}; trying again\n", why);
    }
    not_before_ = Clock::now() + pause;
    try {
      region_ = region_in(o_.region_argument);
    } catch (const std::exception&) { // the file is missing for the moment
    }
  }

  void report_transfers(double seconds) const {
    const std::uint64_t bytes = o_.count * memory_.size();
    const double gbps = seconds > 0 ? static_cast<double>(bytes) * 8e-9 / seconds : 0;
    const std::string sum = fmt::format("{:016x}", digest(memory_));
    if (o_.json) {
      say(boost::json::serialize(boost::json::object{{"transfers", o_.count},
                                                     {"failed", failed_},
                                                     {"bytes", bytes},
                                                     {"seconds", seconds},
                                                     {"gigabits_per_second", gbps},
                                                     {"digest", sum},
                                                     {"counters", counters()}}));
      return;
    }
    say(fmt::format("{} {} of {} bytes in {:.6f} s, {:.3f} Gbit/s, digest {}", o_.count,
                    writes() ? "writes" : "reads", memory_.size(), seconds, gbps, sum));
    say_status();
  }

  const RdmaOptions& o_;
  tributary_rdma_region region_{};
  Clock::time_point begin_;
  Clock::time_point not_before_; ///< no operation begins before
  std::uint64_t in_progress_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t failed_ = 0;
  std::vector<std::byte> memory_; ///< outlives the host, which uses it
  tributary_host* host_ = nullptr;
  std::unique_ptr<tributary_host, Close> closer_;
};

} // namespace

int rdma_command(int argc, char** argv) {
  int exit_code = 0;
  const auto options = read_rdma_options(argc, argv, exit_code);
  if (!options) {
    return exit_code;
  }
  for (const int signal : {SIGINT, SIGTERM}) {
    static_cast<void>(std::signal(signal, [](int) { stopped = 1; }));
  }
  try {
    Command(*options).run();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tributary-host rdma: {}\n", error.what());
    return 1;
  }
}

} // namespace tributary::host
