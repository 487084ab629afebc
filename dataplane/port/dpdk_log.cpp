#include "dataplane/port/dpdk_log.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <bpf/libbpf.h>
#include <rte_log.h>
#include <xdp/libxdp.h>

#include <spdlog/spdlog.h>

namespace tributary::port {
namespace {

thread_local bool is_quiet = false;
thread_local HeldDpdk* holding = nullptr;

spdlog::level::level_enum spdlog_level(int dpdk_level) {
  if (dpdk_level <= static_cast<int>(RTE_LOG_ERR)) {
    return spdlog::level::err;
  }
  if (dpdk_level == static_cast<int>(RTE_LOG_WARNING)) {
    return spdlog::level::warn;
  }
  return spdlog::level::debug;
}

/// A stream's write function: whole messages, since DPDK writes each with one call.
ssize_t write_line(void* /*cookie*/, const char* text, std::size_t length) {
  std::string_view line(text, length);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) {
    line.remove_suffix(1);
  }
  const int level = rte_log_cur_msg_loglevel();
  if (!line.empty() && !is_quiet && (holding == nullptr || !holding->take(level, line))) {
    spdlog::log(spdlog_level(level), "dpdk: {}", line);
  }
  return static_cast<ssize_t>(length);
}

template <typename Level>
int print_library(const char* name, Level level, Level debug, const char* format,
                  va_list arguments) {
  if (level == debug) {
    return 0;
  }
  std::string line(512, '\0');
  const int length = std::vsnprintf(line.data(), line.size(), format, arguments);
  line.resize(static_cast<std::size_t>(std::clamp(length, 0, 511)));
  while (!line.empty() && line.back() == '\n') {
    line.pop_back();
  }
  // Errors that matter are returned as codes, and reported in our own words.
  spdlog::debug("{}: {}", name, line);
  return length;
}

int print_libbpf(libbpf_print_level level, const char* format, va_list arguments) {
  return print_library("libbpf", level, LIBBPF_DEBUG, format, arguments);
}

int print_libxdp(libxdp_print_level level, const char* format, va_list arguments) {
  return print_library("libxdp", level, LIBXDP_DEBUG, format, arguments);
}

} // namespace

void redirect_library_logs() {
  cookie_io_functions_t functions{};
  functions.write = write_line;
  // Must live as long as DPDK may log, which is as long as the process.
  if (FILE* stream = ::fopencookie(nullptr, "w", functions); stream != nullptr) {
    std::setvbuf(stream, nullptr, _IOLBF, 4096);
    rte_openlog_stream(stream);
  }
  rte_log_set_global_level(spdlog::should_log(spdlog::level::debug) ? RTE_LOG_NOTICE
                                                                    : RTE_LOG_WARNING);
  libbpf_set_print(print_libbpf);
  libxdp_set_print(print_libxdp);
}

QuietDpdk::QuietDpdk(bool quiet) : before_(std::exchange(is_quiet, is_quiet || quiet)) {}

QuietDpdk::~QuietDpdk() { is_quiet = before_; }

HeldDpdk::HeldDpdk(std::string_view words) : words_(words) { holding = this; }

HeldDpdk::~HeldDpdk() {
  holding = nullptr;
  for (const Line& line : lines_) {
    spdlog::debug("dpdk: {}", line.text);
  }
}

bool HeldDpdk::take(int level, std::string_view text) {
  const bool is_one = text.find(words_) != std::string_view::npos;
  if (is_one) {
    lines_.push_back({level, std::string(text)});
  }
  return is_one;
}

void HeldDpdk::log() {
  for (const Line& line : std::exchange(lines_, {})) {
    spdlog::log(spdlog_level(line.level), "dpdk: {}", line.text);
  }
}

} // namespace tributary::port
