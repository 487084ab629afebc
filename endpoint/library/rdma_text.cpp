#include "endpoint/library/rdma_text.hpp"

#include "endpoint/rdma/counters.hpp"
#include "endpoint/rdma/transfer_status.hpp"
#include "tributary/wire/rdma_status.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace tributary::library {

namespace {

using rdma::TransferStatus;

std::string line_of(const TransferStatus& t) {
  using Kind = TransferStatus::Kind;
  const std::string_view what = t.kind == Kind::write         ? "write to"
                                : t.kind == Kind::read        ? "read from"
                                : t.kind == Kind::peers_write ? "write of"
                                                              : "read by";
  const bool goes_out = t.kind == Kind::write || t.kind == Kind::peers_read;
  std::string text =
      fmt::format("  {} {}, transfer {:#010x}: {} of {} frames {}", what, peer_text(t.peer, t.vni),
                  t.message, t.placed, t.frames, goes_out ? "arrived" : "placed");
  if (goes_out) {
    text += fmt::format(", {} sent", t.sent);
  }
  text += fmt::format(", waits for {}", text_of(t.waiting));
  if (t.retries > 0) {
    text += fmt::format(", {} time-outs in a row", t.retries);
  }
  if (t.busy > 0) {
    text += fmt::format(", the peer was busy {} times", t.busy);
  }
  return text + "\n";
}

/// Whether the error has a reason that the peer gave.
bool has_reason(int error) {
  return error == TRIBUTARY_ERR_PEER_REFUSED || error == TRIBUTARY_ERR_PEER_ENDED;
}

} // namespace

int code_of(rdma::Cause cause) {
  switch (cause) {
  case rdma::Cause::none: return TRIBUTARY_OK;
  case rdma::Cause::refused: return TRIBUTARY_ERR_PEER_REFUSED;
  case rdma::Cause::ended: return TRIBUTARY_ERR_PEER_ENDED;
  case rdma::Cause::unreachable:
  case rdma::Cause::silent:
  case rdma::Cause::busy:
  case rdma::Cause::forgotten: return TRIBUTARY_ERR_PEER_UNREACHABLE;
  case rdma::Cause::cancelled: return TRIBUTARY_ERR_CANCELLED;
  }
  return TRIBUTARY_ERR_SYSTEM;
}

int code_of(rdma::BeginError error) {
  switch (error) {
  case rdma::BeginError::none: return TRIBUTARY_OK;
  case rdma::BeginError::no_context:
  case rdma::BeginError::no_completion:
  case rdma::BeginError::no_peer: return TRIBUTARY_ERR_FULL;
  case rdma::BeginError::bad_nid:
  case rdma::BeginError::own_nid:
  case rdma::BeginError::too_long: return TRIBUTARY_ERR_ARGUMENT;
  case rdma::BeginError::quarantined: return TRIBUTARY_ERR_PEER_QUARANTINED;
  }
  return TRIBUTARY_ERR_SYSTEM;
}

std::string peer_text(EndPoint peer, Vni vni) {
  return peer.number == 0 ? fmt::format("NID {:#x} (VNI {:#x})", peer.nid.value, vni.value)
                          : fmt::format("NID {:#x}, end point {} (VNI {:#x})", peer.nid.value,
                                        peer.number, vni.value);
}

tributary_rdma_completion in_c(const rdma::Completion& c, std::uint64_t number,
                               std::uint64_t user) {
  using Kind = rdma::Completion::Kind;
  const bool arrival = c.kind == Kind::arrival;
  return {.kind = arrival                ? TRIBUTARY_RDMA_ARRIVAL
                  : c.kind == Kind::read ? TRIBUTARY_RDMA_READ
                                         : TRIBUTARY_RDMA_WRITE,
          .error = code_of(c.cause),
          .transfer = number,
          .user = user,
          .immediate = arrival ? c.user : 0,
          .key = c.key.value,
          .offset = c.offset,
          .length = c.length,
          .nid = c.peer.nid.value,
          .vni = c.vni.value,
          .cause = static_cast<std::uint8_t>(c.cause),
          .peer_status = static_cast<std::uint8_t>(c.status),
          .message = c.message,
          .end_point = c.peer.number};
}

std::string text_of(const tributary_rdma_completion& c) {
  const std::string_view what = c.kind == TRIBUTARY_RDMA_WRITE  ? "write"
                                : c.kind == TRIBUTARY_RDMA_READ ? "read"
                                                                : "write";
  const std::string_view way = c.kind == TRIBUTARY_RDMA_WRITE  ? "to"
                               : c.kind == TRIBUTARY_RDMA_READ ? "from"
                                                               : "by";
  std::string text =
      fmt::format("{} of {} bytes {} {}, offset {} of region {:#018x} (transfer {:#010x}): {}",
                  what, c.length, way, peer_text({Nid{c.nid}, c.end_point}, Vni{c.vni}), c.offset,
                  c.key, c.message, rdma::text_of(static_cast<rdma::Cause>(c.cause)));
  if (has_reason(c.error)) {
    text += fmt::format(": {}", wire::text_of(static_cast<wire::RdmaStatus>(c.peer_status)));
  }
  return text;
}

std::string status_text(const rdma::Node& node) {
  const auto transfers = node.transfers();
  std::string text = fmt::format("RDMA: {} transfers in progress, {} peers, {} regions, frames of "
                                 "{} bytes\n",
                                 transfers.size(), node.peers_in_use(), node.regions_in_use(),
                                 node.options().longest_frame);
  for (const TransferStatus& each : transfers) {
    text += line_of(each);
  }
  std::string counters;
  rdma::for_each_counter(node.counters(),
                         [&](std::string_view name, std::string_view, std::uint64_t value) {
                           if (value != 0) {
                             fmt::format_to(std::back_inserter(counters), " {}={}", name, value);
                           }
                         });
  return text + (counters.empty() ? "" : "  counted:" + counters + "\n");
}

std::string waiting_text(const rdma::Node& node, const rdma::TransferId& id) {
  using Kind = TransferStatus::Kind;
  for (const TransferStatus& each : node.transfers()) {
    if (each.message == id.message && each.kind == (id.read ? Kind::read : Kind::write)) {
      return line_of(each);
    }
  }
  return "";
}

} // namespace tributary::library
