"""How each comparison's points are shown on the page: a table, and plots."""

from compare.plot import bars, spread

MILLION = 1e-6


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def ratio(value):
    return f"**{value['median']:.2f}** ({value['min']:.2f} to {value['max']:.2f})" if value else "-"


def median(values, name, scale=1.0, digits=1):
    return f"{values[name]['median'] * scale:,.{digits}f}" if name in values else "-"


def replication_table(points):
    rows = []
    for p in points:
        rates = p["copies_per_second"]
        rows.append([str(p["bytes"]), str(p["copies"]), median(rates, "tributary", MILLION),
                     median(rates, "ovs-list", MILLION), median(rates, "ovs-group", MILLION),
                     median(rates, "testpmd-io", MILLION), ratio(p.get("ratio")),
                     f"{p['of_ceiling']['median']:.2f}"])
    return markdown(["bytes", "copies", "tributary M/s", "OVS list M/s", "OVS group M/s",
                     "testpmd io M/s", "ours / OVS", "ours / testpmd"], rows)


def replication_plots(points, folder):
    size = points[0]["bytes"]
    shown = [p for p in points if p["bytes"] == size]
    names = list(shown[0]["copies_per_second"])
    bars(folder / "compare-replication.svg", f"Copies sent, {size} bytes, one core",
         "million copies a second", [f"{p['copies']} copies" for p in shown],
         [(n, [spread(p["copies_per_second"].get(n), MILLION) for p in shown]) for n in names])


def unicast_table(points):
    rows = []
    for p in points:
        rates = p["frames_per_second"]
        cycles = p["cycles_per_frame"]
        rows.append([str(p["bytes"]), f"{p['destinations']:,}", median(rates, "tributary", MILLION),
                     median(rates, "testpmd-macswap", MILLION),
                     f"{cycles['tributary']:.0f} / {cycles['testpmd-macswap']:.0f}", ratio(p["ratio"])])
    return markdown(["bytes", "destinations", "tributary M/s", "testpmd M/s", "cycles a frame, ours / theirs",
                     "ours / testpmd"], rows)


def unicast_plots(points, folder):
    names = list(points[0]["frames_per_second"])
    bars(folder / "compare-unicast.svg", "Unicast frames received, one core", "million frames a second",
         [f"{p['bytes']} B to {p['destinations']:,}" for p in points],
         [(n, [spread(p["frames_per_second"].get(n), MILLION) for p in points]) for n in names])


def reduction_table(points):
    rows = []
    for p in points:
        rates = p["frames_per_second"]
        cycles = p["cycles_per_frame"]
        rows.append([str(p["leaves"]), f"{p['trees_installed']:,}", f"{p['trees_in_rotation']:,}",
                     f"{p['contributions_per_second'] / 1e6:.1f}",
                     median(rates, "tributary", MILLION), median(rates, "testpmd-macswap", MILLION),
                     f"{cycles['tributary']:.0f} / {cycles['testpmd-macswap']:.0f}",
                     ratio(p["ratio"])])
    return markdown(["leaves", "trees installed", "in rotation", "contributions M/s", "frames M/s",
                     "testpmd M/s", "cycles a frame", "ours / testpmd"], rows)


def reduction_plots(points, folder):
    names = ["tributary", "testpmd-macswap"]
    bars(folder / "compare-reduction.svg", "Frames received, one core",
         "million frames a second",
         [f"{p['leaves']} x {p['trees_in_rotation']}" for p in points],
         [(n, [spread(p["frames_per_second"][n], MILLION) for p in points]) for n in names])


def allreduce_table(points):
    names = list(max((p["latency_us"] for p in points), key=len))
    rows = []
    for p in points:
        saved = p.get("root_bytes_saved")
        rows.append([str(p["hosts"]), p["operation"],
                     *(f"{median(p['latency_us'], n, digits=0)} / {median(p['p99_us'], n, digits=0)}"
                       for n in names),
                     ratio(p.get("ratio")), ratio(p.get("armed_gain")),
                     f"{saved:.1f} to 1" if saved else "-"])
    return markdown(["hosts", "operation", *(f"{n}, median / p99 us" for n in names),
                     "best MPI / ours", "disarmed / armed", "bytes at the root, disarmed to armed"], rows)


def allreduce_plots(points, folder):
    shown = [p for p in points if p["bytes"] == 32]
    names = list(max((p["latency_us"] for p in shown), key=len))
    bars(folder / "compare-allreduce.svg", "Allreduce of 32 bytes", "median latency, microseconds",
         [f"{p['hosts']} hosts" for p in shown],
         [(n, [spread(p["latency_us"].get(n)) for p in shown]) for n in names], logarithmic=True)


def scaling_table(points):
    rows = []
    for p in points:
        costs = ", ".join(f"{int(n):,}: {c['median']:.0f}" for n, c in p["cycles_per_frame"].items())
        rows.append([p["series"], costs, ratio(p["ratio"])])
    return markdown(["what grows", "cycles a frame", "growth"], rows)


def scaling_plots(points, folder):
    steps = max(len(p["cycles_per_frame"]) for p in points)
    values = [[spread(c) for c in p["cycles_per_frame"].values()] for p in points]
    bars(folder / "compare-scaling.svg", "Cost of a frame as the switch grows", "cycles",
         [p["series"] for p in points],
         [(f"step {step + 1}", [v[step] if step < len(v) else None for v in values])
          for step in range(steps)])


TABLES = {"replication": replication_table, "unicast": unicast_table, "reduction": reduction_table,
          "allreduce": allreduce_table, "scaling": scaling_table}
PLOTS = {"replication": replication_plots, "unicast": unicast_plots, "reduction": reduction_plots,
         "allreduce": allreduce_plots, "scaling": scaling_plots}
