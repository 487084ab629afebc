#include "launcher/fabric/fabric_interface.hpp"

#include <gtest/gtest.h>

namespace tributary::launch::fabric {
namespace {

messages::Interface interface(const std::string& name, const std::string& address) {
  messages::Interface made;
  made.set_name(name);
  made.set_address(address);
  return made;
}

TEST(FabricInterface, HasItsNidInItsMacAddress) {
  EXPECT_EQ(nid_of("02:00:00:01:23:45"), 0x12345U);
  EXPECT_EQ(nid_of("52:54:00:f1:23:45"), 0x12345U);
  for (const char* text : {"", "02:00:00:00:00:00", "02:00:00:0f:ff:ff", "02:00:00:00:00",
                           "02:00:00:00:00:01:", "02:00:00:00:00:0x", "020000000001"}) {
    EXPECT_EQ(nid_of(text), std::nullopt) << text;
  }
}

TEST(FabricInterface, IsTheOneThatIsNamed) {
  const std::vector<messages::Interface> all{interface("eth0", "52:54:00:00:00:07"),
                                             interface("eth1", "02:00:00:00:00:08")};
  EXPECT_EQ(fabric_interface(all, "eth0", {})->nid, 7U);
  EXPECT_FALSE(fabric_interface(all, "eth2", {}));
}

TEST(FabricInterface, IsOtherwiseTheOneThatTheManagerKnows) {
  const std::vector<messages::Interface> all{interface("eth0", "52:54:00:00:00:07"),
                                             interface("eth1", "02:00:00:00:00:08"),
                                             interface("eth2", "02:00:00:00:00:09")};
  EXPECT_EQ(fabric_interface(all, "", {})->name, "eth1") << "the first with a fabric address";
  EXPECT_EQ(fabric_interface(all, "", {9})->name, "eth2");
  EXPECT_EQ(fabric_interface(all, "", {7})->name, "eth1") << "not by chance of a vendor's address";
  EXPECT_FALSE(fabric_interface({all[0]}, "", {7}));
}

} // namespace
} // namespace tributary::launch::fabric
