// End points: what they are bound to, their name, their options.
#include "endpoint/ofi/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace tributary::ofi {

namespace {

int bind_queue(Endpoint& endpoint, Queue& queue, std::uint64_t flags) {
  if (queue.domain != endpoint.domain || (flags & (FI_TRANSMIT | FI_RECV)) == 0) {
    return -FI_EINVAL;
  }
  const bool selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
  if ((flags & FI_TRANSMIT) != 0) {
    endpoint.transmit = &queue;
    endpoint.transmit_selective = selective;
  }
  if ((flags & FI_RECV) != 0) {
    endpoint.receive = &queue;
    endpoint.receive_selective = selective;
  }
  return 0;
}

int bind_counter(Endpoint& endpoint, Counter& counter, std::uint64_t flags) {
  constexpr std::array<std::uint64_t, counted_kinds> kinds = {FI_SEND, FI_RECV, FI_READ, FI_WRITE};
  if ((flags & (FI_REMOTE_READ | FI_REMOTE_WRITE)) != 0) {
    warn(FI_LOG_EP_CTRL, "transfers of peers are not counted (FI_RMA_EVENT is not there)");
    return -FI_ENOSYS;
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if ((flags & kinds[i]) != 0) {
      endpoint.counters[i] = &counter;
    }
  }
  auto lock = endpoint.domain->loop().lock();
  endpoint.domain->messenger().report_silent();
  return 0;
}

int bind_endpoint(fid* f, fid* to, std::uint64_t flags) {
  return guarded(FI_LOG_EP_CTRL, [&] {
    Endpoint& endpoint = of_fid<Endpoint, fid_ep>(f);
    if (endpoint.enabled) {
      return -FI_EOPBADSTATE;
    }
    switch (to->fclass) {
    case FI_CLASS_AV: endpoint.av = &of_fid<AddressVector, fid_av>(to); return 0;
    case FI_CLASS_CQ: return bind_queue(endpoint, of_fid<Queue, fid_cq>(to), flags);
    case FI_CLASS_CNTR: return bind_counter(endpoint, of_fid<Counter, fid_cntr>(to), flags);
    case FI_CLASS_EQ: return 0; // there are no events
    default: return -FI_EINVAL;
    }
  });
}

int enable(Endpoint& endpoint) {
  if (endpoint.av == nullptr) {
    return -FI_ENOAV;
  }
  const bool sends = (endpoint.caps & (FI_SEND | FI_READ | FI_WRITE)) != 0;
  if ((sends && endpoint.transmit == nullptr && endpoint.counters[0] == nullptr) ||
      ((endpoint.caps & FI_RECV) != 0 && endpoint.receive == nullptr &&
       endpoint.counters[1] == nullptr)) {
    return -FI_ENOCQ;
  }
  endpoint.enabled = true;
  return 0;
}

int control_endpoint(fid* f, int command, void* argument) {
  Endpoint& endpoint = of_fid<Endpoint, fid_ep>(f);
  const auto both = [&](std::uint64_t flags) {
    return (flags & (FI_TRANSMIT | FI_RECV)) == (FI_TRANSMIT | FI_RECV) ||
           (flags & (FI_TRANSMIT | FI_RECV)) == 0;
  };
  switch (command) {
  case FI_ENABLE: return enable(endpoint);
  case FI_GETOPSFLAG: {
    auto& flags = *static_cast<std::uint64_t*>(argument);
    if (both(flags)) {
      return -FI_EINVAL;
    }
    flags = (flags & FI_TRANSMIT) != 0 ? endpoint.transmit_flags : endpoint.receive_flags;
    return 0;
  }
  case FI_SETOPSFLAG: {
    const std::uint64_t flags = *static_cast<std::uint64_t*>(argument);
    if (both(flags)) {
      return -FI_EINVAL;
    }
    ((flags & FI_TRANSMIT) != 0 ? endpoint.transmit_flags : endpoint.receive_flags) =
        flags & ~(FI_TRANSMIT | FI_RECV);
    return 0;
  }
  default: return -FI_ENOSYS;
  }
}

int close_endpoint(fid* f) {
  return guarded(FI_LOG_EP_CTRL, [&] {
    Endpoint& endpoint = of_fid<Endpoint, fid_ep>(f);
    Domain& domain = *endpoint.domain;
    {
      auto lock = domain.loop().lock();
      domain.messenger().end_all();
      domain.program->send();
      domain.endpoint = nullptr;
      --domain.users;
    }
    delete &endpoint;
    return 0;
  });
}

ssize_t cancel(fid* f, void* context) {
  return guarded(FI_LOG_EP_DATA, [&]() -> ssize_t {
    Endpoint& endpoint = of_fid<Endpoint, fid_ep>(f);
    auto lock = endpoint.domain->loop().lock();
    const bool was_there =
        endpoint.domain->messenger().cancel(reinterpret_cast<std::uint64_t>(context));
    return was_there ? 0 : -FI_ENOENT;
  });
}

// There are no options.

int get_option(fid*, int, int, void*, std::size_t*) { return -FI_ENOPROTOOPT; }
int set_option(fid*, int, int, const void*, std::size_t) { return -FI_ENOPROTOOPT; }

int get_name(fid* f, void* bytes, std::size_t* length) {
  const Endpoint& endpoint = of_fid<Endpoint, fid_ep>(f);
  const Program& program = *endpoint.domain->program;
  const EndPoint own = program.address();
  const Address address{.nid = own.nid.value, .end_point = own.number, .vni = program.vni().value};
  const std::size_t room = *length;
  *length = sizeof address;
  if (room > 0 && bytes != nullptr) {
    std::memcpy(bytes, &address, std::min(room, sizeof address));
  }
  return room < sizeof address ? -FI_ETOOSMALL : 0;
}

fi_ops endpoint_fid_ops = {.size = sizeof(fi_ops),
                           .close = close_endpoint,
                           .bind = bind_endpoint,
                           .control = control_endpoint,
                           .ops_open = not_there,
                           .tostr = not_there,
                           .ops_set = not_there};
fi_ops_ep endpoint_ops = {.size = sizeof(fi_ops_ep),
                          .cancel = cancel,
                          .getopt = get_option,
                          .setopt = set_option,
                          .tx_ctx = not_there,
                          .rx_ctx = not_there,
                          .rx_size_left = not_there,
                          .tx_size_left = not_there};
fi_ops_cm name_ops = {.size = sizeof(fi_ops_cm),
                      .setname = not_there,
                      .getname = get_name,
                      .getpeer = not_there,
                      .connect = not_there,
                      .listen = not_there,
                      .accept = not_there,
                      .reject = not_there,
                      .shutdown = not_there,
                      .join = not_there};

} // namespace

int open_endpoint(fid_domain* d, fi_info* info, fid_ep** ep, void* context) {
  return guarded(FI_LOG_EP_CTRL, [&] {
    Domain& domain = of<Domain>(d);
    if (domain.endpoint != nullptr) {
      warn(FI_LOG_EP_CTRL, "a domain has one end point (ep_cnt); open another domain for another");
      return -FI_EBUSY;
    }
    auto made = std::make_unique<Endpoint>();
    made->fid = {.fclass = FI_CLASS_EP, .context = context, .ops = &endpoint_fid_ops};
    made->ops = &endpoint_ops;
    made->cm = &name_ops;
    made->domain = &domain;
    made->caps = info->caps;
    made->transmit_flags = info->tx_attr != nullptr ? info->tx_attr->op_flags : 0;
    made->receive_flags = info->rx_attr != nullptr ? info->rx_attr->op_flags : 0;
    set_transfer_tables(*made);
    auto lock = domain.loop().lock();
    ++domain.users;
    domain.endpoint = made.get();
    *ep = made.release();
    return 0;
  });
}

} // namespace tributary::ofi
