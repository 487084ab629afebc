#include "endpoint/manager_client/address.hpp"

#include "endpoint/manager_client/environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

namespace tributary::manager_client {
namespace {

using Scheme = Address::Scheme;

TEST(Address, EachFormIsUnderstood) {
  EXPECT_EQ(parse_address("unix:/run/x.sock"),
            (Address{Scheme::unix_socket, "/run/x.sock", 7580, ""}));
  EXPECT_EQ(parse_address("unix:x.sock"), (Address{Scheme::unix_socket, "x.sock", 7580, ""}));
  EXPECT_EQ(parse_address("fm:443"), (Address{Scheme::https, "fm", 443, ""}));
  EXPECT_EQ(parse_address("[::1]:443"), (Address{Scheme::https, "::1", 443, ""}));
  EXPECT_EQ(parse_address("http://fm"), (Address{Scheme::http, "fm", 7580, ""}));
  EXPECT_EQ(parse_address("https://fm:443/proxy/"), (Address{Scheme::https, "fm", 443, "/proxy"}));
  EXPECT_EQ(parse_address("http://[::1]:80/"), (Address{Scheme::http, "::1", 80, ""}));
  EXPECT_EQ(parse_address("http://[fe80::1]"), (Address{Scheme::http, "fe80::1", 7580, ""}));
}

TEST(Address, TextReadsBackTheSame) {
  for (const char* text :
       {"unix:/run/x.sock", "http://fm:7580", "https://10.0.0.1:443/proxy", "http://[::1]:80"}) {
    EXPECT_EQ(parse_address(text).text(), text);
  }
}

TEST(Address, WhatIsNoneIsRefusedWithTheReason) {
  const auto reason = [](const char* text) -> std::string {
    try {
      static_cast<void>(parse_address(text));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(reason("fm").find("has no port"), std::string::npos);
  EXPECT_NE(reason("ftp://fm:80").find("neither unix:"), std::string::npos);
  EXPECT_NE(reason("").find("neither unix:"), std::string::npos);
  EXPECT_NE(reason("unix:").find("path of the socket is missing"), std::string::npos);
  EXPECT_NE(reason("http://").find("it is empty"), std::string::npos);
  EXPECT_NE(reason("http://:80").find("host is missing"), std::string::npos);
  EXPECT_NE(reason("http://user@fm").find("has a '@' in it"), std::string::npos);
  EXPECT_NE(reason("http://fm:").find("port is missing"), std::string::npos);
  EXPECT_NE(reason("http://fm:0").find("not a number from 1"), std::string::npos);
  EXPECT_NE(reason("http://[::1").find("not closed"), std::string::npos);
  EXPECT_NE(reason("http://fm/a?b").find("query"), std::string::npos);
}

TEST(Address, SeveralAreReadAndWrittenWithCommas) {
  const std::vector<Address> two = parse_addresses("http://a, unix:/run/b.sock");
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0], parse_address("http://a"));
  EXPECT_EQ(two[1], parse_address("unix:/run/b.sock"));
  EXPECT_EQ(parse_addresses(text_of(two)), two);
  for (const char* const wrong : {"", ",", "http://a,", ",http://a", "http://a,,http://b",
                                  "http://a,http://a:7580", "http://a;http://b"}) {
    EXPECT_THROW(static_cast<void>(parse_addresses(wrong)), std::invalid_argument) << wrong;
  }
}

class EnvironmentTest : public testing::Test {
protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name :
         {"TRIBUTARY_FABRIC_MANAGER_URL", "TRIBUTARY_FABRIC_MANAGER_TOKEN",
          "TRIBUTARY_FABRIC_MANAGER_CACERT", "TRIBUTARY_JOB_ID", "FI_CXI_COLL_FABRIC_MGR_URL",
          "FI_CXI_COLL_MCAST_TOKEN", "FI_CXI_COLL_FABRIC_MGR_CACERT", "FI_CXI_COLL_JOB_ID",
          "FI_CXI_COLL_JOB_STEP_ID"}) {
      ::unsetenv(name);
    }
  }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }
};

TEST_F(EnvironmentTest, WithoutAnythingItIsTheSocketOfThisMachine) {
  const ClientSettings settings = settings_from({});
  EXPECT_EQ(text_of(settings.addresses), "unix:/run/tributary/fabricd.sock");
  EXPECT_EQ(settings.token, "");
  EXPECT_EQ(settings.certificate_authority, "");
  EXPECT_EQ(job_from(nullptr), "");
}

TEST_F(EnvironmentTest, NamesOfExistingToolsAreUnderstood) {
  set("FI_CXI_COLL_FABRIC_MGR_URL", "https://fm:8443/a/fabric/collectives/multicasts");
  set("FI_CXI_COLL_MCAST_TOKEN", "theirs");
  set("FI_CXI_COLL_FABRIC_MGR_CACERT", "no");
  set("FI_CXI_COLL_JOB_ID", "cluster-17");
  const ClientSettings settings = settings_from({});
  EXPECT_EQ(text_of(settings.addresses), "https://fm:8443/a");
  EXPECT_EQ(settings.token, "theirs");
  EXPECT_EQ(settings.certificate_authority, "off");
  EXPECT_EQ(job_from(nullptr), "cluster-17");
}

TEST_F(EnvironmentTest, SeveralManagersHaveCommasBetweenThem) {
  set("FI_CXI_COLL_FABRIC_MGR_URL",
      "https://a:1/fabric/collectives/multicasts,https://b:1/fabric/collectives/multicasts");
  EXPECT_EQ(text_of(settings_from({}).addresses), "https://a:1,https://b:1");
  set("TRIBUTARY_FABRIC_MANAGER_URL", "unix:/run/a.sock, http://b");
  EXPECT_EQ(text_of(settings_from({}).addresses), "unix:/run/a.sock,http://b:7580");
}

TEST_F(EnvironmentTest, OursWinAndWhatTheCallerGaveWinsOverAll) {
  set("FI_CXI_COLL_FABRIC_MGR_URL", "https://theirs/fabric/collectives/multicasts");
  set("FI_CXI_COLL_MCAST_TOKEN", "theirs");
  set("FI_CXI_COLL_JOB_ID", "theirs");
  set("TRIBUTARY_FABRIC_MANAGER_URL", "http://ours:1/fabric/kept");
  set("TRIBUTARY_FABRIC_MANAGER_TOKEN", "ours");
  set("TRIBUTARY_FABRIC_MANAGER_CACERT", "/etc/ours.pem");
  set("TRIBUTARY_JOB_ID", "ours");
  ClientSettings settings = settings_from({});
  EXPECT_EQ(text_of(settings.addresses), "http://ours:1/fabric/kept")
      << "ours is taken as it stands";
  EXPECT_EQ(settings.token, "ours");
  EXPECT_EQ(settings.certificate_authority, "/etc/ours.pem");
  EXPECT_EQ(job_from(nullptr), "ours");
  settings = settings_from({.url = "unix:/x", .token = "", .certificate_authority = "yes"});
  EXPECT_EQ(text_of(settings.addresses), "unix:/x");
  EXPECT_EQ(settings.token, "") << "given as none";
  EXPECT_EQ(settings.certificate_authority, "");
  EXPECT_EQ(job_from("given"), "given");
}

TEST_F(EnvironmentTest, AStepIsOneOfTheirJobAlone) {
  set("FI_CXI_COLL_JOB_STEP_ID", "3");
  EXPECT_EQ(step_of(""), "") << "without their job";
  set("FI_CXI_COLL_JOB_ID", "cluster-17");
  EXPECT_EQ(step_of(job_from(nullptr)), "3");
  EXPECT_EQ(step_of("given"), "");
  set("TRIBUTARY_JOB_ID", "slurm-17");
  EXPECT_EQ(step_of(job_from(nullptr)), "") << "no request would end it";
  ::unsetenv("FI_CXI_COLL_JOB_STEP_ID");
  EXPECT_EQ(step_of("cluster-17"), "");
}

TEST_F(EnvironmentTest, FaultyAddressIsNamedWithItsVariable) {
  set("TRIBUTARY_FABRIC_MANAGER_URL", "fm");
  try {
    static_cast<void>(settings_from({}));
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("TRIBUTARY_FABRIC_MANAGER_URL"), std::string::npos);
  }
}

} // namespace
} // namespace tributary::manager_client
