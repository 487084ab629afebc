// Completion queues and counters: what has ended, and waiting for it.
#include "endpoint/ofi/objects.hpp"

#include "lib/link/link_error.hpp"
#include "lib/net/steady_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace tributary::ofi {

namespace {

using messages::Completion;
using messages::Failure;

/// How long a wait lasts before it looks whether it was ended from another thread.
constexpr std::uint64_t look_ns = 10 * ns_per_ms;

std::optional<Counted> counted_of(Completion::Kind kind) {
  switch (kind) {
  case Completion::Kind::send: return Counted::send;
  case Completion::Kind::receive: return Counted::receive;
  case Completion::Kind::write: return Counted::write;
  case Completion::Kind::read: return Counted::read;
  case Completion::Kind::atomic: return Counted::write;
  case Completion::Kind::fetch: return Counted::read;
  case Completion::Kind::arrival: break;
  }
  return std::nullopt;
}

std::uint64_t flags_of(const Completion& c) {
  const std::uint64_t data = c.has_data ? FI_REMOTE_CQ_DATA : 0;
  const std::uint64_t kind = c.tagged ? FI_TAGGED : FI_MSG;
  switch (c.kind) {
  case Completion::Kind::send: return FI_SEND | kind;
  case Completion::Kind::receive: return FI_RECV | kind | data;
  case Completion::Kind::write: return FI_RMA | FI_WRITE;
  case Completion::Kind::read: return FI_RMA | FI_READ;
  case Completion::Kind::atomic: return FI_ATOMIC | FI_WRITE;
  case Completion::Kind::fetch: return FI_ATOMIC | FI_READ;
  case Completion::Kind::arrival: break;
  }
  return FI_RMA | FI_REMOTE_WRITE | data;
}

int error_of(const Completion& c) {
  switch (c.failure) {
  case Failure::none: return 0;
  case Failure::truncated: return FI_ETRUNC;
  case Failure::cancelled: return FI_ECANCELED;
  case Failure::session:
    return c.session == streams::Cause::unreachable ? FI_EHOSTUNREACH : FI_ECONNRESET;
  case Failure::transfer:
    return c.transfer == rdma::Cause::unreachable ? FI_EHOSTUNREACH
           : c.transfer == rdma::Cause::refused   ? FI_EACCES
                                                  : FI_ECONNABORTED;
  case Failure::at_peer: return FI_EREMOTEIO;
  case Failure::malformed: break;
  }
  return FI_EIO;
}

/// The failure, and what it says of its cause, in one number: for fi_cq_strerror.
int cause_of(const Completion& c) {
  return static_cast<int>(c.failure) << 24 | static_cast<int>(c.session) << 16 |
         static_cast<int>(c.transfer) << 8 | static_cast<int>(c.status);
}

std::string text_of_cause(int cause) {
  const auto failure = static_cast<Failure>(cause >> 24 & 0xFF);
  std::string text(messages::text_of(failure));
  if (failure == Failure::session) {
    text += fmt::format(": {}", streams::text_of(static_cast<streams::Cause>(cause >> 16 & 0xFF)));
  } else if (failure == Failure::transfer) {
    const auto status = static_cast<wire::RdmaStatus>(cause & 0xFF);
    text += fmt::format(": {}", rdma::text_of(static_cast<rdma::Cause>(cause >> 8 & 0xFF)));
    if (status != wire::RdmaStatus::ok) {
      text += fmt::format(": {}", wire::text_of(status));
    }
  }
  return text;
}

Entry entry_of(const Endpoint& endpoint, const Completion& c) {
  fi_addr_t source = FI_ADDR_NOTAVAIL;
  if (endpoint.av != nullptr) {
    const auto at = endpoint.av->places.find(c.peer.key());
    source = at == endpoint.av->places.end() ? FI_ADDR_NOTAVAIL : at->second;
  }
  return {.context = reinterpret_cast<void*>(c.user),
          .flags = flags_of(c),
          .length = static_cast<std::size_t>(c.length),
          .data = c.data,
          .tag = c.tag,
          .source = source,
          .cut = static_cast<std::size_t>(c.total - std::min(c.total, c.length)),
          .error = error_of(c),
          .cause = cause_of(c)};
}

void hand_out(Endpoint& endpoint, const Completion& c) {
  const bool is_of_receive =
      c.kind == Completion::Kind::receive || c.kind == Completion::Kind::arrival;
  const auto counted = counted_of(c.kind);
  Counter* const counter =
      counted ? endpoint.counters[static_cast<std::size_t>(*counted)] : nullptr;
  if (counter != nullptr) {
    ++(c.done() ? counter->value : counter->errors);
  }
  if (!c.done() && c.failure != Failure::truncated && c.failure != Failure::cancelled) {
    warn(FI_LOG_EP_DATA, fmt::format("{} NID {:#x}, end point {}: {}",
                                     is_of_receive ? "a receive from" : "an operation to",
                                     c.peer.nid.value, c.peer.number, text_of_cause(cause_of(c))));
  }
  Queue* const queue = is_of_receive ? endpoint.receive : endpoint.transmit;
  if (queue == nullptr || (c.silent && c.done())) {
    return;
  }
  queue->push(entry_of(endpoint, c));
}

bool has_room(const Queue* queue) { return queue == nullptr || !queue->full(); }

// Reading.

void write(void* out, std::size_t i, fi_cq_format format, const Entry& e) {
  switch (format) {
  case FI_CQ_FORMAT_UNSPEC:
  case FI_CQ_FORMAT_CONTEXT: static_cast<fi_cq_entry*>(out)[i] = {e.context}; break;
  case FI_CQ_FORMAT_MSG:
    static_cast<fi_cq_msg_entry*>(out)[i] = {e.context, e.flags, e.length};
    break;
  case FI_CQ_FORMAT_DATA:
    static_cast<fi_cq_data_entry*>(out)[i] = {e.context, e.flags, e.length, nullptr, e.data};
    break;
  case FI_CQ_FORMAT_TAGGED:
    static_cast<fi_cq_tagged_entry*>(out)[i] = {e.context, e.flags, e.length,
                                                nullptr,   e.data,  e.tag};
    break;
  }
}

ssize_t take(Queue& queue, void* out, std::size_t count, fi_addr_t* sources) {
  std::size_t taken = 0;
  while (taken < count && queue.count > 0) {
    const Entry& e = queue.front();
    if (e.error != 0) {
      return taken > 0 ? static_cast<ssize_t>(taken) : -FI_EAVAIL;
    }
    write(out, taken, queue.format, e);
    if (sources != nullptr) {
      sources[taken] = e.source;
    }
    ++taken;
    queue.pop();
  }
  return taken > 0 ? static_cast<ssize_t>(taken) : -FI_EAGAIN;
}

ssize_t read_from(fid_cq* q, void* out, std::size_t count, fi_addr_t* sources) {
  return guarded(FI_LOG_CQ, [&]() -> ssize_t {
    Queue& queue = of<Queue>(q);
    auto lock = queue.domain->loop().lock();
    if (queue.count == 0 || count == 0) {
      drain(*queue.domain);
    }
    return take(queue, out, count, sources);
  });
}

ssize_t read_queue(fid_cq* q, void* out, std::size_t count) {
  return read_from(q, out, count, nullptr);
}

TimeNs deadline_of(int timeout_ms) {
  return timeout_ms < 0 ? never
                        : net::steady_now() + static_cast<std::uint64_t>(timeout_ms) * ns_per_ms;
}

/// Waits until `done()`, or until `is_ended()`; false if the time is over.
template <typename Done, typename Ended>
bool wait_for(Domain& domain, TimeNs deadline, const Done& done, const Ended& is_ended) {
  auto lock = domain.loop().lock();
  for (;;) {
    const TimeNs look = net::steady_now() + look_ns;
    if (domain.loop().wait_until(
            lock,
            [&] {
              hand_out(domain);
              return done();
            },
            std::min(deadline, look))) {
      return true;
    }
    if (is_ended() || net::steady_now() >= deadline) {
      return false;
    }
  }
}

ssize_t wait_from(fid_cq* q, void* out, std::size_t count, fi_addr_t* sources,
                  const void* /*condition*/, int timeout) {
  return guarded(FI_LOG_CQ, [&]() -> ssize_t {
    Queue& queue = of<Queue>(q);
    const unsigned signals = queue.signals;
    wait_for(
        *queue.domain, deadline_of(timeout), [&] { return queue.count > 0; },
        [&] { return queue.signals != signals; });
    auto lock = queue.domain->loop().lock();
    return take(queue, out, count, sources);
  });
}

ssize_t wait_queue(fid_cq* q, void* out, std::size_t count, const void* condition, int timeout) {
  return wait_from(q, out, count, nullptr, condition, timeout);
}

ssize_t read_error(fid_cq* q, fi_cq_err_entry* out, std::uint64_t /*flags*/) {
  return guarded(FI_LOG_CQ, [&]() -> ssize_t {
    Queue& queue = of<Queue>(q);
    auto lock = queue.domain->loop().lock();
    if (queue.count == 0 || queue.front().error == 0) {
      return -FI_EAGAIN;
    }
    const Entry& e = queue.front();
    out->op_context = e.context;
    out->flags = e.flags;
    out->len = e.length;
    out->buf = nullptr;
    out->data = e.data;
    out->tag = e.tag;
    out->olen = e.cut;
    out->err = e.error;
    out->prov_errno = e.cause;
    out->err_data_size = 0;
    queue.pop();
    return 1;
  });
}

int signal_queue(fid_cq* q) {
  ++of<Queue>(q).signals;
  return 0;
}

const char* error_text(fid_cq*, int cause, const void*, char* text, std::size_t length) {
  thread_local std::string kept;
  kept = text_of_cause(cause);
  copy_text(kept, text, length);
  return kept.c_str();
}

int control_queue(fid* f, int command, void* argument) {
  return guarded(FI_LOG_CQ, [&] {
    Queue& queue = of_fid<Queue, fid_cq>(f);
    if (command != FI_GETWAIT) {
      return -FI_ENOSYS;
    }
    auto lock = queue.domain->loop().lock();
    *static_cast<int*>(argument) = queue.domain->loop().fd();
    return 0;
  });
}

int close_queue(fid* f) {
  Queue& queue = of_fid<Queue, fid_cq>(f);
  return close_unused(queue, "a completion queue", [&](const Endpoint& endpoint) {
    return endpoint.transmit == &queue || endpoint.receive == &queue;
  });
}

fi_ops queue_fid_ops = {.size = sizeof(fi_ops),
                        .close = close_queue,
                        .bind = not_there,
                        .control = control_queue,
                        .ops_open = not_there,
                        .tostr = not_there,
                        .ops_set = not_there};
fi_ops_cq queue_ops = {.size = sizeof(fi_ops_cq),
                       .read = read_queue,
                       .readfrom = read_from,
                       .readerr = read_error,
                       .sread = wait_queue,
                       .sreadfrom = wait_from,
                       .signal = signal_queue,
                       .strerror = error_text};

// Counters.

std::uint64_t read_counter(fid_cntr* c) {
  Counter& counter = of<Counter>(c);
  std::uint64_t value = 0;
  guarded(FI_LOG_CNTR, [&] {
    auto lock = counter.domain->loop().lock();
    drain(*counter.domain);
    value = counter.value;
    return 0;
  });
  return value;
}

std::uint64_t read_counter_errors(fid_cntr* c) {
  Counter& counter = of<Counter>(c);
  auto lock = counter.domain->loop().lock();
  return counter.errors;
}

template <std::uint64_t Counter::*which, bool adds>
int change_counter(fid_cntr* c, std::uint64_t v) {
  Counter& counter = of<Counter>(c);
  auto lock = counter.domain->loop().lock();
  counter.*which = adds ? counter.*which + v : v;
  return 0;
}

int wait_counter(fid_cntr* c, std::uint64_t threshold, int timeout) {
  return guarded(FI_LOG_CNTR, [&] {
    Counter& counter = of<Counter>(c);
    const std::uint64_t errors = counter.errors;
    const bool reached = wait_for(
        *counter.domain, deadline_of(timeout),
        [&] { return counter.value >= threshold || counter.errors != errors; },
        [] { return false; });
    return !reached ? -FI_ETIMEDOUT : counter.errors != errors ? -FI_EAVAIL : 0;
  });
}

int close_counter(fid* f) {
  Counter& counter = of_fid<Counter, fid_cntr>(f);
  return close_unused(counter, "a counter", [&](const Endpoint& endpoint) {
    return std::ranges::find(endpoint.counters, &counter) != endpoint.counters.end();
  });
}

int control_counter(fid* f, int command, void* argument) {
  return guarded(FI_LOG_CNTR, [&] {
    Counter& counter = of_fid<Counter, fid_cntr>(f);
    if (command != FI_GETWAIT) {
      return -FI_ENOSYS;
    }
    auto lock = counter.domain->loop().lock();
    *static_cast<int*>(argument) = counter.domain->loop().fd();
    return 0;
  });
}

fi_ops counter_fid_ops = {.size = sizeof(fi_ops),
                          .close = close_counter,
                          .bind = not_there,
                          .control = control_counter,
                          .ops_open = not_there,
                          .tostr = not_there,
                          .ops_set = not_there};
fi_ops_cntr counter_ops = {.size = sizeof(fi_ops_cntr),
                           .read = read_counter,
                           .readerr = read_counter_errors,
                           .add = change_counter<&Counter::value, true>,
                           .set = change_counter<&Counter::value, false>,
                           .wait = wait_counter,
                           .adderr = change_counter<&Counter::errors, true>,
                           .seterr = change_counter<&Counter::errors, false>};

/// Wait objects that this provider has.
bool has_wait_object(fi_wait_obj object) {
  return object == FI_WAIT_NONE || object == FI_WAIT_UNSPEC || object == FI_WAIT_FD ||
         object == FI_WAIT_YIELD;
}

} // namespace

void hand_out(Domain& domain) {
  while (domain.endpoint != nullptr && has_room(domain.endpoint->transmit) &&
         has_room(domain.endpoint->receive)) {
    const auto completion = domain.messenger().take_completion();
    if (!completion) {
      return;
    }
    hand_out(*domain.endpoint, *completion);
  }
}

void drain(Domain& domain) {
  try {
    domain.loop().progress();
  } catch (const link::LinkError& error) {
    // A link that is down may come up again; peers that are not reached meanwhile are errors.
    if (error.kind() != link::LinkError::Kind::interface_down) {
      throw;
    }
    if (!std::exchange(domain.link_is_down, true)) {
      warn(FI_LOG_DOMAIN, error.what());
    }
    hand_out(domain);
    return;
  }
  domain.link_is_down = false;
  hand_out(domain);
}

int open_queue(fid_domain* domain, fi_cq_attr* attr, fid_cq** cq, void* context) {
  return guarded(FI_LOG_CQ, [&] {
    constexpr std::size_t usual = 65'536;
    if (!has_wait_object(attr->wait_obj) || attr->wait_cond != FI_CQ_COND_NONE) {
      warn(FI_LOG_CQ,
           "completion queues wait by a descriptor (FI_WAIT_FD), and without a threshold");
      return -FI_ENOSYS;
    }
    auto made = std::make_unique<Queue>();
    made->fid = {.fclass = FI_CLASS_CQ, .context = context, .ops = &queue_fid_ops};
    made->ops = &queue_ops;
    made->domain = &of<Domain>(domain);
    made->format = attr->format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_CONTEXT : attr->format;
    made->ring.resize(attr->size == 0 ? usual : std::max<std::size_t>(attr->size, 64));
    auto lock = made->domain->loop().lock();
    ++made->domain->users;
    *cq = made.release();
    return 0;
  });
}

int open_counter(fid_domain* domain, fi_cntr_attr* attr, fid_cntr** cntr, void* context) {
  return guarded(FI_LOG_CNTR, [&] {
    if (attr != nullptr &&
        (!has_wait_object(attr->wait_obj) || attr->events != FI_CNTR_EVENTS_COMP)) {
      warn(FI_LOG_CNTR, "counters count operations, and wait by a descriptor (FI_WAIT_FD)");
      return -FI_ENOSYS;
    }
    auto made = std::make_unique<Counter>();
    made->fid = {.fclass = FI_CLASS_CNTR, .context = context, .ops = &counter_fid_ops};
    made->ops = &counter_ops;
    made->domain = &of<Domain>(domain);
    auto lock = made->domain->loop().lock();
    ++made->domain->users;
    *cntr = made.release();
    return 0;
  });
}

} // namespace tributary::ofi
