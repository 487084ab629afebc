// The format of answers to Prometheus, and a process's own metrics.
#include "lib/service/exposition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

namespace tributary::service {
namespace {

using testing::HasSubstr;

TEST(exposition, is_what_accept_prefers) {
  using enum Exposition;
  for (const auto& [accept, form] : {
           std::pair{"", openmetrics},
           {"*/*", openmetrics},
           {"application/openmetrics-text", openmetrics},
           {"text/plain", text},
           {"TEXT/Plain; Version=0.0.4", text},
           {"text/*", text},
           {"application/*;q=0.2, text/plain;q=0.1", openmetrics},
           {"application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.6,*/*;q=0.1", text},
           {"application/openmetrics-text;q=0, */*", text},
           {"application/json", text},
           {",;,q=,/;q=x", text},
           // The requests of Prometheus 2.54, and of an agent older than OpenMetrics.
           {"application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;"
            "version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            openmetrics},
           {"application/vnd.google.protobuf;q=0.7,text/plain;version=0.0.4;q=0.3", text},
       }) {
    EXPECT_EQ(exposition_for(accept), form) << accept;
  }
}

TEST(exposition, of_text_names_samples_instead_of_families) {
  const std::string families = "# TYPE frames counter\n# HELP frames Frames, # TYPE of them.\n"
                               "frames_total{port=\"a b\"} 7\n"
                               "# TYPE build info\n# HELP build The program.\n"
                               "build_info{version=\"1\"} 1\n"
                               "# TYPE up gauge\n# HELP up Up.\nup 1\n# EOF\n";
  EXPECT_EQ(exposed(families, Exposition::openmetrics), families);
  EXPECT_EQ(exposed(families, Exposition::text),
            "# TYPE frames_total counter\n# HELP frames_total Frames, # TYPE of them.\n"
            "frames_total{port=\"a b\"} 7\n"
            "# TYPE build_info gauge\n# HELP build_info The program.\n"
            "build_info{version=\"1\"} 1\n"
            "# TYPE up gauge\n# HELP up Up.\nup 1\n");
}

double value_of(const std::string& name) {
  const std::string text = process_metrics();
  const std::size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
}

TEST(process_metrics, are_of_this_process) {
  EXPECT_THAT(process_metrics(), HasSubstr("\ntributary_build_info{version=\""));
  EXPECT_GT(value_of("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GE(value_of("process_open_fds"), 3);
  EXPECT_GE(value_of("process_max_fds"), value_of("process_open_fds"));
  EXPECT_GE(value_of("process_cpu_seconds_total"), 0);
  const auto now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch());
  EXPECT_NEAR(value_of("process_start_time_seconds"), now.count(), 600);
}

} // namespace
} // namespace tributary::service
