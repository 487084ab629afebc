#include "endpoint/launcher/job/mpi_library.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tributary::launch::job {
namespace {

using Words = std::vector<std::string>;

TEST(MpiLibrary, IsKnownByWhatAProgramNeeds) {
  const std::string elf = "\x7F"
                          "ELF....";
  EXPECT_EQ(mpi_library_of(elf + std::string("libmpi.so.40\0libc.so.6", 22)), MpiLibrary::open_mpi);
  EXPECT_EQ(mpi_library_of(elf + std::string("libmpich.so.12\0libc.so.6", 24)), MpiLibrary::mpich);
  EXPECT_EQ(mpi_library_of(elf + "libc.so.6"), MpiLibrary::none);
  EXPECT_EQ(mpi_library_of("#!/bin/sh\n# libmpi.so.40"), MpiLibrary::none);
  EXPECT_EQ(mpi_library_of(""), MpiLibrary::none);
}

TEST(MpiLibrary, ProgramsOfTheHostLibraryOrPmixDoWithoutIt) {
  const std::string elf = "\x7F"
                          "ELF....";
  EXPECT_TRUE(does_without_mpi(elf + "libpmix.so.2"));
  EXPECT_TRUE(does_without_mpi(elf + "libtributary.so.0"));
  EXPECT_TRUE(does_without_mpi(elf + "libtributary_events.so.0"));
  EXPECT_FALSE(does_without_mpi(elf + std::string("libmpi.so.40\0libpmix.so.2", 25)));
  EXPECT_FALSE(does_without_mpi(elf + "libc.so.6"));
  EXPECT_FALSE(does_without_mpi("#!/bin/sh libpmix.so.2"));
}

TEST(MpiLibrary, WordsBehindInterpretersAndWrappersAreCandidates) {
  EXPECT_EQ(candidates_in({"env", "A=b", "-u", "C", "./pi", "8"}),
            (Words{"env", "C", "./pi", "8"}));
  EXPECT_EQ(candidates_in({"sh", "-c", "cd /tmp && ./pi>out; echo \"$?\""}),
            (Words{"sh", "cd", "/tmp", "./pi", "out", "echo", "$?"}));
  EXPECT_EQ(candidates_in({"./a=b/pi"}), (Words{"./a=b/pi"})) << "a path is no assignment";
  EXPECT_EQ(candidates_in({}), Words{});
}

TEST(MpiLibrary, AScriptsFirstLineNamesItsInterpreter) {
  EXPECT_EQ(candidates_in_script("#!/usr/bin/env -S python3 -u\nimport os\n"),
            (Words{"/usr/bin/env", "python3"}));
  EXPECT_EQ(candidates_in_script("#!/bin/sh"), Words{"/bin/sh"});
  EXPECT_EQ(candidates_in_script("# no interpreter\n"), Words{});
  EXPECT_TRUE(is_python("/srv/venv/bin/python3.11"));
  EXPECT_TRUE(is_python("python"));
  EXPECT_FALSE(is_python("/opt/python3/bin/perl"));
}

} // namespace
} // namespace tributary::launch::job
