// SPDX-License-Identifier: (GPL-2.0 OR BSD-3-Clause)
// Steers the frames of one EtherType to the AF_XDP sockets of the switch; all other frames go to
// the kernel unchanged. A priority tag in front of it, 802.1Q with VLAN id 0, means nothing and is
// removed. On a link between switches it also steers frames with the EtherType after any 802.1Q
// tag, which stays, and MAC control frames, which are pauses; with LLDP enabled, LLDP frames, too.
//
// libxdp, through which DPDK opens its AF_XDP sockets, adopts a program that is already attached
// if it looks like libxdp's own default one. The names are that convention, and must stay:
//
//   xsk_def_prog       the program
//   xsks_map           receive queue -> socket; libxdp fills it in
//   refcnt             how many sockets use the program; libxdp counts it up and down
//   xsk_prog_version   in the BTF section "xdp_metadata", required for it to use `refcnt`
#include <linux/bpf.h>
#include <linux/if_ether.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __type(key, __u32);
  __type(value, __u32);
  __uint(max_entries, 64); // the loader sets it to the number of receive queues
} xsks_map SEC(".maps");

int (*xsk_prog_version)[1] SEC("xdp_metadata");

volatile int refcnt = 1;

// In host byte order; written by the loader before the kernel sees the program.
volatile const __u16 ethertype = 0;
volatile const __u8 between_switches = 0;
volatile const __u8 lldp = 0;
volatile const __u8 everything = 0;

struct tagged_header {
  struct ethhdr outer;
  __be16 control;
  __be16 proto;
} __attribute__((packed));

static __always_inline int has_tag(struct tagged_header* tagged, void* data_end) {
  return tagged->outer.h_proto == bpf_htons(ETH_P_8021Q) && (void*)(tagged + 1) <= data_end &&
         tagged->proto == bpf_htons(ethertype);
}

// The frame begins four bytes later then.
static __always_inline int take_tag_off(struct xdp_md* ctx, void* data) {
  __u8 addresses[2 * ETH_ALEN];
  __builtin_memcpy(addresses, data, sizeof addresses);
  __builtin_memcpy(data + 4, addresses, sizeof addresses);
  return bpf_xdp_adjust_head(ctx, 4);
}

static __always_inline int is_ours(struct ethhdr* header, void* data_end) {
  if (everything || header->h_proto == bpf_htons(ethertype)) {
    return 1;
  }
  if (lldp && header->h_proto == bpf_htons(0x88CC)) {
    return 1;
  }
  if (!between_switches) {
    return 0;
  }
  if (header->h_proto == bpf_htons(0x8808)) {
    return 1;
  }
  return has_tag((void*)header, data_end);
}

SEC("xdp")
int xsk_def_prog(struct xdp_md* ctx) {
  void* data = (void*)(long)ctx->data;
  void* data_end = (void*)(long)ctx->data_end;
  struct ethhdr* header = data;
  if ((void*)(header + 1) > data_end) {
    return XDP_PASS;
  }
  struct tagged_header* tagged = data;
  if (!between_switches && has_tag(tagged, data_end) && !(tagged->control & bpf_htons(0x0FFF))) {
    if (take_tag_off(ctx, data) != 0) {
      return XDP_ABORTED;
    }
  } else if (!is_ours(header, data_end)) {
    return XDP_PASS;
  }
  // Without a socket on this queue the frame stays with the kernel.
  return bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "Dual BSD/GPL";
