"""Eight ranks of PyTorch train a small network, by gloo, by the network, and twice by the network in deterministic mode.
Started by scripts/demo-torch, which sets the machine up first. Outside and inside as in __main__.py.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]

from outside import begin, fail, run_isolated, say  # noqa: E402
from platforms import options as platform_options  # noqa: E402
from tributary import isolation  # noqa: E402
from tributary.mpi_cluster import MpiCluster, Stand  # noqa: E402
from tributary.mpi_nodes import FABRIC, PLAIN  # noqa: E402
from tributary.network import CommandFailed, shell, without_offloads  # noqa: E402
from tributary.daemon import StartFailed  # noqa: E402
from tributary.switch import Binaries  # noqa: E402

PYTHON = "/usr/bin/python3"  # that of Debian's torch
PROGRAMS = (
    "controlplane/process/tributary-fabricd",
    "dataplane/tributary-switch",
    "endpoint/launcher/tributary-run",
    "tools/tributaryctl/tributaryctl",
    "pktgen/tributary-pktgen",
)
RUNS = (("gloo", "gloo", ()), ("network", "tributary", ()), ("deterministic", "tributary", ("deterministic",)),
        ("deterministic, again", "tributary", ("deterministic",)))
SAME_LOSS = 1e-6

EXAMPLES = """\
examples:
  scripts/demo-torch                           8 ranks on 8 nodes, links of 200 Mbit/s: about two minutes, and before
                                               it, the first time, minutes to install and build
  scripts/demo-torch --ranks 4 --steps 60 --rate 0    links as fast as they are
  scripts/demo-torch --plot training.svg --output training.json
exit codes:
  0  the losses agree with gloo's, and both deterministic runs have the same weights
  1  they have not, or something else failed
  2  usage error
"""


def library():
    """What ninja calls the host library."""
    version = re.search(r"^  version: '([^']+)'", (ROOT / "meson.build").read_text(encoding="utf-8"), re.MULTILINE)
    return f"endpoint/library/libtributary.so.{version[1]}"


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/demo-torch",
        description="Lays a switch, a fabric manager and stand-in nodes, has PyTorch train a small CNN on them by gloo, by the"
        " network, and twice by the network with deterministic algorithms, and shows losses, times and hashes of the weights"
        " side by side.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--ranks", type=int, default=8, help="a node for each, 2 to 16 (default: %(default)s)")
    add("--steps", type=int, default=100, help="of training (default: %(default)s)")
    add("--rate", type=int, default=200, help="Mbit/s of links in each direction; 0: as fast as they are (default: %(default)s)")
    add("--seed", type=int, help="of weights and images (default: a new one, printed)")
    add("--plot", type=Path, metavar="FILE", help="SVG of losses and times of steps; needs gnuplot")
    add("--output", type=Path, metavar="FILE", help="file for the figures, as JSON")
    add("--no-setup", action="store_true", help="do not look for missing packages")
    platform_options.add(parser)
    add("--build", type=Path, metavar="DIR", help="take the programs from there as they are")
    add("--inside", action="store_true", help=argparse.SUPPRESS)
    add("--result", type=int, help=argparse.SUPPRESS)  # the descriptor of --output's file
    add("--drawing", type=int, help=argparse.SUPPRESS)  # and of --plot's
    options = parser.parse_args()
    if not 2 <= options.ranks <= 16:
        parser.error("--ranks: from 2 to 16")
    if not 2 <= options.steps <= 10**5:
        parser.error("--steps: from 2 to 100000")
    if options.rate < 0:
        parser.error("--rate: Mbit/s, or 0")
    return options


def outside(options):
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        return fail("python3-torch is not installed: run 'scripts/setup --torch'")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1, 1 << 20)
    try:
        drawing = options.plot.open("w", encoding="utf-8") if options.plot else None  # the file system is different inside
    except OSError as error:
        return fail(f"--plot {options.plot}: {error.strerror}")
    more = [drawing.fileno()] if drawing else []
    return begin(
        Path(__file__), [*PROGRAMS, library()], options,
        ["--seed", str(seed), "--ranks", str(options.ranks), "--steps", str(options.steps), "--rate", str(options.rate),
         *(["--plot", str(options.plot), "--drawing", str(*more)] if drawing else [])],
        lambda command, descriptors: run_isolated(command, [*descriptors, *more]),
    )  # fmt: skip


def inside(options):
    isolation.prepare()
    place = Path("/run/tributary-demo")
    place.mkdir()
    cluster = None
    try:
        cluster = MpiCluster(Stand(Binaries(options.build), place), options.ranks)
        if options.rate:
            shape(cluster, options.rate)
        return show(options, cluster, place)
    except (StartFailed, CommandFailed, TimeoutError, RuntimeError) as failure:
        return fail(str(failure))
    finally:
        if cluster:
            cluster.close()


def shape(cluster, rate):
    limit = f"root tbf rate {rate}mbit burst {32 * 1024} latency 400ms"
    for number, name in enumerate(cluster.nodes.hosts.names):
        for interface in (FABRIC, PLAIN):
            without_offloads(name, interface)
            shell(f"ip netns exec {name} tc qdisc add dev {interface} {limit}")
        shell(f"tc qdisc add dev p{number} {limit}")
        cluster.switch.ctl("impair", "set", "--port", cluster.nodes.port(number), "--direction", "sent",
                           "--rate", f"{rate}M", "--rate-queue", str(4 << 20))


def run(options, cluster, place, backend, more):
    binaries = Binaries(options.build)
    environment = {
        **os.environ, "TMPDIR": str(place), "PYTHONPATH": str(ROOT / "endpoint" / "python"), "TRIBUTARY_LIBRARY": str(binaries.library),
        "GLOO_SOCKET_IFNAME": PLAIN, "USE_LIBUV": "0", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    words = [binaries.run, "--manager", cluster.manager.url, "--mpi", "none", *(["--require-offload"] if backend != "gloo" else []),
             "--namespaces", ",".join(f"{name}:1" for name in cluster.nodes.hosts.names), PYTHON, HERE / "training_rank.py", backend,
             options.steps, options.seed, *more]  # fmt: skip
    done = subprocess.run([str(word) for word in words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        raise RuntimeError(f"the ranks, by {backend}, ended with exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return json.loads(lines[0]), [line for line in done.stderr.splitlines() if line.startswith("Tributary")]


def show(options, cluster, place):
    links = f"links of {options.rate} Mbit/s" if options.rate else "links as fast as they are"
    say(f"{options.ranks} ranks of PyTorch on {options.ranks} nodes, one switch, {links}; seed {options.seed}")
    say(f"a CNN of 2.5 MB on generated images, {options.steps} steps of DistributedDataParallel")
    results, said = {}, []
    for name, backend, more in RUNS:
        results[name], lines = run(options, cluster, place, backend, more)
        said += lines
    say("")
    say(f"{'':24}{'step, ms':>12}{'first loss':>14}{'last loss':>14}   weights")
    for name, result in results.items():
        say(f"{name:24}{result['median_ms']:>12.1f}{result['losses'][0]:>14.6f}{result['losses'][-1]:>14.6f}   {result['weights']}")
    say("")
    for line in said:
        say(line)
    plain = results["gloo"]
    apart = {name: max(abs(ours - theirs) for ours, theirs in zip(result["losses"], plain["losses"]))
             for name, result in results.items() if name != "gloo"}
    say(f"largest difference to gloo's losses: {', '.join(f'{name} {value:.1e}' for name, value in apart.items())}")
    if options.plot:
        plot(options, results)
    if options.result is not None:
        with os.fdopen(options.result, "w") as file:
            file.write(json.dumps({"seed": options.seed, "ranks": options.ranks, "rate_mbit": options.rate, "runs": results}, indent=1) + "\n")
    if not all(result["ranks_agree"] for result in results.values()):
        return fail("ranks of one run have different weights")
    if max(apart.values()) > SAME_LOSS:
        return fail(f"the losses differ from gloo's by more than {SAME_LOSS}")
    if not all(results[name]["statistics"]["network"] for name, backend, _ in RUNS if backend != "gloo"):
        return fail("nothing was reduced in the network; the lines above say why")
    if results["deterministic"]["weights"] != results["deterministic, again"]["weights"]:
        return fail("two deterministic runs have different weights")
    say("the two deterministic runs have the same weights, bit for bit")
    return 0


def plot(options, results):
    if not shutil.which("gnuplot"):
        say("gnuplot is not installed: no plot; scripts/setup installs it")
        return
    names = list(results)
    rows = [" ".join(f"{results[name][key][step]:.9g}" for key in ("losses", "step_ms") for name in names) for step in range(options.steps)]
    data = "$data << EOD\n" + "\n".join(rows) + "\nEOD\n"

    def curves(first):
        return ", ".join(f'$data using 0:{first + at} with lines linewidth 1.5 title "{name}"' for at, name in enumerate(names))

    script = f"""{data}
        set terminal svg size 900,380 font "sans-serif,12" background "white" noenhanced
        set multiplot layout 1,2
        set grid linecolor rgb "#dddddd"
        set xlabel "step"
        set title "loss of rank 0"
        plot {curves(1)}
        set title "ms a step"
        set yrange [0:*]
        plot {curves(1 + len(names))}
    """
    subprocess.run(["gnuplot"], input=script, text=True, stdout=options.drawing, check=True)
    say(f"plot: {options.plot}")


if __name__ == "__main__":
    options = arguments()
    sys.exit(inside(options) if options.inside else outside(options))
