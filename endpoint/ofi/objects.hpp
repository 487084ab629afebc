// The objects that an application of libfabric has in its hands: each begins with the structure
// that libfabric knows it by. What they hold is guarded by their program's loop lock.
//
// Errors. No exception leaves a call: `guarded` makes an error number of it, and a line in
// libfabric's log (FI_LOG_LEVEL=warn), which says what happened, to what, and what to do.
#pragma once

#include "endpoint/messages/completion.hpp"
#include "endpoint/messages/messenger.hpp"
#include "endpoint/ofi/program.hpp"
#include "endpoint/ofi/settings.hpp"
#include "tributary/types.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tributary::ofi {

extern fi_provider provider;

void warn(fi_log_subsys subsystem, const std::string& text);

/// Copies as much as there is room for, with a zero behind it. Returns the length of all of it.
inline std::size_t copy_text(std::string_view text, char* out, std::size_t size) {
  if (out != nullptr && size > 0) {
    const std::size_t copied = std::min(text.size(), size - 1);
    text.copy(out, copied);
    out[copied] = '\0';
  }
  return text.size();
}

template <typename F> auto guarded(fi_log_subsys subsystem, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return -FI_ENOMEM;
  } catch (const std::exception& error) {
    warn(subsystem, error.what());
    return -FI_EIO;
  }
}

/// For calls that this provider does not have. Every place of every table needs a function.
template <typename R, typename... A> R not_there(A...) { return static_cast<R>(-FI_ENOSYS); }

/// The object behind one of libfabric's structures, which is its base.
template <typename T, typename Fid> T& of(Fid* fid) { return *static_cast<T*>(fid); }
/// The same for the structure at the beginning of all.
template <typename T, typename Base> T& of_fid(fid* f) {
  return *static_cast<T*>(reinterpret_cast<Base*>(f));
}

/// Registration with addresses: FI_MR_BASIC, whose name libfabric 2 warns of.
inline constexpr int mr_basic = 1 << 0;

struct Fabric : fid_fabric {};

/// The address of an end point, as applications exchange it. Little-endian.
struct Address {
  static constexpr std::uint32_t mark = 0x31615254; // "TRa1"
  std::uint32_t type = mark;
  std::uint32_t nid = 0;
  std::uint16_t end_point = 0;
  std::uint16_t vni = 0;
};
inline constexpr std::size_t address_bytes = sizeof(Address);
static_assert(address_bytes == 12);
/// libfabric leaves the upper half to providers.
inline constexpr std::uint32_t address_format = 0x80000000U | 0x7472;

struct Queue;
struct Counter;
struct Endpoint;

struct Domain : fid_domain {
  Fabric* fabric = nullptr;
  std::unique_ptr<Program> program;
  Endpoint* endpoint = nullptr; ///< one: a program has one end point
  bool is_virtual = false;      ///< peers name bytes of regions by their addresses here
  std::uint32_t mtu = 0;
  std::size_t users = 0;     ///< objects that are open
  bool link_is_down = false; ///< and the log says so

  [[nodiscard]] engine::Loop& loop() { return program->loop(); }
  [[nodiscard]] messages::Messenger& messenger() { return program->messenger(); }
};

struct AddressVector : fid_av {
  Domain* domain = nullptr;
  std::vector<std::optional<EndPoint>> entries;        ///< an fi_addr_t is a place in it
  std::unordered_map<std::uint32_t, fi_addr_t> places; ///< by EndPoint::key
};

struct Region : fid_mr {
  Domain* domain = nullptr;
};

struct EventQueue : fid_eq {};

/// What a completion queue holds of an operation.
struct Entry {
  void* context = nullptr;
  std::uint64_t flags = 0;
  std::size_t length = 0;
  std::uint64_t data = 0;
  std::uint64_t tag = 0;
  fi_addr_t source = FI_ADDR_NOTAVAIL;
  std::size_t cut = 0; ///< bytes of the message beyond the memory for it
  int error = 0;       ///< a positive number of libfabric's; 0: it is done
  int cause = 0;       ///< for fi_cq_strerror
};

struct Queue : fid_cq {
  Domain* domain = nullptr;
  fi_cq_format format = FI_CQ_FORMAT_CONTEXT;
  std::vector<Entry> ring;
  std::size_t first = 0;
  std::size_t count = 0;
  std::atomic<unsigned> signals{0}; ///< fi_cq_signal: a wait ends

  [[nodiscard]] bool full() const { return count == ring.size(); }
  /// Requires room.
  void push(const Entry& entry) { ring[(first + count++) % ring.size()] = entry; }
  [[nodiscard]] Entry& front() { return ring[first]; }
  void pop() {
    first = (first + 1) % ring.size();
    --count;
  }
};

struct Counter : fid_cntr {
  Domain* domain = nullptr;
  std::uint64_t value = 0;
  std::uint64_t errors = 0;
};

/// Kinds of operations that counters can be bound to.
enum class Counted : std::uint8_t { send, receive, read, write };
inline constexpr std::size_t counted_kinds = 4;

struct Endpoint : fid_ep {
  Domain* domain = nullptr;
  AddressVector* av = nullptr;
  Queue* transmit = nullptr;
  Queue* receive = nullptr;
  std::array<Counter*, counted_kinds> counters{};
  std::uint64_t caps = 0;
  std::uint64_t transmit_flags = 0; ///< of operations that name none
  std::uint64_t receive_flags = 0;
  bool transmit_selective = false;
  bool receive_selective = false;
  bool enabled = false;
  /// Messages that were claimed (FI_PEEK | FI_CLAIM), by their context.
  std::vector<std::pair<void*, std::uint32_t>> claimed;
};

/// Closes an object of a domain, unless the end point uses it.
template <typename T, typename IsUsed>
int close_unused(T& object, const char* what, const IsUsed& is_used) {
  Domain& domain = *object.domain;
  {
    auto lock = domain.loop().lock();
    if (domain.endpoint != nullptr && is_used(*domain.endpoint)) {
      warn(FI_LOG_CORE, std::string(what) + " is closed while the end point is bound to it");
      return -FI_EBUSY;
    }
    --domain.users;
  }
  delete &object;
  return 0;
}

// info.cpp

/// What this provider can do that the hints ask for; null, and a line in the log, if it cannot.
[[nodiscard]] fi_info* info_for(std::uint32_t version, const fi_info* hints,
                                const Settings& settings);
inline constexpr std::size_t inject_size = 1'024;

// The functions that open objects.
int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context);
int open_event_queue(fid_fabric* fabric, fi_eq_attr* attr, fid_eq** eq, void* context);
int open_address_vector(fid_domain* domain, fi_av_attr* attr, fid_av** av, void* context);
int open_queue(fid_domain* domain, fi_cq_attr* attr, fid_cq** cq, void* context);
int open_counter(fid_domain* domain, fi_cntr_attr* attr, fid_cntr** cntr, void* context);
int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** ep, void* context);
int register_memory(fid* domain, const void* buffer, std::size_t length, std::uint64_t access,
                    std::uint64_t offset, std::uint64_t key, std::uint64_t flags, fid_mr** mr,
                    void* context);

// queues.cpp

/// Makes progress, and hands completions to the queues and counters they are for, as far as these
/// have room. Requires the loop's lock.
void drain(Domain& domain);
/// As `drain` without progress.
void hand_out(Domain& domain);

// transfers.cpp
void set_transfer_tables(Endpoint& endpoint);

// atomics.cpp
extern fi_ops_atomic atomic_ops;
int query_atomic(fid_domain* domain, fi_datatype type, fi_op op, fi_atomic_attr* attr,
                 std::uint64_t flags);

} // namespace tributary::ofi
