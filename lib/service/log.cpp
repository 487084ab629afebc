#include "lib/service/log.hpp"

#include "lib/service/log_limit.hpp"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace tributary::service {
namespace {

/// Standard error. Debug and trace lines, and errors that end the program, are always written.
class LimitedSink : public spdlog::sinks::stderr_color_sink_mt {
  using Base = spdlog::sinks::stderr_color_sink_mt;

public:
  void log(const spdlog::details::log_msg& message) override {
    bool is_admitted = true;
    if (message.level >= spdlog::level::info && message.level < spdlog::level::critical) {
      const auto now = std::chrono::steady_clock::now();
      const std::lock_guard lock(limit_mutex_);
      for (const std::string& line : limit_.left_out(now)) {
        spdlog::details::log_msg more(message.logger_name, spdlog::level::warn, line);
        Base::log(more);
      }
      is_admitted = limit_.admits({message.payload.data(), message.payload.size()}, now);
    }
    if (is_admitted) {
      Base::log(message);
    }
  }

private:
  std::mutex limit_mutex_;
  LogLimit limit_;
};

/// The priority prefix for journald: sd-daemon(3).
class Priority : public spdlog::custom_flag_formatter {
public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& into) override {
    constexpr std::string_view by_level[] = {"<7>", "<7>", "<6>", "<4>", "<3>", "<2>", "<6>"};
    const std::string_view text = by_level[message.level];
    into.append(text.data(), text.data() + text.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<Priority>();
  }
};

} // namespace

void start_logging(const std::string& program) {
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>(program, std::make_shared<LimitedSink>()));
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  // The journal adds its own times.
  formatter->add_flag<Priority>('P').set_pattern(
      std::getenv("JOURNAL_STREAM") != nullptr ? "%P%l: %v" : "%Y-%m-%d %H:%M:%S.%e%z %^%l%$: %v");
  spdlog::set_formatter(std::move(formatter));
}

void set_log_level(const std::string& level) { spdlog::set_level(spdlog::level::from_str(level)); }

} // namespace tributary::service
