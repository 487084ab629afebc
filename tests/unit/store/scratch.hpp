// A directory of the test's own that goes with it, and what the tests put into stores.
//
// It is in memory where the system has such a place: waiting for a disk proves nothing that these
// tests are about, and what was written survives a killed process there as well.
#pragma once

#include "controlplane/store/store.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace tributary::test {

class Scratch {
public:
  enum class Place : std::uint8_t { memory, disk };
  explicit Scratch(Place place = Place::memory) {
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = place == Place::memory && ::access(memory.c_str(), W_OK) == 0;
    std::string pattern =
        (in_memory ? memory : std::filesystem::temp_directory_path()) / "tributary-store-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("no directory for the test: " + pattern);
    }
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::filesystem::path file(const std::string& name = "fabric.db") const {
    return path_ / name;
  }

private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline store::TreeForm some_form(std::uint32_t switches) {
  store::TreeForm form{
      .algorithm = "prism", .center = "spine0", .height = 1, .cables = {}, .parts = {}};
  for (std::uint32_t n = 0; n < switches; ++n) {
    const std::string leaf = "leaf" + std::to_string(n);
    const auto port = static_cast<std::uint16_t>(n);
    form.cables.push_back({{leaf, 63}, {"spine0", port}});
    form.parts.push_back({.at = leaf,
                          .parent = 63,
                          .children = {0, 1, port},
                          .wait_count = n + 3,
                          .depth = n == 0 ? 0U : 2U});
  }
  return form;
}

/// A job's group with all that belongs to it, as one batch of changes.
inline std::vector<store::Change> whole_group(std::uint64_t id, std::uint32_t members,
                                              std::uint32_t switches = 5) {
  std::vector<store::Change> changes;
  store::GroupRecord group;
  group.id = store::GroupId{id};
  group.job = "cluster-17";
  group.name = "group " + std::to_string(id);
  group.size = members;
  group.vni = Vni{1024};
  group.cookie = Cookie{0xFFFF'FFFFU - static_cast<std::uint32_t>(id)};
  group.root = 0;
  group.state = store::GroupState::ready;
  changes.emplace_back(group);
  for (std::uint32_t rank = 0; rank < members; ++rank) {
    changes.emplace_back(store::MemberRecord{.group = group.id,
                                             .rank = rank,
                                             .nid = Nid{rank},
                                             .host = "host" + std::to_string(rank),
                                             .state = store::MemberState::joined});
  }
  changes.emplace_back(store::TreeRecord{TreeNumber{static_cast<std::uint16_t>(id % max_trees)},
                                         group.id, 0, some_form(switches)});
  return changes;
}

/// Runs `f` and answers the kind of the StoreError it has to throw; its message goes to `message`.
template <typename F> store::StoreError::Kind error_of(F&& f, std::string* message = nullptr) {
  try {
    f();
  } catch (const store::StoreError& error) {
    if (message != nullptr) {
      *message = error.what();
    }
    return error.kind();
  }
  ADD_FAILURE() << "no StoreError";
  return store::StoreError::Kind::failed;
}

} // namespace tributary::test
