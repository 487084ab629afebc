// An environment without events of its own, for parts of the manager that are tested alone.
#pragma once

#include "controlplane/turns/environment.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::manager {

class QuietEnvironment final : public turns::Environment {
public:
  TimeNs now() override { return time; }
  std::uint64_t processor_ns() override { return 0; }
  std::string wall_time() override { return {}; }
  void request_reconcile() override { ++turns_wanted; }
  void store(std::function<std::vector<records::Change>()> changes) override {
    writes.push_back(changes());
  }
  void work(std::unique_ptr<turns::BackgroundWork>) override {}
  void send(transaction::SessionNumber, const control::ManagerMessage&) override {}
  void close(transaction::SessionNumber, std::string_view) override {}
  void stalled(const std::string&) override {}

  void pass_ms(std::uint64_t ms) { time = time + ms * 1'000'000; }

  TimeNs time{1'000'000'000};
  int turns_wanted = 0;
  std::vector<std::vector<records::Change>> writes; ///< none of them completes on its own
};

} // namespace tributary::manager
