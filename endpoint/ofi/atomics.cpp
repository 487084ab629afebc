// Atomic operations: libfabric's calls, each of which names one operation of the messenger. They
// are done by the peer's program, one after the other.
#include "endpoint/ofi/calls.hpp"
#include "endpoint/ofi/objects.hpp"

#include "tributary/wire/atomic.hpp"
#include "tributary/wire/segment.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tributary::ofi {

namespace {

using wire::AtomicOperation;
using wire::AtomicType;

static_assert(static_cast<unsigned>(FI_MSWAP) + 1 == wire::atomic_operations &&
              static_cast<unsigned>(AtomicOperation::swap_bits) == FI_MSWAP &&
              static_cast<unsigned>(AtomicOperation::read) == FI_ATOMIC_READ);
static_assert(static_cast<unsigned>(FI_DOUBLE_COMPLEX) + 1 == wire::atomic_types &&
              static_cast<unsigned>(AtomicType::float32) == FI_FLOAT);

enum class How : std::uint8_t { write, fetch, compare };

/// What a call asks for, if it is there.
struct Asked {
  fi_addr_t place = FI_ADDR_UNSPEC; ///< of the peer
  std::size_t count = 0;
  const void* operand = nullptr;
  const void* compare = nullptr;
  void* old = nullptr;
  std::uint64_t address = 0; ///< in the peer's region
  std::uint64_t key = 0;
  unsigned type = 0;
  unsigned op = 0;
  void* context = nullptr;
  std::uint64_t flags = 0;
  bool silent = false; ///< whatever the flags say
};

bool is_there(How how, unsigned type, unsigned op) {
  if (type >= wire::atomic_types || op >= wire::atomic_operations ||
      !wire::is_atomic(static_cast<AtomicOperation>(op), static_cast<AtomicType>(type))) {
    return false;
  }
  const unsigned operands = wire::atomic_operands(static_cast<AtomicOperation>(op));
  return how == How::write ? operands == 1 : how == How::fetch ? operands <= 1 : operands == 2;
}

/// Bytes of elements, which have to be in a frame with all operands.
std::size_t most_bytes(How how, const messages::Messenger& messenger) {
  const std::size_t room = messenger.inject_bytes();
  return std::min(messages::atomic_bytes, how == How::compare ? room / 2 : room);
}

ssize_t begin(Endpoint& endpoint, How how, const Asked& asked) {
  if (!is_there(how, asked.type, asked.op)) {
    return -FI_EOPNOTSUPP;
  }
  if (asked.count == 0 || (asked.flags & FI_REMOTE_CQ_DATA) != 0) {
    return -FI_EINVAL;
  }
  const auto type = static_cast<AtomicType>(asked.type);
  const auto op = static_cast<AtomicOperation>(asked.op);
  return with_peer(endpoint, asked.place, [&](messages::Messenger& messenger, EndPoint peer) {
    if (asked.count > most_bytes(how, messenger) / wire::atomic_width(type)) {
      return ssize_t{-FI_EMSGSIZE};
    }
    const std::size_t length = asked.count * wire::atomic_width(type);
    const auto bytes = [&](const void* memory, unsigned operands) {
      return std::span(static_cast<const std::byte*>(memory),
                       wire::atomic_operands(op) >= operands ? length : 0);
    };
    const messages::BeginError error = messenger.atomic(
        {.peer = peer,
         .vni = endpoint.domain->program->vni(),
         .operation = op,
         .type = type,
         .count = asked.count,
         .operand = bytes(asked.operand, 1),
         .compare = bytes(asked.compare, 2),
         .old = {static_cast<std::byte*>(asked.old), how == How::write ? 0 : length},
         .key = rdma::RegionKey{asked.key},
         .offset = asked.address,
         .silent = asked.silent || is_silent(endpoint.transmit_selective, asked.flags),
         .user = reinterpret_cast<std::uint64_t>(asked.context)});
    return conclude(endpoint, error, peer);
  });
}

int valid(fid_ep* e, How how, fi_datatype type, fi_op op, std::size_t* count) {
  if (!is_there(how, type, op)) {
    return -FI_EOPNOTSUPP;
  }
  *count = most_bytes(how, of<Endpoint>(e).domain->messenger()) /
           wire::atomic_width(static_cast<AtomicType>(type));
  return 0;
}

/// Lists of parts have one at most (iov_limit); an operation that takes nothing may have none.
bool put_parts(Asked& asked, const fi_ioc* parts, std::size_t count) {
  if (count > 0) {
    asked.operand = parts->addr;
    asked.count = parts->count;
  }
  return count <= 1;
}
bool put_compare(Asked& asked, const fi_ioc* parts, std::size_t count) {
  asked.compare = count == 1 ? parts->addr : nullptr;
  return count == 1 && parts->count == asked.count;
}
bool put_old(Asked& asked, const fi_ioc* parts, std::size_t count) {
  if (count == 1 && asked.count == 0) {
    asked.count = parts->count;
  }
  asked.old = count == 1 ? parts->addr : nullptr;
  return count == 1 && parts->count == asked.count;
}

// clang-format off
Asked asked_of(fid_ep* e, const void* b, std::size_t n, fi_addr_t p, std::uint64_t w, std::uint64_t k, fi_datatype t, fi_op o, void* c) {
  return {.place = p, .count = n, .operand = b, .address = w, .key = k, .type = t, .op = o, .context = c,
          .flags = of<Endpoint>(e).transmit_flags};
}
/// One part at the peer, with as many elements as the memory here.
std::optional<Asked> asked_of(const fi_msg_atomic* m, std::uint64_t f) {
  if (m->rma_iov_count != 1) {
    return std::nullopt;
  }
  Asked a{.place = m->addr, .address = m->rma_iov->addr, .key = m->rma_iov->key, .type = m->datatype, .op = m->op,
          .context = m->context, .flags = f};
  if (!put_parts(a, m->msg_iov, m->iov_count)) {
    return std::nullopt;
  }
  a.count = m->iov_count == 0 ? m->rma_iov->count : a.count;
  return a.count == m->rma_iov->count ? std::optional(a) : std::nullopt;
}

ssize_t atomic_write(fid_ep* e, const void* b, std::size_t n, void*, fi_addr_t p, std::uint64_t w, std::uint64_t k, fi_datatype t, fi_op o, void* c) {
  return begin(of<Endpoint>(e), How::write, asked_of(e, b, n, p, w, k, t, o, c));
}
ssize_t atomic_writev(fid_ep* e, const fi_ioc* v, void**, std::size_t n, fi_addr_t p, std::uint64_t w, std::uint64_t k, fi_datatype t, fi_op o, void* c) {
  Asked a = asked_of(e, nullptr, 0, p, w, k, t, o, c);
  return put_parts(a, v, n) ? begin(of<Endpoint>(e), How::write, a) : -FI_EINVAL;
}
ssize_t atomic_writemsg(fid_ep* e, const fi_msg_atomic* m, std::uint64_t f) {
  const auto a = asked_of(m, f);
  return a ? begin(of<Endpoint>(e), How::write, *a) : -FI_EINVAL;
}
ssize_t atomic_inject(fid_ep* e, const void* b, std::size_t n, fi_addr_t p, std::uint64_t w, std::uint64_t k, fi_datatype t, fi_op o) {
  Asked a = asked_of(e, b, n, p, w, k, t, o, nullptr);
  a.silent = true;
  return begin(of<Endpoint>(e), How::write, a);
}

ssize_t atomic_fetch(fid_ep* e, const void* b, std::size_t n, void*, void* r, void*, fi_addr_t p, std::uint64_t w, std::uint64_t k, fi_datatype t, fi_op o, void* c) {
  Asked a = asked_of(e, b, n, p, w, k, t, o, c);
  a.old = r;
  return begin(of<Endpoint>(e), How::fetch, a);
}
ssize_t atomic_fetchv(fid_ep* e, const fi_ioc* v, void**, std::size_t n, fi_ioc* r, void**, std::size_t rn, fi_addr_t p, std::uint64_t w, std::uint64_t k, fi_datatype t, fi_op o, void* c) {
  Asked a = asked_of(e, nullptr, 0, p, w, k, t, o, c);
  return put_parts(a, v, n) && put_old(a, r, rn) ? begin(of<Endpoint>(e), How::fetch, a) : -FI_EINVAL;
}
ssize_t atomic_fetchmsg(fid_ep* e, const fi_msg_atomic* m, fi_ioc* r, void**, std::size_t rn, std::uint64_t f) {
  auto a = asked_of(m, f);
  return a && put_old(*a, r, rn) ? begin(of<Endpoint>(e), How::fetch, *a) : -FI_EINVAL;
}

ssize_t atomic_compare(fid_ep* e, const void* b, std::size_t n, void*, const void* x, void*, void* r, void*, fi_addr_t p, std::uint64_t w, std::uint64_t k, fi_datatype t, fi_op o, void* c) {
  Asked a = asked_of(e, b, n, p, w, k, t, o, c);
  a.compare = x;
  a.old = r;
  return begin(of<Endpoint>(e), How::compare, a);
}
ssize_t atomic_comparev(fid_ep* e, const fi_ioc* v, void**, std::size_t n, const fi_ioc* x, void**, std::size_t xn, fi_ioc* r, void**, std::size_t rn, fi_addr_t p, std::uint64_t w, std::uint64_t k, fi_datatype t, fi_op o, void* c) {
  Asked a = asked_of(e, nullptr, 0, p, w, k, t, o, c);
  return put_parts(a, v, n) && put_compare(a, x, xn) && put_old(a, r, rn) ? begin(of<Endpoint>(e), How::compare, a) : -FI_EINVAL;
}
ssize_t atomic_comparemsg(fid_ep* e, const fi_msg_atomic* m, const fi_ioc* x, void**, std::size_t xn, fi_ioc* r, void**, std::size_t rn, std::uint64_t f) {
  auto a = asked_of(m, f);
  return a && put_compare(*a, x, xn) && put_old(*a, r, rn) ? begin(of<Endpoint>(e), How::compare, *a) : -FI_EINVAL;
}

int valid_write(fid_ep* e, fi_datatype t, fi_op o, std::size_t* n) { return valid(e, How::write, t, o, n); }
int valid_fetch(fid_ep* e, fi_datatype t, fi_op o, std::size_t* n) { return valid(e, How::fetch, t, o, n); }
int valid_compare(fid_ep* e, fi_datatype t, fi_op o, std::size_t* n) { return valid(e, How::compare, t, o, n); }
// clang-format on

} // namespace

fi_ops_atomic atomic_ops = {.size = sizeof(fi_ops_atomic),
                            .write = atomic_write,
                            .writev = atomic_writev,
                            .writemsg = atomic_writemsg,
                            .inject = atomic_inject,
                            .readwrite = atomic_fetch,
                            .readwritev = atomic_fetchv,
                            .readwritemsg = atomic_fetchmsg,
                            .compwrite = atomic_compare,
                            .compwritev = atomic_comparev,
                            .compwritemsg = atomic_comparemsg,
                            .writevalid = valid_write,
                            .readwritevalid = valid_fetch,
                            .compwritevalid = valid_compare};

int query_atomic(fid_domain* d, fi_datatype type, fi_op op, fi_atomic_attr* attr,
                 std::uint64_t flags) {
  const How how = (flags & FI_COMPARE_ATOMIC) != 0 ? How::compare
                  : (flags & FI_FETCH_ATOMIC) != 0 ? How::fetch
                                                   : How::write;
  if ((flags & FI_TAGGED) != 0 || !is_there(how, type, op)) {
    return -FI_EOPNOTSUPP;
  }
  attr->size = wire::atomic_width(static_cast<AtomicType>(type));
  attr->count = most_bytes(how, of<Domain>(d).messenger()) / attr->size;
  return 0;
}

} // namespace tributary::ofi
