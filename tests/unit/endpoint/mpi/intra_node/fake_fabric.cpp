#include "fake_fabric.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace tributary::mpi::intra_node::test {

namespace {

FakeFabric* the_one = nullptr;
thread_local std::string last_error;

int failed(int code, const std::string& text) {
  last_error = text;
  return code;
}

} // namespace

FakeFabric::FakeFabric() {
  EXPECT_EQ(the_one, nullptr);
  the_one = this;
}

FakeFabric::~FakeFabric() {
  EXPECT_TRUE(groups_.empty()) << "groups were not left";
  EXPECT_TRUE(hosts_.empty()) << "hosts were not closed";
  the_one = nullptr;
}

FakeFabric& FakeFabric::current() { return *the_one; }

int FakeFabric::next(std::deque<int>& answers) {
  if (answers.empty()) {
    return TRIBUTARY_OK;
  }
  const int code = answers.front();
  answers.pop_front();
  return code == TRIBUTARY_OK ? code : failed(code, "as the test says");
}

tributary_group* FakeFabric::find(const std::string& name) {
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const auto& one) { return one->name == name; });
  return found == groups_.end() ? nullptr : found->get();
}

void FakeFabric::answer(const std::string& name, int code) {
  const std::lock_guard lock(mutex_);
  answers_[name].push_back(code);
}

void FakeFabric::hold() {
  const std::lock_guard lock(mutex_);
  holds_ = true;
}

void FakeFabric::release() {
  const std::lock_guard lock(mutex_);
  holds_ = false;
  changed_.notify_all();
}

void FakeFabric::move(const std::string& name, std::uint32_t tree, std::uint32_t slots) {
  const std::lock_guard lock(mutex_);
  tributary_group* const group = find(name);
  ASSERT_NE(group, nullptr);
  group->is.tree = tree;
  group->is.slots = slots;
  ++group->is.moves;
}

void FakeFabric::check_returns(const std::string& name, int code) {
  const std::lock_guard lock(mutex_);
  tributary_group* const group = find(name);
  ASSERT_NE(group, nullptr);
  group->code = code;
}

std::vector<FakeFabric::Member> FakeFabric::joined() const {
  const std::lock_guard lock(mutex_);
  return joined_;
}

std::vector<std::string> FakeFabric::left() const {
  const std::lock_guard lock(mutex_);
  return left_;
}

std::vector<tributary_group_options> FakeFabric::ranges() const {
  const std::lock_guard lock(mutex_);
  std::vector<tributary_group_options> all;
  for (const auto& one : groups_) {
    if (one->name.empty()) {
      all.push_back(one->options);
    }
  }
  return all;
}

std::vector<std::uint32_t> FakeFabric::asked_moves() const {
  const std::lock_guard lock(mutex_);
  return asked_moves_;
}

int FakeFabric::abandoned() const {
  const std::lock_guard lock(mutex_);
  return abandoned_;
}

int FakeFabric::open(tributary_host** host) {
  const std::lock_guard lock(mutex_);
  *host = *hosts_.insert(new tributary_host).first;
  return TRIBUTARY_OK;
}

void FakeFabric::close(tributary_host* host) {
  const std::lock_guard lock(mutex_);
  EXPECT_TRUE(host == nullptr || hosts_.erase(host) == 1);
  delete host;
}

int FakeFabric::join_named(const tributary_named_group_options& options, tributary_group** group) {
  std::unique_lock lock(mutex_);
  joined_.push_back({options.name, options.rank, options.size, options.protocol.ids});
  changed_.wait(lock, [this] { return !holds_; });
  *group = nullptr;
  if (const int code = next(answers_[options.name]); code != TRIBUTARY_OK) {
    return code;
  }
  EXPECT_EQ(find(options.name), nullptr) << "it is a member";
  auto made = std::make_unique<tributary_group>();
  made->name = options.name;
  made->rank = options.rank;
  made->size = options.size;
  made->is = {.tree = 7,
              .twin_tree = TRIBUTARY_NO_TREE,
              .vni = 0x400,
              .cookie = 99,
              .root_rank = 1,
              .root_nid = 5,
              .disjoint = 0,
              .lease_msec = 30'000,
              .slots = 128,
              .payload = 1408,
              .in_switch_results = 0,
              .first_id = 0,
              .ids = 0,
              .first_sequence = 0,
              .moves = 0};
  *group = groups_.emplace_back(std::move(made)).get();
  return TRIBUTARY_OK;
}

int FakeFabric::join(const tributary_group_options& options, tributary_group** group) {
  const std::lock_guard lock(mutex_);
  *group = nullptr;
  if (const int code = next(joins); code != TRIBUTARY_OK) {
    return code;
  }
  auto made = std::make_unique<tributary_group>();
  made->options = options;
  *group = groups_.emplace_back(std::move(made)).get();
  return TRIBUTARY_OK;
}

int FakeFabric::leave(tributary_group* group) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [group](const auto& one) { return one.get() == group; });
  if (found == groups_.end()) {
    ADD_FAILURE() << "a group that is not joined is left";
    return TRIBUTARY_ERR_ARGUMENT;
  }
  if (group->request.group != nullptr) {
    return failed(TRIBUTARY_ERR_BUSY, "a request is outstanding");
  }
  if (!group->name.empty()) {
    left_.push_back(group->name);
  }
  groups_.erase(found);
  return TRIBUTARY_OK;
}

int FakeFabric::check(tributary_group* group) {
  const std::lock_guard lock(mutex_);
  return group->code;
}

int FakeFabric::membership(const tributary_group* group, tributary_membership* is) {
  const std::lock_guard lock(mutex_);
  *is = group->is;
  return TRIBUTARY_OK;
}

int FakeFabric::start(tributary_group* group, tributary_request** request) {
  const std::lock_guard lock(mutex_);
  *request = nullptr;
  if (const int code = next(starts); code != TRIBUTARY_OK) {
    return code;
  }
  group->request.group = group;
  *request = &group->request;
  return TRIBUTARY_OK;
}

int FakeFabric::wait(tributary_request** request) {
  const std::lock_guard lock(mutex_);
  if (*request == nullptr) {
    ADD_FAILURE() << "nothing is waited for";
    return TRIBUTARY_ERR_ARGUMENT;
  }
  const int code = (*request)->group->is_abandoned ? failed(TRIBUTARY_ERR_GROUP_ENDED, "abandoned")
                                                   : next(waits);
  if (code != TRIBUTARY_ERR_TIMEOUT && code != TRIBUTARY_ERR_INTERFACE_DOWN) {
    (*request)->group = nullptr;
    *request = nullptr;
  }
  return code;
}

int FakeFabric::keep_ids(tributary_group* group, std::uint32_t ids) {
  const std::lock_guard lock(mutex_);
  const int code = next(keeps);
  group->options.ids = code == TRIBUTARY_OK ? ids : group->options.ids;
  return code;
}

int FakeFabric::move(tributary_group* group, const tributary_group_options& options) {
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(options.ids, group->options.ids) << "it has other ids";
  asked_moves_.push_back(options.tree);
  return next(moves);
}

int FakeFabric::abandon(tributary_group* group) {
  const std::lock_guard lock(mutex_);
  group->is_abandoned = true;
  ++abandoned_;
  return TRIBUTARY_OK;
}

} // namespace tributary::mpi::intra_node::test

using tributary::mpi::intra_node::test::FakeFabric;

extern "C" {

tributary_host_options tributary_host_defaults(const char* interface) {
  tributary_host_options options{};
  options.interface = interface;
  return options;
}

int tributary_open(const tributary_host_options*, tributary_host** host) {
  return FakeFabric::current().open(host);
}

void tributary_close(tributary_host* host) { FakeFabric::current().close(host); }

const char* tributary_last_error(const tributary_host*) {
  return tributary::mpi::intra_node::test::last_error.c_str();
}

tributary_named_group_options tributary_named_group_defaults(const char* name) {
  tributary_named_group_options options{};
  options.name = name;
  return options;
}

int tributary_join_named(tributary_host*, const tributary_named_group_options* options,
                         tributary_group** group) {
  return FakeFabric::current().join_named(*options, group);
}

int tributary_join(tributary_host*, const tributary_group_options* options,
                   tributary_group** group) {
  return FakeFabric::current().join(*options, group);
}

int tributary_leave(tributary_group* group) { return FakeFabric::current().leave(group); }

int tributary_check(tributary_group* group) { return FakeFabric::current().check(group); }

int tributary_get_membership(const tributary_group* group, tributary_membership* is) {
  return FakeFabric::current().membership(group, is);
}

int tributary_move(tributary_group* group, const tributary_group_options* options) {
  return FakeFabric::current().move(group, *options);
}

int tributary_keep_ids(tributary_group* group, uint32_t ids) {
  return FakeFabric::current().keep_ids(group, ids);
}

int tributary_abandon(tributary_group* group) { return FakeFabric::current().abandon(group); }

int tributary_allreduce_start(tributary_group* group, const void*, void*, size_t, int, int,
                              tributary_request** request) {
  return FakeFabric::current().start(group, request);
}

int tributary_broadcast_start(tributary_group* group, void*, size_t, int, uint32_t,
                              tributary_request** request) {
  return FakeFabric::current().start(group, request);
}

int tributary_barrier_start(tributary_group* group, tributary_request** request) {
  return FakeFabric::current().start(group, request);
}

int tributary_wait(tributary_request** request, int64_t, tributary_result*) {
  return FakeFabric::current().wait(request);
}

int tributary_get_statistics(tributary_group*, tributary_statistics* statistics) {
  *statistics = {};
  statistics->completed = 3;
  return TRIBUTARY_OK;
}

int tributary_status_text(const tributary_group*, char* text, size_t size) {
  constexpr const char* lines = "id 64 waits\nid 65 waits\n";
  std::strncpy(text, lines, size - 1);
  return static_cast<int>(std::strlen(lines));
}

} // extern "C"
