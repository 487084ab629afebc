// A rank that makes groups of PMIx and prints the results as one line of JSON.
//
//   group-rank make         a group of all, one of the even ranks, and two of other ranks and the
//                           same name concurrently: their context IDs, and the right neighbour's
//                           value
//   group-rank many COUNT   groups of all, one after the other: how many IDs differ
//   group-rank odd          a group that cannot be: of a rank that does not exist
//   group-rank die RANK     RANK kills itself while others wait for it in a group
//   group-rank leave RANK   RANK ends in good order before the others make a group with it
//   group-rank fence RANK   RANK ends in good order while the others wait for it in a fence
//   group-rank late RANK    RANK arrives 2 s after the others, which wait for 1 s
//   group-rank fetch RANK   what RANK put, which has ended
//   group-rank begin        begins with PMIx, ends it, begins again, and ends without ending it
//
// "status" is PMIx's status, "id" 0 without a context ID, "after" the time that it took, in
// milliseconds.
#include <fmt/format.h>

#include <pmix.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <signal.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Ranks = std::vector<pmix_rank_t>;

pmix_proc_t self;

void demand(pmix_status_t status, const char* doing) {
  if (status != PMIX_SUCCESS) {
    fmt::print(stderr, "group-rank {}: {}: {}\n", self.rank, doing, PMIx_Error_string(status));
    std::_Exit(3);
  }
}

std::int64_t ms_since(Clock::time_point begun) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun).count();
}

struct Group {
  pmix_status_t status = PMIX_SUCCESS;
  std::size_t id = 0; ///< 0: none was given
  std::int64_t after_ms = 0;
};

struct Wanted {
  int seconds = 0;
  bool id = true;
};

Group construct(const char* name, const Ranks& ranks, const Wanted& wanted = {}) {
  std::vector<pmix_proc_t> members(ranks.size());
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    PMIX_PROC_LOAD(&members[at], self.nspace, ranks[at]);
  }
  std::vector<pmix_info_t> infos;
  const auto add = [&](const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t& info = infos.emplace_back();
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, key, value, type);
  };
  const bool yes = true;
  if (wanted.id) {
    add(PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
  }
  if (wanted.seconds != 0) {
    add(PMIX_TIMEOUT, &wanted.seconds, PMIX_INT);
  }
  Group group;
  pmix_info_t* results = nullptr;
  std::size_t count = 0;
  const auto begun = Clock::now();
  group.status = PMIx_Group_construct(name, members.data(), members.size(), infos.data(),
                                      infos.size(), &results, &count);
  group.after_ms = ms_since(begun);
  for (std::size_t at = 0; at < count; ++at) {
    if (PMIX_CHECK_KEY(&results[at], PMIX_GROUP_CONTEXT_ID)) {
      pmix_status_t status = PMIX_SUCCESS;
      PMIX_VALUE_GET_NUMBER(status, &results[at].value, group.id, std::size_t);
      demand(status, PMIX_GROUP_CONTEXT_ID);
      group.id = group.id == SIZE_MAX ? 0 : group.id; // libpmix 4.2, where none was asked for
    }
  }
  return group;
}

Ranks every(pmix_rank_t first, pmix_rank_t end, pmix_rank_t step = 1) {
  Ranks ranks;
  for (pmix_rank_t rank = first; rank < end; rank += step) {
    ranks.push_back(rank);
  }
  return ranks;
}

std::string text_of(const char* name, const Group& group) {
  return fmt::format(R"(, "{}": {{"status": {}, "id": {}, "after": {}}})", name, group.status,
                     group.id, group.after_ms);
}

pmix_value_t* get(pmix_rank_t rank, const char* key) {
  pmix_proc_t of;
  PMIX_PROC_LOAD(&of, self.nspace, rank);
  pmix_value_t* value = nullptr;
  return PMIx_Get(&of, key, nullptr, 0, &value) == PMIX_SUCCESS ? value : nullptr;
}

std::string card_of(pmix_rank_t rank) {
  const pmix_value_t* const card = get(rank, "test.card");
  return fmt::format(R"(, "card": "{}")", card == nullptr ? "none" : card->data.string);
}

void put_card() {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  const std::string card = fmt::format("card of {}", self.rank);
  value.type = PMIX_STRING;
  value.data.string = const_cast<char*>(card.c_str());
  demand(PMIx_Put(PMIX_GLOBAL, "test.card", &value), "PMIx_Put");
  demand(PMIx_Commit(), "PMIx_Commit");
}

std::string make(pmix_rank_t size) {
  const Group all = construct("all", every(0, size));
  std::string line = text_of("all", all) + card_of((self.rank + 1) % size);
  // On one node the library distinguishes groups only by their names.
  line += text_of(
      "half", construct("half", self.rank < size / 2 ? every(0, size / 2) : every(size / 2, size)));
  line += text_of(
      "here", construct("here", self.rank < size / 2 ? every(0, size / 2) : every(size / 2, size),
                        {.id = false}));
  if (self.rank % 2 == 0) {
    line += text_of("even", construct("even", every(0, size, 2)));
  }
  line += text_of("plain", construct("plain", every(0, size), {.id = false}));
  for (const char* const name : {"all", "half", "here", "even", "plain"}) {
    if (std::string_view(name) != "even" || self.rank % 2 == 0) {
      demand(PMIx_Group_destruct(name, nullptr, 0), "PMIx_Group_destruct");
    }
  }
  return line + text_of("again", construct("all", every(0, size)));
}

std::string many(pmix_rank_t size, int count) {
  std::set<std::size_t> ids;
  for (int at = 0; at < count; ++at) {
    const std::string name = fmt::format("group {}", at % 10);
    const Group group = construct(name.c_str(), every(0, size));
    demand(group.status, "PMIx_Group_construct");
    ids.insert(group.id);
    demand(PMIx_Group_destruct(name.c_str(), nullptr, 0), "PMIx_Group_destruct");
  }
  return fmt::format(R"(, "ids": {}, "lowest": {})", ids.size(), ids.empty() ? 0 : *ids.begin());
}

void end_now() {
  fmt::print("{{\"rank\": {}}}\n", self.rank);
  std::fflush(stdout);
  demand(PMIx_Finalize(nullptr, 0), "PMIx_Finalize");
  std::_Exit(0);
}

/// A rank that is missing when the others need it.
std::string without(pmix_rank_t size, std::string_view how, pmix_rank_t other) {
  const Ranks all = every(0, size);
  if (how != "fetch") { // a group gives its members the values that all have put
    demand(construct("first", all).status, "PMIx_Group_construct");
  }
  if (how == "late") {
    if (self.rank == other) {
      std::this_thread::sleep_for(2s);
    }
    const Group late = construct("late", all, {.seconds = 1});
    if (self.rank != other) {
      std::this_thread::sleep_for(2s); // it arrives, too late
    }
    return text_of("late", late) + text_of("again", construct("late", all, {.seconds = 10}));
  }
  if (self.rank == other) {
    std::this_thread::sleep_for(300ms);
    if (how == "die") {
      ::kill(::getpid(), SIGKILL);
    }
    end_now();
  }
  if (how == "leave" || how == "fetch") {
    std::this_thread::sleep_for(1s); // it has ended
  }
  if (how == "fetch") {
    return card_of(other);
  }
  if (how == "fence") {
    pmix_proc_t each;
    PMIX_PROC_LOAD(&each, self.nspace, PMIX_RANK_WILDCARD);
    Group fence;
    const auto begun = Clock::now();
    fence.status = PMIx_Fence(&each, 1, nullptr, 0);
    fence.after_ms = ms_since(begun);
    return text_of("failed", fence);
  }
  std::string line = text_of("failed", construct("failing", all));
  line += text_of("later", construct("later", all));
  Ranks rest = all;
  std::erase(rest, other);
  return line + text_of("rest", construct("rest", rest));
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "make";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  demand(PMIx_Init(&self, nullptr, 0), "PMIx_Init");
  const pmix_value_t* const job_size = get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
  const pmix_rank_t size = job_size == nullptr ? 0 : job_size->data.uint32;
  std::string line = fmt::format("{{\"rank\": {}", self.rank);
  put_card();
  if (what == "make") {
    line += make(size);
  } else if (what == "many") {
    line += many(size, number);
  } else if (what == "begin") {
    demand(PMIx_Finalize(nullptr, 0), "PMIx_Finalize");
    demand(PMIx_Init(&self, nullptr, 0), "PMIx_Init");
    std::_Exit(0);
  } else if (what == "odd") {
    Ranks more = every(0, size);
    more.push_back(size + 7);
    line += text_of("nobody", construct("nobody", more));
    line += text_of("after", construct("after", every(0, size)));
  } else {
    line += without(size, what, static_cast<pmix_rank_t>(number));
  }
  fmt::print("{}}}\n", line);
  std::fflush(stdout);
  const pmix_status_t ended = PMIx_Finalize(nullptr, 0);
  return ended == PMIX_SUCCESS ? 0 : 4;
}
