// The functions of rdma.h. Each checks its arguments and calls the host's RDMA.
#include "endpoint/library/boundary.hpp"
#include "endpoint/library/host.hpp"
#include "endpoint/library/rdma.hpp"
#include "endpoint/library/rdma_text.hpp"
#include "endpoint/library/region_handle.hpp"
#include "lib/net/steady_clock.hpp"
#include "tributary/rdma.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

using tributary::EndPoint;
using tributary::Nid;
using tributary::TimeNs;
using tributary::Vni;
using tributary::engine::Loop;
using tributary::library::fail;
using tributary::library::guarded;
using tributary::library::Rdma;
using tributary::library::require;
using tributary::library::Transfer;
namespace library = tributary::library;
namespace rdma = tributary::rdma;

namespace {

/// Runs `f(rdma, lock)` under the loop's lock, with RDMA as opened, or with defaults.
template <typename F> int with_rdma(tributary_host* host, F&& f) {
  if (host == nullptr) {
    return library::no_host("the host");
  }
  return guarded(host->last_error, [&]() -> int {
    auto lock = host->loop().lock();
    Rdma* used = host->rdma();
    return f(used != nullptr ? *used : host->make_rdma(lock, tributary_rdma_defaults()), lock);
  });
}

tributary_rdma_region_facts checked_facts(const tributary_rdma_region* region) {
  require(region != nullptr, "the region is NULL");
  const auto facts = library::facts_of(*region);
  require(facts.has_value(), "these bytes are not a region: tributary_rdma_register makes one, and "
                             "all 32 bytes of it must have come");
  return *facts;
}

enum class Direction { write, read };

struct Begun {
  int code = TRIBUTARY_OK;
  std::uint64_t number = 0;
};

Begun begin(tributary_host& host, Rdma& rdma, const tributary_rdma_work& work,
            Direction direction) {
  const tributary_rdma_region_facts facts = checked_facts(work.region);
  require(work.memory != nullptr || work.length == 0,
          "the memory is NULL though there are bytes to transfer");
  require((work.flags & ~static_cast<std::uint32_t>(TRIBUTARY_RDMA_IMMEDIATE)) == 0,
          "flags has a bit that is not in enum tributary_rdma_flags");
  const bool immediate = (work.flags & TRIBUTARY_RDMA_IMMEDIATE) != 0;
  require(!immediate || direction == Direction::write,
          "a read announces nothing at the peer: leave TRIBUTARY_RDMA_IMMEDIATE out");
  host.loop().throw_if_broken();
  rdma.follow();
  const EndPoint peer(Nid{facts.nid}, facts.end_point);
  const Vni vni{facts.vni};
  rdma.uses(vni);
  rdma::BeginError error = rdma::BeginError::no_completion;
  if (!rdma.transfers().full()) {
    const std::uint64_t number = rdma.transfers().begin(work.user);
    auto* const memory = static_cast<std::byte*>(work.memory);
    const rdma::RegionKey key{facts.key};
    const rdma::Begun begun =
        direction == Direction::write
            ? rdma.node().write(
                  {.peer = peer,
                   .vni = vni,
                   .memory = {memory, work.length},
                   .key = key,
                   .offset = work.offset,
                   .user = number,
                   .immediate = immediate ? std::optional(work.immediate) : std::nullopt})
            : rdma.node().read({.peer = peer,
                                .vni = vni,
                                .memory = {memory, work.length},
                                .key = key,
                                .offset = work.offset,
                                .user = number});
    if (begun.error == rdma::BeginError::none) {
      rdma.transfers().find(number)->id = begun.id;
      rdma.send();
      return {TRIBUTARY_OK, number};
    }
    rdma.transfers().release(number);
    error = begun.error;
  }
  return {
      fail(host.last_error, library::code_of(error),
           fmt::format("{} of {} bytes, {}: {}", direction == Direction::write ? "write" : "read",
                       work.length, library::peer_text(peer, vni), rdma::text_of(error))),
      0};
}

/// Writes the completion to `out` and forgets the transfer; returns its error and stores its text.
int conclude(tributary_host& host, Rdma& rdma, std::uint64_t number,
             tributary_rdma_completion* out) {
  const Transfer& transfer = *rdma.transfers().find(number);
  const tributary_rdma_completion completion =
      library::in_c(transfer.completion, number, transfer.user);
  rdma.transfers().release(number);
  if (out != nullptr) {
    *out = completion;
  }
  return completion.error == TRIBUTARY_OK
             ? TRIBUTARY_OK
             : fail(host.last_error, completion.error, library::text_of(completion));
}

bool is_over(Rdma& rdma, std::uint64_t number) {
  rdma.follow();
  return rdma.transfers().find(number)->state == Transfer::State::over;
}

int run(tributary_host* host, const tributary_rdma_work& work, Direction direction) {
  return with_rdma(host, [&](Rdma& rdma, Loop::Lock& lock) {
    const Begun begun = begin(*host, rdma, work, direction);
    if (begun.code != TRIBUTARY_OK) {
      return begun.code;
    }
    try {
      host->loop().wait_through(lock, [&] { return is_over(rdma, begun.number); });
    } catch (...) {
      // The link is gone. The memory belongs to the caller again.
      rdma.node().cancel(rdma.transfers().find(begun.number)->id);
      rdma.follow();
      rdma.transfers().release(begun.number);
      throw;
    }
    return conclude(*host, rdma, begun.number, nullptr);
  });
}

int start(tributary_host* host, const tributary_rdma_work* work, Direction direction,
          std::uint64_t* transfer) {
  if (transfer != nullptr) {
    *transfer = 0;
  }
  return with_rdma(host, [&](Rdma& rdma, Loop::Lock&) {
    require(work != nullptr && transfer != nullptr, "work or transfer is NULL");
    const Begun begun = begin(*host, rdma, *work, direction);
    *transfer = begun.number;
    return begun.code;
  });
}

/// Throws std::invalid_argument for an unknown number.
Transfer& known(Rdma& rdma, std::uint64_t number) {
  Transfer* const transfer = rdma.transfers().find(number);
  if (transfer == nullptr) {
    throw std::invalid_argument(fmt::format(
        "no transfer {:#x}: it was never started, or its completion was taken", number));
  }
  return *transfer;
}

/// With a thread of its own the host makes progress without this call.
void progress_unless_thread(Loop& loop) {
  if (loop.has_thread()) {
    loop.throw_if_broken();
  } else {
    loop.progress();
  }
}

std::size_t take(Rdma& rdma, std::span<tributary_rdma_completion> out) {
  rdma.follow();
  std::size_t count = 0;
  while (count < out.size()) {
    if (const std::uint64_t number = rdma.transfers().oldest_over(); number != 0) {
      const Transfer& transfer = *rdma.transfers().find(number);
      out[count++] = library::in_c(transfer.completion, number, transfer.user);
      rdma.transfers().release(number);
    } else if (const auto arrival = rdma.node().take_arrival()) {
      out[count++] = library::in_c(*arrival, 0, 0);
    } else {
      break;
    }
  }
  return count;
}

TimeNs deadline_in(std::int64_t timeout_usec) {
  constexpr std::int64_t longest_usec = 1'000'000'000'000'000; // thirty years
  return timeout_usec < 0 || timeout_usec > longest_usec
             ? tributary::never
             : tributary::net::steady_now() + static_cast<std::uint64_t>(timeout_usec) * 1000;
}

int copy_out(const std::string& all, char* text, std::size_t size) {
  require(text != nullptr || size == 0, "the text is NULL though its size is not 0");
  if (size > 0) {
    const std::size_t copied = std::min(all.size(), size - 1);
    std::memcpy(text, all.data(), copied);
    text[copied] = '\0';
  }
  return static_cast<int>(all.size());
}

} // namespace

tributary_rdma_options tributary_rdma_defaults() { return {}; }

int tributary_rdma_enable(tributary_host* host, const tributary_rdma_options* options) {
  if (host == nullptr) {
    return library::no_host("the host");
  }
  return guarded(host->last_error, [&] {
    auto lock = host->loop().lock();
    if (host->rdma() != nullptr) {
      return fail(host->last_error, TRIBUTARY_ERR_BUSY,
                  "RDMA has its sizes already: tributary_rdma_enable must be its first call");
    }
    host->make_rdma(lock, options == nullptr ? tributary_rdma_defaults() : *options);
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_rdma_describe(const tributary_rdma_region* region,
                            tributary_rdma_region_facts* facts) {
  return guarded(library::error_without_host(), [&] {
    require(facts != nullptr, "facts is NULL");
    *facts = checked_facts(region);
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_rdma_region_of(const tributary_rdma_region_facts* facts,
                             tributary_rdma_region* region) {
  return guarded(library::error_without_host(), [&] {
    require(facts != nullptr && region != nullptr, "facts or region is NULL");
    *region = library::handle_of(*facts);
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_rdma_register(tributary_host* host, void* memory, size_t length, int rights,
                            uint16_t vni, tributary_rdma_region* region) {
  constexpr int all_rights = TRIBUTARY_RDMA_PEERS_WRITE | TRIBUTARY_RDMA_PEERS_READ;
  const int code = with_rdma(host, [&](Rdma& rdma, Loop::Lock&) {
    require(region != nullptr, "no place for the region: it is NULL");
    require(memory != nullptr || length == 0, "the memory is NULL though the length is not 0");
    require((rights & ~all_rights) == 0,
            "rights has a bit that is not in enum tributary_rdma_rights");
    const auto key =
        rdma.node().register_region({static_cast<std::byte*>(memory), length},
                                    {.peers_write = (rights & TRIBUTARY_RDMA_PEERS_WRITE) != 0,
                                     .peers_read = (rights & TRIBUTARY_RDMA_PEERS_READ) != 0},
                                    Vni{vni});
    if (!key) {
      return fail(host->last_error, TRIBUTARY_ERR_FULL,
                  fmt::format("{} regions are registered, and there is room for no more; "
                              "deregister some, or give more in struct tributary_rdma_options",
                              rdma.node().regions_in_use()));
    }
    rdma.uses(Vni{vni});
    *region = library::handle_of({.nid = host->nid().value,
                                  .vni = vni,
                                  .rights = static_cast<std::uint16_t>(rights),
                                  .key = key->value,
                                  .length = length,
                                  .end_point = rdma.node().options().address.number});
    return static_cast<int>(TRIBUTARY_OK);
  });
  if (code != TRIBUTARY_OK || rights == 0) {
    return code;
  }
  return guarded(host->last_error, [&] {
    host->answer_peers();
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_rdma_deregister(tributary_host* host, const tributary_rdma_region* region) {
  return with_rdma(host, [&](Rdma& rdma, Loop::Lock&) {
    const tributary_rdma_region_facts facts = checked_facts(region);
    if (EndPoint(Nid{facts.nid}, facts.end_point) != rdma.node().options().address ||
        !rdma.node().deregister_region(rdma::RegionKey{facts.key})) {
      throw std::invalid_argument(fmt::format(
          "region {:#018x} of NID {:#x}, end point {} is not registered by this program "
          "(NID {:#x}, end point {})",
          facts.key, facts.nid, facts.end_point, host->nid().value,
          rdma.node().options().address.number));
    }
    rdma.send();
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_rdma_write(tributary_host* host, const tributary_rdma_region* region, uint64_t offset,
                         const void* memory, size_t length) {
  return run(host,
             {.region = region,
              .offset = offset,
              .memory = const_cast<void*>(memory), // a write only reads it
              .length = length,
              .user = 0,
              .immediate = 0,
              .flags = 0},
             Direction::write);
}

int tributary_rdma_read(tributary_host* host, const tributary_rdma_region* region, uint64_t offset,
                        void* memory, size_t length) {
  return run(host,
             {.region = region,
              .offset = offset,
              .memory = memory,
              .length = length,
              .user = 0,
              .immediate = 0,
              .flags = 0},
             Direction::read);
}

int tributary_rdma_write_start(tributary_host* host, const tributary_rdma_work* work,
                               uint64_t* transfer) {
  return start(host, work, Direction::write, transfer);
}

int tributary_rdma_read_start(tributary_host* host, const tributary_rdma_work* work,
                              uint64_t* transfer) {
  return start(host, work, Direction::read, transfer);
}

int tributary_rdma_test(tributary_host* host, uint64_t transfer, int* done,
                        tributary_rdma_completion* completion) {
  if (done != nullptr) {
    *done = 0;
  }
  return with_rdma(host, [&](Rdma& rdma, Loop::Lock&) {
    require(done != nullptr, "done is NULL");
    known(rdma, transfer);
    progress_unless_thread(host->loop());
    if (!is_over(rdma, transfer)) {
      return static_cast<int>(TRIBUTARY_OK);
    }
    *done = 1;
    return conclude(*host, rdma, transfer, completion);
  });
}

int tributary_rdma_wait(tributary_host* host, uint64_t transfer, int64_t timeout_usec,
                        tributary_rdma_completion* completion) {
  return with_rdma(host, [&](Rdma& rdma, Loop::Lock& lock) {
    const Transfer& waited = known(rdma, transfer);
    if (!host->loop().wait_until(
            lock, [&] { return is_over(rdma, transfer); }, deadline_in(timeout_usec))) {
      return fail(host->last_error, TRIBUTARY_ERR_TIMEOUT,
                  fmt::format("not complete after {} us; it continues\n{}", timeout_usec,
                              library::waiting_text(rdma.node(), waited.id)));
    }
    return conclude(*host, rdma, transfer, completion);
  });
}

int tributary_rdma_poll(tributary_host* host, tributary_rdma_completion* completions, size_t most,
                        size_t* count) {
  if (count != nullptr) {
    *count = 0;
  }
  return with_rdma(host, [&](Rdma& rdma, Loop::Lock&) {
    require(count != nullptr && (completions != nullptr || most == 0),
            "completions or count is NULL");
    progress_unless_thread(host->loop());
    *count = take(rdma, {completions, most});
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_rdma_wait_any(tributary_host* host, tributary_rdma_completion* completions,
                            size_t most, int64_t timeout_usec, size_t* count) {
  if (count != nullptr) {
    *count = 0;
  }
  return with_rdma(host, [&](Rdma& rdma, Loop::Lock& lock) {
    require(count != nullptr && completions != nullptr && most > 0,
            "completions or count is NULL, or there is no place for one");
    const auto taken = [&] {
      *count = take(rdma, {completions, most});
      return *count > 0;
    };
    if (!host->loop().wait_until(lock, taken, deadline_in(timeout_usec))) {
      return fail(host->last_error, TRIBUTARY_ERR_TIMEOUT,
                  fmt::format("no transfer completed after {} us\n{}", timeout_usec,
                              library::status_text(rdma.node())));
    }
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_rdma_cancel(tributary_host* host, uint64_t transfer) {
  return with_rdma(host, [&](Rdma& rdma, Loop::Lock&) {
    rdma.node().cancel(known(rdma, transfer).id);
    rdma.send();
    return static_cast<int>(TRIBUTARY_OK);
  });
}

int tributary_rdma_completion_text(const tributary_rdma_completion* completion, char* text,
                                   size_t size) {
  return guarded(library::error_without_host(), [&] {
    require(completion != nullptr, "the completion is NULL");
    return copy_out(library::text_of(*completion), text, size);
  });
}

int tributary_rdma_status_text(tributary_host* host, char* text, size_t size) {
  return with_rdma(host, [&](Rdma& rdma, Loop::Lock&) {
    return copy_out(library::status_text(rdma.node()), text, size);
  });
}

int tributary_rdma_get_counter(tributary_host* host, size_t index,
                               tributary_rdma_counter* counter) {
  return with_rdma(host, [&](Rdma& rdma, Loop::Lock&) {
    require(counter != nullptr, "the counter is NULL");
    bool found = false;
    std::size_t i = 0;
    // Names and texts are literals, and so end with a zero.
    rdma::for_each_counter(rdma.node().counters(), [&](std::string_view name, std::string_view text,
                                                       std::uint64_t value) {
      if (i++ == index) {
        *counter = {.name = name.data(), .text = text.data(), .value = value};
        found = true;
      }
    });
    require(found, "no counter has this number; numbers start at 0");
    return static_cast<int>(TRIBUTARY_OK);
  });
}
