// Sends, receives, writes and reads: libfabric's many calls, each of which names one operation of
// the messenger.
#include "endpoint/ofi/calls.hpp"
#include "endpoint/ofi/objects.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace tributary::ofi {

namespace {

using messages::BeginError;
using messages::Pattern;

/// An operation, as a call describes it.
struct Asked {
  fi_addr_t place = FI_ADDR_UNSPEC; ///< of the peer
  std::byte* memory = nullptr;
  std::size_t length = 0;
  void* context = nullptr;
  std::uint64_t flags = 0;
  bool silent = false; ///< whatever the flags say
  bool tagged = false;
  std::uint64_t tag = 0;
  std::uint64_t ignored = 0;
  std::optional<std::uint64_t> data{};
  std::uint64_t address = 0; ///< of a transfer: in the peer's region
  std::uint64_t key = 0;

  [[nodiscard]] bool has(std::uint64_t flag) const { return (flags & flag) != 0; }
  [[nodiscard]] std::span<std::byte> bytes() const { return {memory, length}; }
  [[nodiscard]] std::uint64_t user() const { return reinterpret_cast<std::uint64_t>(context); }
};

/// A send, which only reads it.
std::byte* readable(const void* memory) {
  return static_cast<std::byte*>(const_cast<void*>(memory));
}

messages::Send send_of(const Endpoint& endpoint, const Asked& asked, EndPoint peer) {
  return {.peer = peer,
          .vni = endpoint.domain->program->vni(),
          .memory = asked.bytes(),
          .tag = asked.tag,
          .tagged = asked.tagged,
          .data = asked.data,
          .inject = asked.has(FI_INJECT),
          .wants_done = asked.has(FI_DELIVERY_COMPLETE),
          .silent = asked.silent || is_silent(endpoint.transmit_selective, asked.flags),
          .user = asked.user()};
}

ssize_t send(Endpoint& endpoint, const Asked& asked) {
  if (asked.has(FI_INJECT) && asked.length > inject_size) {
    return -FI_EMSGSIZE;
  }
  return with_peer(endpoint, asked.place, [&](messages::Messenger& messenger, EndPoint peer) {
    return conclude(endpoint, messenger.send(send_of(endpoint, asked, peer)), peer);
  });
}

/// The same of memory that is the caller's after the call, and without a completion.
Asked injected(Asked asked) {
  asked.flags = FI_INJECT;
  asked.silent = true;
  return asked;
}

/// A receive names a peer only where the end point is directed, and then one that is there.
std::optional<Pattern> pattern_of(const Endpoint& endpoint, const Asked& asked) {
  Pattern pattern{.tag = asked.tag, .ignored = asked.ignored, .tagged = asked.tagged};
  if ((endpoint.caps & FI_DIRECTED_RECV) != 0 && asked.place != FI_ADDR_UNSPEC) {
    const auto peer = peer_at(endpoint, asked.place);
    if (!peer) {
      return std::nullopt;
    }
    pattern.source = messages::source_of(*peer, endpoint.domain->program->vni());
  }
  return pattern;
}

messages::Receive receive_of(const Endpoint& endpoint, const Asked& asked, const Pattern& pattern) {
  return {.pattern = pattern,
          .memory = asked.bytes(),
          .silent = is_silent(endpoint.receive_selective, asked.flags),
          .user = asked.user()};
}

/// Runs `f(messenger, pattern)` under the lock.
template <typename F> ssize_t with_pattern(Endpoint& endpoint, const Asked& asked, F&& f) {
  return with(endpoint, [&](messages::Messenger& messenger) -> ssize_t {
    const auto pattern = pattern_of(endpoint, asked);
    return pattern ? f(messenger, *pattern) : -FI_EINVAL;
  });
}

ssize_t receive(Endpoint& endpoint, const Asked& asked) {
  return with_pattern(endpoint, asked, [&](messages::Messenger& messenger, const Pattern& pattern) {
    return conclude(endpoint, messenger.receive(receive_of(endpoint, asked, pattern)), {});
  });
}

// Probes.

/// A completion of the provider's own, for an operation that was over at once.
ssize_t complete(Endpoint& endpoint, const Entry& entry) {
  if (endpoint.receive != nullptr) {
    endpoint.receive->push(entry);
  }
  return 0;
}

ssize_t peek(Endpoint& endpoint, const Asked& asked) {
  const auto look = [&](messages::Messenger& messenger, const Pattern& pattern) -> ssize_t {
    drain(*endpoint.domain);
    if (endpoint.receive != nullptr && endpoint.receive->full()) {
      return -FI_EAGAIN;
    }
    const messages::Found found = messenger.peek(pattern);
    Entry entry{.context = asked.context,
                .flags = FI_RECV | (asked.tagged ? FI_TAGGED : FI_MSG),
                .tag = asked.tag};
    if (found.message == messages::Matching::none) {
      entry.error = FI_ENOMSG;
      return complete(endpoint, entry);
    }
    if (asked.has(FI_CLAIM | FI_DISCARD)) {
      messenger.claim(found.message);
    }
    if (asked.has(FI_DISCARD)) {
      if (const BeginError error = messenger.discard(found.message); error != BeginError::none) {
        endpoint.claimed.emplace_back(asked.context, found.message);
        return conclude(endpoint, error, {});
      }
    } else if (asked.has(FI_CLAIM)) {
      endpoint.claimed.emplace_back(asked.context, found.message);
    }
    entry.tag = found.envelope.tag;
    entry.length = static_cast<std::size_t>(found.total);
    entry.data = found.data;
    entry.flags |= found.has_data ? FI_REMOTE_CQ_DATA : 0;
    const auto at = endpoint.av->places.find(messages::end_point_of(found.envelope.source).key());
    entry.source = at == endpoint.av->places.end() ? FI_ADDR_NOTAVAIL : at->second;
    return complete(endpoint, entry);
  };
  return with_pattern(endpoint, asked, look);
}

ssize_t take_claimed(Endpoint& endpoint, const Asked& asked) {
  return with(endpoint, [&](messages::Messenger& messenger) -> ssize_t {
    const auto at =
        std::ranges::find(endpoint.claimed, asked.context, &std::pair<void*, std::uint32_t>::first);
    if (at == endpoint.claimed.end()) {
      return -FI_EINVAL;
    }
    const bool discards = asked.has(FI_DISCARD);
    if (discards && endpoint.receive != nullptr && endpoint.receive->full()) {
      return -FI_EAGAIN;
    }
    const BeginError error =
        discards ? messenger.discard(at->second)
                 : messenger.receive_claimed(at->second, receive_of(endpoint, asked, {}));
    if (error == BeginError::none) {
      endpoint.claimed.erase(at);
      if (discards) {
        complete(endpoint, {.context = asked.context,
                            .flags = FI_RECV | (asked.tagged ? FI_TAGGED : FI_MSG)});
      }
    }
    return conclude(endpoint, error, {});
  });
}

ssize_t receive_by_flags(Endpoint& endpoint, const Asked& asked) {
  if (asked.has(FI_MULTI_RECV)) {
    return -FI_EBADFLAGS;
  }
  return asked.has(FI_PEEK)    ? peek(endpoint, asked)
         : asked.has(FI_CLAIM) ? take_claimed(endpoint, asked)
                               : receive(endpoint, asked);
}

// Transfers.

messages::Transfer transfer_of(const Endpoint& endpoint, const Asked& asked, EndPoint peer) {
  return {.peer = peer,
          .vni = endpoint.domain->program->vni(),
          .memory = asked.bytes(),
          .key = rdma::RegionKey{asked.key},
          .offset = asked.address,
          .data = asked.data,
          .silent = asked.silent || is_silent(endpoint.transmit_selective, asked.flags),
          .user = asked.user()};
}

ssize_t write(Endpoint& endpoint, const Asked& asked) {
  const bool inject = asked.has(FI_INJECT);
  if (inject && asked.length > inject_size) {
    return -FI_EMSGSIZE;
  }
  return with_peer(endpoint, asked.place, [&](messages::Messenger& messenger, EndPoint peer) {
    const messages::Transfer transfer = transfer_of(endpoint, asked, peer);
    return conclude(endpoint, inject ? messenger.put(transfer) : messenger.write(transfer), peer);
  });
}

ssize_t read(Endpoint& endpoint, const Asked& asked) {
  return with_peer(endpoint, asked.place, [&](messages::Messenger& messenger, EndPoint peer) {
    return conclude(endpoint, messenger.read(transfer_of(endpoint, asked, peer)), peer);
  });
}

// libfabric's calls. A list of parts has one at most (iov_limit).

template <typename Message> bool put_parts(Asked& asked, const Message* parts, std::size_t count) {
  if (count > 0) {
    asked.memory = static_cast<std::byte*>(parts->iov_base);
    asked.length = parts->iov_len;
  }
  return count <= 1;
}

Asked to(const Endpoint& endpoint, const void* memory, std::size_t length, fi_addr_t peer,
         void* context) {
  return {.place = peer,
          .memory = readable(memory),
          .length = length,
          .context = context,
          .flags = endpoint.transmit_flags};
}

Asked from(const Endpoint& endpoint, void* memory, std::size_t length, fi_addr_t peer,
           void* context) {
  return {.place = peer,
          .memory = static_cast<std::byte*>(memory),
          .length = length,
          .context = context,
          .flags = endpoint.receive_flags};
}

Asked with_tag(Asked asked, std::uint64_t tag, std::uint64_t ignored = 0) {
  asked.tagged = true;
  asked.tag = tag;
  asked.ignored = ignored;
  return asked;
}

Asked with_data(Asked asked, std::uint64_t data) {
  asked.data = data;
  return asked;
}

Asked at(Asked asked, std::uint64_t address, std::uint64_t key) {
  asked.address = address;
  asked.key = key;
  return asked;
}

/// Flags of a call override those of the end point.
template <typename Message>
std::optional<Asked> message_of(Asked asked, const Message* m, std::uint64_t flags) {
  asked.flags = flags;
  asked.context = m->context;
  if ((flags & FI_REMOTE_CQ_DATA) != 0) {
    asked.data = m->data;
  }
  return put_parts(asked, m->msg_iov, m->iov_count) ? std::optional(asked) : std::nullopt;
}

// clang-format off
ssize_t msg_recv(fid_ep* e, void* b, std::size_t n, void*, fi_addr_t p, void* c) {
  return receive(of<Endpoint>(e), from(of<Endpoint>(e), b, n, p, c));
}
ssize_t msg_recvv(fid_ep* e, const iovec* v, void**, std::size_t k, fi_addr_t p, void* c) {
  Asked a = from(of<Endpoint>(e), nullptr, 0, p, c);
  return put_parts(a, v, k) ? receive(of<Endpoint>(e), a) : -FI_EINVAL;
}
ssize_t msg_recvmsg(fid_ep* e, const fi_msg* m, std::uint64_t f) {
  const auto a = message_of(from(of<Endpoint>(e), nullptr, 0, m->addr, nullptr), m, f);
  return a ? receive_by_flags(of<Endpoint>(e), *a) : -FI_EINVAL;
}
ssize_t msg_send(fid_ep* e, const void* b, std::size_t n, void*, fi_addr_t p, void* c) {
  return send(of<Endpoint>(e), to(of<Endpoint>(e), b, n, p, c));
}
ssize_t msg_sendv(fid_ep* e, const iovec* v, void**, std::size_t k, fi_addr_t p, void* c) {
  Asked a = to(of<Endpoint>(e), nullptr, 0, p, c);
  return put_parts(a, v, k) ? send(of<Endpoint>(e), a) : -FI_EINVAL;
}
ssize_t msg_sendmsg(fid_ep* e, const fi_msg* m, std::uint64_t f) {
  const auto a = message_of(to(of<Endpoint>(e), nullptr, 0, m->addr, nullptr), m, f);
  return a ? send(of<Endpoint>(e), *a) : -FI_EINVAL;
}
ssize_t msg_inject(fid_ep* e, const void* b, std::size_t n, fi_addr_t p) {
  return send(of<Endpoint>(e), injected(to(of<Endpoint>(e), b, n, p, nullptr)));
}
ssize_t msg_senddata(fid_ep* e, const void* b, std::size_t n, void*, std::uint64_t d, fi_addr_t p, void* c) {
  return send(of<Endpoint>(e), with_data(to(of<Endpoint>(e), b, n, p, c), d));
}
ssize_t msg_injectdata(fid_ep* e, const void* b, std::size_t n, std::uint64_t d, fi_addr_t p) {
  return send(of<Endpoint>(e), injected(with_data(to(of<Endpoint>(e), b, n, p, nullptr), d)));
}

ssize_t tagged_recv(fid_ep* e, void* b, std::size_t n, void*, fi_addr_t p, std::uint64_t t, std::uint64_t i, void* c) {
  return receive(of<Endpoint>(e), with_tag(from(of<Endpoint>(e), b, n, p, c), t, i));
}
ssize_t tagged_recvv(fid_ep* e, const iovec* v, void**, std::size_t k, fi_addr_t p, std::uint64_t t, std::uint64_t i, void* c) {
  Asked a = with_tag(from(of<Endpoint>(e), nullptr, 0, p, c), t, i);
  return put_parts(a, v, k) ? receive(of<Endpoint>(e), a) : -FI_EINVAL;
}
ssize_t tagged_recvmsg(fid_ep* e, const fi_msg_tagged* m, std::uint64_t f) {
  const Asked plain = with_tag(from(of<Endpoint>(e), nullptr, 0, m->addr, nullptr), m->tag, m->ignore);
  const auto a = message_of(plain, m, f);
  return a ? receive_by_flags(of<Endpoint>(e), *a) : -FI_EINVAL;
}
ssize_t tagged_send(fid_ep* e, const void* b, std::size_t n, void*, fi_addr_t p, std::uint64_t t, void* c) {
  return send(of<Endpoint>(e), with_tag(to(of<Endpoint>(e), b, n, p, c), t));
}
ssize_t tagged_sendv(fid_ep* e, const iovec* v, void**, std::size_t k, fi_addr_t p, std::uint64_t t, void* c) {
  Asked a = with_tag(to(of<Endpoint>(e), nullptr, 0, p, c), t);
  return put_parts(a, v, k) ? send(of<Endpoint>(e), a) : -FI_EINVAL;
}
ssize_t tagged_sendmsg(fid_ep* e, const fi_msg_tagged* m, std::uint64_t f) {
  const auto a = message_of(with_tag(to(of<Endpoint>(e), nullptr, 0, m->addr, nullptr), m->tag), m, f);
  return a ? send(of<Endpoint>(e), *a) : -FI_EINVAL;
}
ssize_t tagged_inject(fid_ep* e, const void* b, std::size_t n, fi_addr_t p, std::uint64_t t) {
  return send(of<Endpoint>(e), injected(with_tag(to(of<Endpoint>(e), b, n, p, nullptr), t)));
}
ssize_t tagged_senddata(fid_ep* e, const void* b, std::size_t n, void*, std::uint64_t d, fi_addr_t p, std::uint64_t t, void* c) {
  return send(of<Endpoint>(e), with_data(with_tag(to(of<Endpoint>(e), b, n, p, c), t), d));
}
ssize_t tagged_injectdata(fid_ep* e, const void* b, std::size_t n, std::uint64_t d, fi_addr_t p, std::uint64_t t) {
  return send(of<Endpoint>(e), injected(with_data(with_tag(to(of<Endpoint>(e), b, n, p, nullptr), t), d)));
}

ssize_t rma_read(fid_ep* e, void* b, std::size_t n, void*, fi_addr_t p, std::uint64_t w, std::uint64_t k, void* c) {
  return read(of<Endpoint>(e), at(to(of<Endpoint>(e), b, n, p, c), w, k));
}
ssize_t rma_readv(fid_ep* e, const iovec* v, void**, std::size_t n, fi_addr_t p, std::uint64_t w, std::uint64_t k, void* c) {
  Asked a = at(to(of<Endpoint>(e), nullptr, 0, p, c), w, k);
  return put_parts(a, v, n) ? read(of<Endpoint>(e), a) : -FI_EINVAL;
}
/// One part at the peer, as long as the memory here.
std::optional<Asked> rma_message(const Endpoint& e, const fi_msg_rma* m, std::uint64_t f) {
  if (m->rma_iov_count != 1) {
    return std::nullopt;
  }
  const auto a = message_of(at(to(e, nullptr, 0, m->addr, nullptr), m->rma_iov->addr, m->rma_iov->key), m, f);
  return a && a->length == m->rma_iov->len ? a : std::nullopt;
}
ssize_t rma_readmsg(fid_ep* e, const fi_msg_rma* m, std::uint64_t f) {
  const auto a = rma_message(of<Endpoint>(e), m, f);
  return a ? read(of<Endpoint>(e), *a) : -FI_EINVAL;
}
ssize_t rma_write(fid_ep* e, const void* b, std::size_t n, void*, fi_addr_t p, std::uint64_t w, std::uint64_t k, void* c) {
  return write(of<Endpoint>(e), at(to(of<Endpoint>(e), b, n, p, c), w, k));
}
ssize_t rma_writev(fid_ep* e, const iovec* v, void**, std::size_t n, fi_addr_t p, std::uint64_t w, std::uint64_t k, void* c) {
  Asked a = at(to(of<Endpoint>(e), nullptr, 0, p, c), w, k);
  return put_parts(a, v, n) ? write(of<Endpoint>(e), a) : -FI_EINVAL;
}
ssize_t rma_writemsg(fid_ep* e, const fi_msg_rma* m, std::uint64_t f) {
  const auto a = rma_message(of<Endpoint>(e), m, f);
  return a ? write(of<Endpoint>(e), *a) : -FI_EINVAL;
}
ssize_t rma_inject(fid_ep* e, const void* b, std::size_t n, fi_addr_t p, std::uint64_t w, std::uint64_t k) {
  return write(of<Endpoint>(e), injected(at(to(of<Endpoint>(e), b, n, p, nullptr), w, k)));
}
ssize_t rma_writedata(fid_ep* e, const void* b, std::size_t n, void*, std::uint64_t d, fi_addr_t p, std::uint64_t w, std::uint64_t k, void* c) {
  return write(of<Endpoint>(e), with_data(at(to(of<Endpoint>(e), b, n, p, c), w, k), d));
}
ssize_t rma_injectdata(fid_ep* e, const void* b, std::size_t n, std::uint64_t d, fi_addr_t p, std::uint64_t w, std::uint64_t k) {
  return write(of<Endpoint>(e), injected(with_data(at(to(of<Endpoint>(e), b, n, p, nullptr), w, k), d)));
}
// clang-format on

fi_ops_msg msg_ops = {.size = sizeof(fi_ops_msg),
                      .recv = msg_recv,
                      .recvv = msg_recvv,
                      .recvmsg = msg_recvmsg,
                      .send = msg_send,
                      .sendv = msg_sendv,
                      .sendmsg = msg_sendmsg,
                      .inject = msg_inject,
                      .senddata = msg_senddata,
                      .injectdata = msg_injectdata};
fi_ops_tagged tagged_ops = {.size = sizeof(fi_ops_tagged),
                            .recv = tagged_recv,
                            .recvv = tagged_recvv,
                            .recvmsg = tagged_recvmsg,
                            .send = tagged_send,
                            .sendv = tagged_sendv,
                            .sendmsg = tagged_sendmsg,
                            .inject = tagged_inject,
                            .senddata = tagged_senddata,
                            .injectdata = tagged_injectdata};
fi_ops_rma rma_ops = {.size = sizeof(fi_ops_rma),
                      .read = rma_read,
                      .readv = rma_readv,
                      .readmsg = rma_readmsg,
                      .write = rma_write,
                      .writev = rma_writev,
                      .writemsg = rma_writemsg,
                      .inject = rma_inject,
                      .writedata = rma_writedata,
                      .injectdata = rma_injectdata};

} // namespace

void set_transfer_tables(Endpoint& endpoint) {
  endpoint.msg = &msg_ops;
  endpoint.tagged = &tagged_ops;
  endpoint.rma = &rma_ops;
  endpoint.atomic = &atomic_ops;
}

} // namespace tributary::ofi
