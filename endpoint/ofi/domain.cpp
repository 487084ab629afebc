// Domains, which open the link; the memory that peers may access; and the peers' addresses.
#include "endpoint/ofi/objects.hpp"
#include "endpoint/ofi/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

namespace tributary::ofi {

namespace {

// Memory regions.

int close_region(fid* f) {
  return guarded(FI_LOG_MR, [&] {
    Region& region = of_fid<Region, fid_mr>(f);
    {
      auto lock = region.domain->loop().lock();
      region.domain->messenger().deregister_region(rdma::RegionKey{region.key});
      region.domain->program->send();
      --region.domain->users;
    }
    delete &region;
    return 0;
  });
}

fi_ops region_ops = {.size = sizeof(fi_ops),
                     .close = close_region,
                     .bind = not_there,
                     .control = not_there,
                     .ops_open = not_there,
                     .tostr = not_there,
                     .ops_set = not_there};

int register_parts(fid* domain, const iovec* parts, std::size_t count, std::uint64_t access,
                   std::uint64_t offset, std::uint64_t key, std::uint64_t flags, fid_mr** mr,
                   void* context) {
  return count == 1 ? register_memory(domain, parts->iov_base, parts->iov_len, access, offset, key,
                                      flags, mr, context)
                    : -FI_EINVAL;
}

int register_by(fid* domain, const fi_mr_attr* attr, std::uint64_t flags, fid_mr** mr) {
  return register_parts(domain, attr->mr_iov, attr->iov_count, attr->access, attr->offset,
                        attr->requested_key, flags, mr, attr->context);
}

fi_ops_mr mr_ops = {.size = sizeof(fi_ops_mr),
                    .reg = register_memory,
                    .regv = register_parts,
                    .regattr = register_by};

// Address vectors.

/// Empty, and a line in the log, if the bytes are no address of this fabric and job.
std::optional<EndPoint> address_in(const Domain& domain, const void* bytes) {
  Address address;
  std::memcpy(&address, bytes, sizeof address);
  if (address.type != Address::mark) {
    warn(FI_LOG_AV, "an address that is not of this provider; all peers must use it: "
                    "FI_PROVIDER=tributary in the environment of each");
    return std::nullopt;
  }
  if (address.vni != domain.program->vni().value) {
    warn(FI_LOG_AV, fmt::format("NID {:#x} has VNI {}, and this program VNI {}: they are of "
                                "different jobs, and no frame passes between these",
                                address.nid, address.vni, domain.program->vni().value));
    return std::nullopt;
  }
  return EndPoint(Nid{address.nid}, address.end_point);
}

int insert_addresses(fid_av* a, const void* bytes, std::size_t count, fi_addr_t* places,
                     std::uint64_t /*flags*/, void* /*context*/) {
  return guarded(FI_LOG_AV, [&] {
    AddressVector& av = of<AddressVector>(a);
    auto lock = av.domain->loop().lock();
    int inserted = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto* const at = static_cast<const std::byte*>(bytes) + i * address_bytes;
      const auto address = address_in(*av.domain, at);
      fi_addr_t place = FI_ADDR_NOTAVAIL;
      if (address) {
        place = av.entries.size();
        av.entries.push_back(address);
        av.places.insert_or_assign(address->key(), place);
        ++inserted;
      }
      if (places != nullptr) {
        places[i] = place;
      }
    }
    return inserted;
  });
}

int remove_addresses(fid_av* a, fi_addr_t* places, std::size_t count, std::uint64_t /*flags*/) {
  return guarded(FI_LOG_AV, [&] {
    AddressVector& av = of<AddressVector>(a);
    auto lock = av.domain->loop().lock();
    for (std::size_t i = 0; i < count; ++i) {
      if (places[i] >= av.entries.size() || !av.entries[places[i]]) {
        return -FI_EINVAL;
      }
      const auto at = av.places.find(av.entries[places[i]]->key());
      if (at != av.places.end() && at->second == places[i]) {
        av.places.erase(at);
      }
      av.entries[places[i]].reset();
    }
    return 0;
  });
}

int look_up_address(fid_av* a, fi_addr_t place, void* bytes, std::size_t* length) {
  return guarded(FI_LOG_AV, [&] {
    AddressVector& av = of<AddressVector>(a);
    auto lock = av.domain->loop().lock();
    if (place >= av.entries.size() || !av.entries[place]) {
      return -FI_EINVAL;
    }
    const Address address{.nid = av.entries[place]->nid.value,
                          .end_point = av.entries[place]->number,
                          .vni = av.domain->program->vni().value};
    std::memcpy(bytes, &address, std::min(*length, sizeof address));
    *length = sizeof address;
    return 0;
  });
}

const char* address_text(fid_av*, const void* bytes, char* text, std::size_t* length) {
  Address address;
  std::memcpy(&address, bytes, sizeof address);
  const std::size_t written = copy_text(
      fmt::format("NID {:#x}, end point {}, VNI {}", address.nid, address.end_point, address.vni),
      text, *length);
  *length = written + 1;
  return text;
}

int close_address_vector(fid* f) {
  AddressVector& av = of_fid<AddressVector, fid_av>(f);
  return close_unused(av, "an address vector",
                      [&](const Endpoint& endpoint) { return endpoint.av == &av; });
}

fi_ops address_vector_fid_ops = {.size = sizeof(fi_ops),
                                 .close = close_address_vector,
                                 .bind = not_there,
                                 .control = not_there,
                                 .ops_open = not_there,
                                 .tostr = not_there,
                                 .ops_set = not_there};
fi_ops_av address_vector_ops = {.size = sizeof(fi_ops_av),
                                .insert = insert_addresses,
                                .insertsvc = not_there,
                                .insertsym = not_there,
                                .remove = remove_addresses,
                                .lookup = look_up_address,
                                .straddr = address_text,
                                .av_set = not_there,
#if FI_MAJOR_VERSION >= 2
                                .insert_auth_key = not_there,
                                .lookup_auth_key = not_there,
                                .set_user_id = not_there
#endif
};

// Domains.

int close_domain(fid* f) {
  return guarded(FI_LOG_DOMAIN, [&] {
    Domain& domain = of_fid<Domain, fid_domain>(f);
    if (domain.users > 0) {
      warn(FI_LOG_DOMAIN,
           fmt::format("the domain is closed while {} of its objects are open", domain.users));
      return -FI_EBUSY;
    }
    delete &domain;
    return 0;
  });
}

fi_ops domain_fid_ops = {.size = sizeof(fi_ops),
                         .close = close_domain,
                         .bind = not_there,
                         .control = not_there,
                         .ops_open = not_there,
                         .tostr = not_there,
                         .ops_set = not_there};
fi_ops_domain domain_ops = {.size = sizeof(fi_ops_domain),
                            .av_open = open_address_vector,
                            .cq_open = open_queue,
                            .endpoint = open_endpoint,
                            .scalable_ep = not_there,
                            .cntr_open = open_counter,
                            .poll_open = not_there,
                            .stx_ctx = not_there,
                            .srx_ctx = not_there,
                            .query_atomic = query_atomic,
                            .query_collective = not_there,
                            .endpoint2 = not_there};

} // namespace

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
  return guarded(FI_LOG_DOMAIN, [&] {
    auto made = std::make_unique<Domain>();
    made->fid = {.fclass = FI_CLASS_DOMAIN, .context = context, .ops = &domain_fid_ops};
    made->ops = &domain_ops;
    made->mr = &mr_ops;
    made->fabric = &of<Fabric>(fabric);
    made->is_virtual = info->domain_attr->mr_mode == mr_basic ||
                       (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    made->program = Program::open(settings_of_environment(), true);
    if (made->messenger().inject_bytes() < inject_size) {
      warn(FI_LOG_DOMAIN,
           fmt::format("interface {} carries frames of {} bytes, and {} are needed; raise its MTU",
                       made->program->interface(), made->loop().port().longest_frame(),
                       inject_size + wire::longest_segment_header + wire::rdma_overhead_bytes));
      return -FI_ENODEV;
    }
    *domain = made.release();
    return 0;
  });
}

int open_address_vector(fid_domain* domain, fi_av_attr* attr, fid_av** av, void* context) {
  return guarded(FI_LOG_AV, [&] {
    if (attr != nullptr && (attr->name != nullptr || (attr->flags & ~FI_SYMMETRIC) != 0)) {
      warn(FI_LOG_AV, "address vectors are neither shared by name nor asynchronous");
      return -FI_ENOSYS;
    }
    auto made = std::make_unique<AddressVector>();
    made->fid = {.fclass = FI_CLASS_AV, .context = context, .ops = &address_vector_fid_ops};
    made->ops = &address_vector_ops;
    made->domain = &of<Domain>(domain);
    if (attr != nullptr) {
      attr->type = attr->type == FI_AV_UNSPEC ? FI_AV_TABLE : attr->type;
      made->entries.reserve(attr->count);
    }
    auto lock = made->domain->loop().lock();
    ++made->domain->users;
    *av = made.release();
    return 0;
  });
}

int register_memory(fid* f, const void* buffer, std::size_t length, std::uint64_t access,
                    std::uint64_t offset, std::uint64_t /*key*/, std::uint64_t flags, fid_mr** mr,
                    void* context) {
  return guarded(FI_LOG_MR, [&] {
    Domain& domain = of_fid<Domain, fid_domain>(f);
    if (flags != 0 || offset != 0) {
      return -FI_EINVAL;
    }
    auto made = std::make_unique<Region>();
    auto lock = domain.loop().lock();
    const auto address = reinterpret_cast<std::uint64_t>(buffer);
    const auto key = domain.messenger().register_region(
        // Without a right to write, no frame changes it.
        {static_cast<std::byte*>(const_cast<void*>(buffer)), length},
        {.peers_write = (access & FI_REMOTE_WRITE) != 0,
         .peers_read = (access & FI_REMOTE_READ) != 0},
        domain.program->vni(), domain.is_virtual ? address : 0);
    if (!key) {
      warn(FI_LOG_MR, fmt::format("{} regions are registered, and there is room for no more",
                                  domain.messenger().node().regions_in_use()));
      return -FI_ENOSPC;
    }
    made->fid = {.fclass = FI_CLASS_MR, .context = context, .ops = &region_ops};
    made->mem_desc = made.get();
    made->key = key->value;
    made->domain = &domain;
    ++domain.users;
    *mr = made.release();
    return 0;
  });
}

} // namespace tributary::ofi
