// The texts of tributary.h that need neither host nor memory.
#include "tributary/tributary.h"
#include "tributary/wire/result_code.hpp"

const char* tributary_error_string(int error) {
  switch (error) {
  case TRIBUTARY_OK: return "no error";
  case TRIBUTARY_ERR_ARGUMENT:
    return "a parameter is NULL, out of range, or does not fit the others; tributary_last_error "
           "says which";
  case TRIBUTARY_ERR_MEMORY: return "out of memory; free some, nothing that was begun is lost";
  case TRIBUTARY_ERR_NO_INTERFACE:
    return "no interface of this name in this network namespace, or it went away; `ip link` lists "
           "them";
  case TRIBUTARY_ERR_INTERFACE_DOWN:
    return "the interface is down; bring it up with `ip link set NAME up` and call again, nothing "
           "that was begun is lost";
  case TRIBUTARY_ERR_NOT_PERMITTED:
    return "the program may not open the interface; start it in a job that this node's host agent, "
           "tributary-hostd, knows (tributary_last_error has its message), or as root";
  case TRIBUTARY_ERR_SYSTEM: return "a system call failed; tributary_last_error says which and why";
  case TRIBUTARY_ERR_TREE_IN_USE:
    return "this host is in a group on this tree already; leave that group first, or use another "
           "tree";
  case TRIBUTARY_ERR_BUSY:
    return "requests of the group are outstanding, or groups that are dups of it are not left; "
           "finish the requests with tributary_wait, and leave the groups, first";
  case TRIBUTARY_ERR_TIMEOUT:
    return "the time is over before the operation was done; the request is still valid, "
           "tributary_status_text says what it waits for";
  case TRIBUTARY_ERR_OP_MISMATCH:
    return "members of the group called different operators; all must call the same operations in "
           "the same order, struct tributary_result names two hosts that differ";
  case TRIBUTARY_ERR_ABANDONED:
    return "left the group, but some members did not leave it in time; look whether they still run";
  case TRIBUTARY_ERR_MANAGER_UNREACHABLE:
    return "the fabric manager cannot be reached, or not be trusted; look whether "
           "tributary-fabricd "
           "runs, and at TRIBUTARY_FABRIC_MANAGER_URL and TRIBUTARY_FABRIC_MANAGER_CACERT";
  case TRIBUTARY_ERR_MANAGER_REFUSED:
    return "the fabric manager refused; tributary_last_error has its message";
  case TRIBUTARY_ERR_NOT_READY:
    return "the group was not ready in time; tributary_last_error names the members that are "
           "missing, look whether they run";
  case TRIBUTARY_ERR_MEMBER_MISSING:
    return "the group has ended because members are missing, tributary_last_error names them; look "
           "whether they run, leave the group, and join another one";
  case TRIBUTARY_ERR_COUNT_MISMATCH:
    return "members called one operation with different counts, tributary_last_error names two of "
           "them; all must give the same count, the group has ended";
  case TRIBUTARY_ERR_GROUP_ENDED:
    return "the fabric manager ended the group, or a result was lost; tributary_last_error says "
           "why; leave the group, and join a new one";
  case TRIBUTARY_ERR_PEER_REFUSED:
    return "the peer refuses the transfer, tributary_last_error says why; look at the region's "
           "key, "
           "bounds, rights and VNI";
  case TRIBUTARY_ERR_PEER_UNREACHABLE:
    return "the peer does not answer; look whether its program runs, has a thread for progress or "
           "makes calls, and whether the fabric leads there";
  case TRIBUTARY_ERR_PEER_ENDED:
    return "the peer ended the transfer before it was done, tributary_last_error says why; the "
           "content of the written range is undefined";
  case TRIBUTARY_ERR_CANCELLED: return "tributary_rdma_cancel ended the transfer";
  case TRIBUTARY_ERR_FULL:
    return "the limit is reached; for RDMA take completions, or give more in struct "
           "tributary_rdma_options; for groups leave those that are not needed";
  case TRIBUTARY_ERR_PEER_QUARANTINED:
    return "the fabric manager has quarantined this peer, because transfers with it failed again "
           "and again: no new transfers with it until the manager releases it";
  case TRIBUTARY_ERR_INTERRUPTED:
    return "tributary_wake ended the wait; the request is still valid, wait for it again";
  default: return "not an error code of libtributary";
  }
}

const char* tributary_result_name(int code) {
  switch (code) {
  case TRIBUTARY_EXACT: return "exact";
  case TRIBUTARY_INEXACT: return "inexact";
  case TRIBUTARY_FLOAT_OVERFLOW: return "float overflow";
  case TRIBUTARY_INVALID: return "invalid";
  case TRIBUTARY_REPSUM_INEXACT: return "reproducible sum inexact";
  case TRIBUTARY_INT_OVERFLOW: return "integer overflow";
  case TRIBUTARY_CONTR_OVERFLOW: return "contribution overflow";
  default: return "unknown";
  }
}

namespace {
using tributary::wire::ResultCode;
static_assert(TRIBUTARY_INEXACT == static_cast<int>(ResultCode::flt_inexact));
static_assert(TRIBUTARY_FLOAT_OVERFLOW == static_cast<int>(ResultCode::flt_overflow));
static_assert(TRIBUTARY_INVALID == static_cast<int>(ResultCode::flt_invalid));
static_assert(TRIBUTARY_REPSUM_INEXACT == static_cast<int>(ResultCode::repsum_inexact));
static_assert(TRIBUTARY_INT_OVERFLOW == static_cast<int>(ResultCode::int_overflow));
static_assert(TRIBUTARY_CONTR_OVERFLOW == static_cast<int>(ResultCode::contr_overflow));
} // namespace
