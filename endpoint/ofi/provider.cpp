// The entry of libtributary-fi.so, and what is above domains: fabrics and event queues.
#include "endpoint/ofi/objects.hpp"
#include "endpoint/ofi/settings.hpp"

#include "endpoint/host_client/host_client.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace tributary::ofi {

namespace {

constexpr std::uint32_t own_version = FI_VERSION(1, 0);
/// The oldest libfabric whose structures these are. What an application asks for may be newer.
constexpr std::uint32_t api_version = FI_VERSION(1, 17);

/// Whether there is anything to open; says in the log what to do if there is not.
bool is_there(const Settings& settings) {
  const std::string agent = host_client::agent_path();
  if (!settings.interface.empty() || ::access(agent.c_str(), W_OK) == 0) {
    return true;
  }
  FI_INFO(&provider, FI_LOG_FABRIC,
          "no interface: TRIBUTARY_OFI_INTERFACE names none, and no host agent is at %s\n",
          agent.c_str());
  return false;
}

int getinfo(std::uint32_t version, const char* node, const char* /*service*/, std::uint64_t flags,
            const fi_info* hints, fi_info** info) {
  return guarded(FI_LOG_FABRIC, [&] {
    *info = nullptr;
    const Settings settings = settings_of_environment();
    if (!is_there(settings)) {
      return -FI_ENODATA;
    }
    if (node != nullptr && (flags & FI_SOURCE) == 0) {
      FI_INFO(&provider, FI_LOG_FABRIC,
              "not this provider: node %s; peers are known by the addresses of fi_getname alone\n",
              node);
      return -FI_ENODATA;
    }
    *info = info_for(version, hints, settings);
    return *info == nullptr ? -FI_ENODATA : 0;
  });
}

// Event queues: there are no events. Applications open them nevertheless.

ssize_t read_event(fid_eq*, std::uint32_t*, void*, std::size_t, std::uint64_t) {
  return -FI_EAGAIN;
}
ssize_t read_event_error(fid_eq*, fi_eq_err_entry*, std::uint64_t) { return -FI_EAGAIN; }
ssize_t wait_event(fid_eq*, std::uint32_t*, void*, std::size_t, int timeout, std::uint64_t) {
  if (timeout > 0) {
    ::usleep(static_cast<useconds_t>(std::min(timeout, 1'000)) * 1'000U);
  }
  return -FI_EAGAIN;
}
const char* event_error(fid_eq*, int number, const void*, char* text, std::size_t length) {
  copy_text(fi_strerror(number), text, length);
  return fi_strerror(number);
}

int close_event_queue(fid* f) {
  delete &of_fid<EventQueue, fid_eq>(f);
  return 0;
}

fi_ops event_queue_ops = {.size = sizeof(fi_ops),
                          .close = close_event_queue,
                          .bind = not_there,
                          .control = not_there,
                          .ops_open = not_there,
                          .tostr = not_there,
                          .ops_set = not_there};
fi_ops_eq event_ops = {.size = sizeof(fi_ops_eq),
                       .read = read_event,
                       .readerr = read_event_error,
                       .write = not_there,
                       .sread = wait_event,
                       .strerror = event_error};

// Fabrics.

int close_fabric(fid* f) {
  delete &of_fid<Fabric, fid_fabric>(f);
  return 0;
}

/// Whether all of these may be waited for: none has anything to take.
int try_wait(fid_fabric*, fid** fids, int count) {
  return guarded(FI_LOG_CQ, [&] {
    for (int i = 0; i < count; ++i) {
      if (fids[i]->fclass != FI_CLASS_CQ) {
        continue;
      }
      Queue& queue = of_fid<Queue, fid_cq>(fids[i]);
      auto lock = queue.domain->loop().lock();
      drain(*queue.domain);
      if (queue.count > 0) {
        return -FI_EAGAIN;
      }
    }
    return 0;
  });
}

fi_ops fabric_fid_ops = {.size = sizeof(fi_ops),
                         .close = close_fabric,
                         .bind = not_there,
                         .control = not_there,
                         .ops_open = not_there,
                         .tostr = not_there,
                         .ops_set = not_there};
fi_ops_fabric fabric_ops = {.size = sizeof(fi_ops_fabric),
                            .domain = open_domain,
                            .passive_ep = not_there,
                            .eq_open = open_event_queue,
                            .wait_open = not_there,
                            .trywait = try_wait,
                            .domain2 = not_there};

int open_fabric(fi_fabric_attr* attr, fid_fabric** fabric, void* context) {
  return guarded(FI_LOG_FABRIC, [&] {
    if (attr->name != nullptr && std::strcmp(attr->name, provider.name) != 0) {
      return -FI_ENODATA;
    }
    auto made = std::make_unique<Fabric>();
    made->fid = {.fclass = FI_CLASS_FABRIC, .context = context, .ops = &fabric_fid_ops};
    made->ops = &fabric_ops;
    made->api_version = attr->api_version;
    *fabric = made.release();
    return 0;
  });
}

void clean_up() {}

} // namespace

fi_provider provider = {.version = own_version,
                        .fi_version = api_version,
                        .context = {},
                        .name = "tributary",
                        .getinfo = getinfo,
                        .fabric = open_fabric,
                        .cleanup = clean_up};

void warn(fi_log_subsys subsystem, const std::string& text) {
  FI_WARN(&provider, subsystem, "%s\n", text.c_str());
}

int open_event_queue(fid_fabric*, fi_eq_attr*, fid_eq** eq, void* context) {
  return guarded(FI_LOG_EQ, [&] {
    auto made = std::make_unique<EventQueue>();
    made->fid = {.fclass = FI_CLASS_EQ, .context = context, .ops = &event_queue_ops};
    made->ops = &event_ops;
    *eq = made.release();
    return 0;
  });
}

} // namespace tributary::ofi

/// libfabric opens the library, and calls this.
extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini(void) {
  // The core takes no provider that is older than what an application asks for. Structures of newer
  // releases begin with the same fields.
  tributary::ofi::provider.fi_version =
      std::max<std::uint32_t>(tributary::ofi::provider.fi_version, fi_version());
  return &tributary::ofi::provider;
}
