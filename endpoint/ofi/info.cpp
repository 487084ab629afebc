// fi_getinfo: what is there, and what of it an application asks for.
#include "endpoint/ofi/objects.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <limits>

namespace tributary::ofi {

namespace {

constexpr std::uint64_t transmit_caps =
    FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE;
constexpr std::uint64_t receive_caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV |
                                       FI_REMOTE_READ | FI_REMOTE_WRITE | FI_DIRECTED_RECV |
                                       FI_SOURCE;
constexpr std::uint64_t domain_caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
constexpr std::uint64_t all_caps = transmit_caps | receive_caps | domain_caps;
constexpr std::uint64_t transmit_flags =
    FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE;
constexpr std::uint64_t receive_flags = FI_COMPLETION;
/// Messages of a pair of end points arrive in the order in which they were sent; nothing else has
/// one.
constexpr std::uint64_t orders = FI_ORDER_SAS;
constexpr std::size_t longest_message = std::size_t{1} << 40;
constexpr std::size_t queue_size = 16'384;

/// Says in the log what an application asks for that is not there.
bool refuse(const std::string& what) {
  FI_INFO(&provider, FI_LOG_FABRIC, "not this provider: %s\n", what.c_str());
  return false;
}

bool has_all(const char* what, std::uint64_t asked, std::uint64_t there, fi_type type) {
  const std::uint64_t missing = asked & ~there;
  if (missing == 0) {
    return true;
  }
  char text[256];
  return refuse(
      fmt::format("{} {} ({:#x})", what, fi_tostr_r(text, sizeof text, &missing, type), missing));
}

bool at_most(const char* what, std::size_t asked, std::size_t there) {
  return asked <= there || refuse(fmt::format("{} {}, of which there are {}", what, asked, there));
}

bool can_name(const fi_fabric_attr& attr) {
  if (attr.prov_name != nullptr && std::strstr(attr.prov_name, provider.name) == nullptr) {
    return refuse(fmt::format("provider {}", attr.prov_name));
  }
  if (attr.name != nullptr && std::strcmp(attr.name, provider.name) != 0) {
    return refuse(fmt::format("fabric {}, not {}", attr.name, provider.name));
  }
  return true;
}

std::string domain_name(const Settings& settings) {
  return settings.interface.empty() ? "host-agent" : settings.interface;
}

bool can_be_addressed(int mr_mode, std::uint64_t caps) {
  const bool remote = (caps & (FI_RMA | FI_ATOMIC)) != 0;
  if (!remote || mr_mode == mr_basic || (mr_mode & FI_MR_PROV_KEY) != 0) {
    return true;
  }
  return refuse("memory registration without FI_MR_PROV_KEY: keys are drawn, never chosen");
}

/// Without a thread nothing moves but in calls, and nothing guards them from each other.
bool can_drive(const fi_domain_attr& attr, const Settings& settings) {
  const bool is_automatic =
      attr.control_progress == FI_PROGRESS_AUTO || attr.data_progress == FI_PROGRESS_AUTO;
  if (!settings.thread && is_automatic) {
    return refuse("automatic progress: TRIBUTARY_OFI_PROGRESS says caller");
  }
  return settings.thread || attr.threading == FI_THREAD_UNSPEC ||
         attr.threading == FI_THREAD_DOMAIN ||
         refuse("threads without a lock of their own: TRIBUTARY_OFI_PROGRESS says caller");
}

bool can_have(const fi_domain_attr& attr, const Settings& settings, std::uint64_t caps) {
  if (attr.name != nullptr && domain_name(settings) != attr.name) {
    return refuse(fmt::format("domain {}, not {}", attr.name, domain_name(settings)));
  }
  return can_drive(attr, settings) &&
         has_all("capabilities of a domain", attr.caps, all_caps, FI_TYPE_CAPS) &&
         can_be_addressed(attr.mr_mode, caps) &&
         at_most("bytes of a completion's data:", attr.cq_data_size, sizeof(std::uint64_t)) &&
         at_most("end points of a domain:", attr.ep_cnt, 1) &&
         at_most("bytes of a key:", attr.mr_key_size, sizeof(std::uint64_t)) &&
         at_most("transmit contexts:", attr.tx_ctx_cnt, 1) &&
         at_most("receive contexts:", attr.rx_ctx_cnt, 1) &&
         (attr.auth_key_size == 0 || refuse("an authorisation key: the VNI is the job's"));
}

bool can_have(const fi_ep_attr& attr) {
  if (attr.type != FI_EP_UNSPEC && attr.type != FI_EP_RDM) {
    return refuse("an end point that is not FI_EP_RDM");
  }
  if (attr.protocol != FI_PROTO_UNSPEC && attr.protocol != address_format) {
    return refuse("the protocol of another provider");
  }
  return at_most("bytes of a message:", attr.max_msg_size, longest_message) &&
         at_most("bytes of writes that are read in order:", attr.max_order_raw_size, 0) &&
         at_most("bytes of reads that are written in order:", attr.max_order_war_size, 0) &&
         at_most("bytes of writes in order:", attr.max_order_waw_size, 0) &&
         at_most("transmit contexts:", attr.tx_ctx_cnt, 1) &&
         at_most("receive contexts:", attr.rx_ctx_cnt, 1);
}

bool can_have(const fi_tx_attr& attr) {
  return has_all("capabilities to send", attr.caps, transmit_caps | domain_caps, FI_TYPE_CAPS) &&
         has_all("flags of sends", attr.op_flags, transmit_flags, FI_TYPE_OP_FLAGS) &&
         has_all("order of sends", attr.msg_order, orders, FI_TYPE_MSG_ORDER) &&
         has_all("order of completions", attr.comp_order, 0, FI_TYPE_MSG_ORDER) &&
         at_most("bytes of an injected message:", attr.inject_size, inject_size) &&
         at_most("sends at once:", attr.size, queue_size) &&
         at_most("parts of a send:", attr.iov_limit, 1) &&
         at_most("parts of a transfer:", attr.rma_iov_limit, 1);
}

bool can_have(const fi_rx_attr& attr) {
  return has_all("capabilities to receive", attr.caps, receive_caps | domain_caps, FI_TYPE_CAPS) &&
         has_all("flags of receives", attr.op_flags, receive_flags, FI_TYPE_OP_FLAGS) &&
         has_all("order of receives", attr.msg_order, orders, FI_TYPE_MSG_ORDER) &&
         has_all("order of completions", attr.comp_order, 0, FI_TYPE_MSG_ORDER) &&
         at_most("receives at once:", attr.size, queue_size) &&
         at_most("parts of a receive:", attr.iov_limit, 1);
}

bool can_do(const fi_info& hints, const Settings& settings) {
  if (hints.addr_format != FI_FORMAT_UNSPEC && hints.addr_format != address_format) {
    return refuse("addresses of another format");
  }
  return has_all("capabilities", hints.caps, all_caps, FI_TYPE_CAPS) &&
         (hints.fabric_attr == nullptr || can_name(*hints.fabric_attr)) &&
         (hints.domain_attr == nullptr || can_have(*hints.domain_attr, settings, hints.caps)) &&
         (hints.ep_attr == nullptr || can_have(*hints.ep_attr)) &&
         (hints.tx_attr == nullptr || can_have(*hints.tx_attr)) &&
         (hints.rx_attr == nullptr || can_have(*hints.rx_attr));
}

/// The capabilities that the hints name, or all; what a kind of transfer needs to be of use comes
/// with it.
std::uint64_t caps_for(const fi_info* hints) {
  std::uint64_t caps = hints == nullptr || hints->caps == 0 ? all_caps : hints->caps;
  if ((caps & (FI_MSG | FI_TAGGED)) != 0 && (caps & (FI_SEND | FI_RECV)) == 0) {
    caps |= FI_SEND | FI_RECV;
  }
  constexpr std::uint64_t of_rma = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  if ((caps & (FI_RMA | FI_ATOMIC)) != 0 && (caps & of_rma) == 0) {
    caps |= of_rma;
  }
  return caps | domain_caps;
}

int mr_mode_for(const fi_info* hints, std::uint64_t caps) {
  if (hints != nullptr && hints->domain_attr != nullptr &&
      hints->domain_attr->mr_mode == mr_basic) {
    return mr_basic;
  }
  return (caps & (FI_RMA | FI_ATOMIC)) != 0 ? FI_MR_PROV_KEY : 0;
}

template <typename T> T asked_or(T asked, T otherwise) { return asked != T{} ? asked : otherwise; }

} // namespace

fi_info* info_for(std::uint32_t version, const fi_info* hints, const Settings& settings) {
  if (hints != nullptr && !can_do(*hints, settings)) {
    return nullptr;
  }
  fi_info* const info = fi_allocinfo();
  if (info == nullptr) {
    return nullptr;
  }
  const std::uint64_t caps = caps_for(hints);
  info->caps = caps;
  info->addr_format = address_format;
  *info->tx_attr = {};
  info->tx_attr->caps = caps & (transmit_caps | domain_caps);
  info->tx_attr->msg_order = orders;
  info->tx_attr->inject_size = inject_size;
  info->tx_attr->size = queue_size;
  info->tx_attr->iov_limit = 1;
  info->tx_attr->rma_iov_limit = 1;
  *info->rx_attr = {};
  info->rx_attr->caps = caps & (receive_caps | domain_caps);
  info->rx_attr->msg_order = orders;
  info->rx_attr->size = queue_size;
  info->rx_attr->iov_limit = 1;
  if (hints != nullptr && hints->tx_attr != nullptr) {
    info->tx_attr->op_flags = hints->tx_attr->op_flags;
  }
  if (hints != nullptr && hints->rx_attr != nullptr) {
    info->rx_attr->op_flags = hints->rx_attr->op_flags;
  }
  info->ep_attr->type = FI_EP_RDM;
  info->ep_attr->protocol = address_format;
  info->ep_attr->protocol_version = 1;
  info->ep_attr->max_msg_size = longest_message;
  info->ep_attr->mem_tag_format = std::numeric_limits<std::uint64_t>::max();
  info->ep_attr->tx_ctx_cnt = 1;
  info->ep_attr->rx_ctx_cnt = 1;
  fi_domain_attr& domain = *info->domain_attr;
  const fi_domain_attr none{};
  const fi_domain_attr& asked =
      hints != nullptr && hints->domain_attr != nullptr ? *hints->domain_attr : none;
  domain.name = ::strdup(domain_name(settings).c_str());
  const fi_progress progress = settings.thread ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
  domain.threading = asked_or(asked.threading, settings.thread ? FI_THREAD_SAFE : FI_THREAD_DOMAIN);
  domain.control_progress = asked_or(asked.control_progress, progress);
  domain.data_progress = asked_or(asked.data_progress, progress);
  domain.resource_mgmt = FI_RM_ENABLED;
  domain.av_type = asked_or(asked.av_type, FI_AV_TABLE);
  domain.mr_mode = mr_mode_for(hints, caps);
  domain.mr_key_size = sizeof(std::uint64_t);
  domain.cq_data_size = sizeof(std::uint64_t);
  domain.cq_cnt = 64;
  domain.ep_cnt = 1;
  domain.tx_ctx_cnt = domain.rx_ctx_cnt = 1;
  domain.max_ep_tx_ctx = domain.max_ep_rx_ctx = 1;
  domain.cntr_cnt = 64;
  domain.mr_iov_limit = 1;
  domain.mr_cnt = 8'192;
  domain.caps = caps & domain_caps;
  info->fabric_attr->name = ::strdup(provider.name);
  info->fabric_attr->prov_name = nullptr; // the core names the provider
  info->fabric_attr->prov_version = provider.version;
  info->fabric_attr->api_version = version;
  return info;
}

} // namespace tributary::ofi
