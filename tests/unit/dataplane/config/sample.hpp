// Small configuration files, to inject one fault each.
#pragma once

#include "dataplane/config/parse.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tributary::config {

/// Line 1 is [process]; see the line numbers behind each line.
inline const std::string two_ports = "[process]\n"          // 1
                                     "workers = 1\n"        // 2
                                     "[[switch]]\n"         // 3
                                     "name = \"leaf0\"\n"   // 4
                                     "[[switch.port]]\n"    // 5
                                     "name = \"up\"\n"      // 6
                                     "interface = \"e0\"\n" // 7
                                     "[[switch.port]]\n"    // 8
                                     "name = \"host\"\n"    // 9
                                     "interface = \"e1\"\n" // 10
                                     "nid = 0x12345\n"      // 11
                                     "vnis = [1024, 7]\n";  // 12

/// `two_ports` plus lines from 13 on.
inline std::string with(const std::string& more) { return two_ports + more; }

/// The findings of a text that must be refused.
inline std::vector<configuration::Diagnostic> findings_of(const std::string& text,
                                                          const Machine& machine = {}) {
  try {
    static_cast<void>(parse_text(text, "test.toml", machine));
  } catch (const configuration::ConfigError& e) {
    return e.findings();
  }
  ADD_FAILURE() << "accepted:\n" << text;
  return {};
}

/// Expects exactly one finding, and returns it.
inline configuration::Diagnostic finding_of(const std::string& text, const Machine& machine = {}) {
  const auto all = findings_of(text, machine);
  EXPECT_EQ(all.size(), 1U);
  for (std::size_t i = 1; i < all.size(); ++i) {
    ADD_FAILURE() << "also: " << all[i].message("test.toml");
  }
  return all.empty() ? configuration::Diagnostic{} : all.front();
}

} // namespace tributary::config
