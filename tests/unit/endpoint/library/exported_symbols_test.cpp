// The shared library shows its C functions and nothing else.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>

namespace {

TEST(SharedLibrary, ExportsTheCFunctionsAlone) {
  const std::string command = std::string("nm -D --defined-only ") + TRIBUTARY_SHARED_LIBRARY;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::set<std::string> functions;
  std::array<char, 512> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
    std::istringstream fields(line.data());
    std::string address;
    std::string type;
    std::string name;
    fields >> address >> type >> name;
    if (type != "A") { // the version's own name
      functions.insert(name.substr(0, name.find('@')));
    }
  }
  ASSERT_EQ(::pclose(pipe), 0);
  for (const std::string& name : functions) {
    EXPECT_EQ(name.rfind("tributary_", 0), 0U) << name << " is exported";
  }
  EXPECT_TRUE(functions.count("tributary_open") == 1 &&
              functions.count("tributary_allreduce") == 1);
}

} // namespace
