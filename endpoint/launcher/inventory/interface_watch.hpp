// Whether something about the network interfaces of this network namespace may have changed: the
// kernel says so by itself (rtnetlink, RTMGRP_LINK). What it was is found by looking again.
#pragma once

namespace tributary::launch::inventory {

/// A non-blocking descriptor that is readable when something has; -1 when there is none to be had.
/// The caller closes it.
[[nodiscard]] int watch_interfaces();
/// Takes what has come. Many changes are often told at once.
void clear_watch(int descriptor);

} // namespace tributary::launch::inventory
