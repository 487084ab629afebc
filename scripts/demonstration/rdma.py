"""Two hosts behind two switches that lose and reorder frames move a gigabyte by RDMA writes. Started by
scripts/demo-rdma, which sets the machine up first. Outside and inside as in __main__.py.
"""

import argparse
import json
import random
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from outside import begin, fail, say  # noqa: E402
from pair import DIRECTIONS, Pair  # noqa: E402
from transfer import Failed, Transfer  # noqa: E402
from platforms import options as platform_options  # noqa: E402
from tributary import isolation  # noqa: E402
from tributary.daemon import StartFailed  # noqa: E402
from tributary.network import CommandFailed  # noqa: E402
from tributary.switch import Binaries  # noqa: E402

PROGRAMS = (
    "dataplane/tributary-switch",
    "tools/tributaryctl/tributaryctl",
    "pktgen/tributary-pktgen",
)
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
LONGEST_AF_XDP_MTU = 3314

EXAMPLES = """\
examples:
  scripts/demo-rdma                          a gigabyte with 1 % loss: some seconds, and before it, the
                                             first time, minutes to install and build
  scripts/demo-rdma --size 200M --loss 0.05 --reorder 0.1
  scripts/demo-rdma --loss 0 --reorder 0     the same without faults, to compare
  scripts/demo-rdma --seed 7 --output result.json
exit codes:
  0  everything arrived, and every byte is right
  1  it did not, or something else failed
  2  usage error
"""


def size(text):
    found = re.fullmatch(r"(\d+)([kMG]?)", text)
    if not found or not 0 < int(found[1]) * UNITS[found[2]] <= 10**12:
        raise argparse.ArgumentTypeError(f"{text}: give bytes, as 1G, 200M or 1500k, at most 1000G")
    return int(found[1]) * UNITS[found[2]]


def share(most):
    def read(text):
        value = float(text)
        if not 0 <= value <= most:
            raise argparse.ArgumentTypeError(f"{text}: from 0 to {most}")
        return value

    return read


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/demo-rdma",
        description="Lays two host namespaces and two switches in a row, has the cable between the switches lose"
        " and reorder frames, moves data from one host's memory to the other's by RDMA writes, compares every byte,"
        " shows what was lost and what was sent again, and leaves nothing behind.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--size", type=size, default=size("1G"), metavar="BYTES",
        help="rounded up to whole transfers of 1 MB; with k, M or G (default: 1G)",
    )
    parser.add_argument(
        "--loss", type=share(0.5), default=0.01, metavar="SHARE", help="of frames, each way (default: %(default)s)"
    )
    parser.add_argument(
        "--reorder", type=share(0.5), default=0.01, metavar="SHARE",
        help="of frames, each way, that up to 32 later ones pass (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, help="of data and faults (default: a new one, printed)")
    parser.add_argument("--mtu", type=int, default=1500, help="of all links (default: %(default)s)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="file for the figures, as JSON")
    parser.add_argument(
        "--kind", choices=("af_xdp", "af_packet"), default="af_xdp",
        help="how the switches drive their interfaces (default: %(default)s)",
    )
    parser.add_argument("--no-setup", action="store_true", help="do not look for missing packages")
    platform_options.add(parser)
    parser.add_argument("--build", type=Path, metavar="DIR", help="take the programs from there as they are")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--result", type=int, help=argparse.SUPPRESS)  # the descriptor of --output's file
    options = parser.parse_args()
    if not 256 <= options.mtu <= 9000:
        parser.error("--mtu: from 256 to 9000")
    if options.kind == "af_xdp" and options.mtu > LONGEST_AF_XDP_MTU:
        parser.error(f"--mtu {options.mtu}: af_xdp takes up to {LONGEST_AF_XDP_MTU}; add --kind af_packet")
    if options.seed is not None and not 0 < options.seed < 1 << 62:
        parser.error("--seed: from 1 to 2^62 - 1")
    return options


def outside(options):
    seed = options.seed or random.SystemRandom().randrange(1, 1 << 31)
    return begin(
        Path(__file__), PROGRAMS, options,
        ["--seed", str(seed), "--kind", options.kind, "--size", str(options.size), "--loss", str(options.loss),
         "--reorder", str(options.reorder), "--mtu", str(options.mtu)],
    )  # fmt: skip


def inside(options):
    isolation.prepare()
    place = Path("/run/tributary-demo")
    place.mkdir()
    pair = Pair(Binaries(options.build), place, options.kind, options.mtu)
    transfer = Transfer(pair, options.size, options.seed)
    try:
        return show(options, pair, transfer)
    except (StartFailed, CommandFailed, Failed, TimeoutError, RuntimeError) as failure:
        return fail(str(failure))
    finally:
        transfer.stop()
        pair.stop()


def show(options, pair, transfer):
    say(f"2 hosts, 2 switches in a row, a process each, {options.kind} on veth, MTU {options.mtu}; seed {options.seed}")
    pair.lay_cables()
    pair.start_switches(
        {"loss": options.loss, "reorder": options.reorder, "reorder_distance": 32, "seed": options.seed}
    )
    say(f"the cable between the switches loses {100 * options.loss:g} % of the frames each way,"
        f" and puts {100 * options.reorder:g} % behind 32 later ones")  # fmt: skip
    say(f"h1 writes {transfer.bytes / 1e6:,.0f} MB into the memory of h2, {transfer.count:,} transfers of 1 MB")
    transfer.run()
    figures = {
        "size": transfer.bytes, "seed": options.seed, "loss": options.loss, "reorder": options.reorder,
        "mtu": options.mtu, "seconds": transfer.seconds, "goodput_bits_per_second": transfer.goodput,
        "digest_equal": transfer.digest_equal, "switches": pair.impairments(), "drops": pair.drops(),
        "missed": pair.missed(), "hosts": {"h1": transfer.sender, "h2": transfer.receiver},
    }  # fmt: skip
    say("\n" + table(figures))
    if options.result is not None:
        with open(options.result, "w", encoding="utf-8") as out:
            json.dump(figures, out, indent=1)
            out.write("\n")
    return 0 if transfer.all_right else fail("not every byte arrived as it left")


def table(figures):
    h1, h2 = figures["hosts"]["h1"], figures["hosts"]["h2"]
    equal = "equal" if figures["digest_equal"] else "DIFFERENT"
    lines = [
        f"  {'moved':<34} {figures['size'] / 1e6:,.0f} MB in {figures['seconds']:.1f} s,"
        f" {figures['goodput_bits_per_second'] / 1e6:,.0f} Mbit/s",
        f"  {'digests of h1 and h2':<34} {h1['written_digest']:x}, {h2['arrived_digest']:x}: {equal};"
        f" {h2['digest_errors']} of {h2['writes_arrived']:,} transfers with a wrong byte",
        "",
        f"  {'on the cable between the switches':<34}{'h1 to h2':>12}{'h2 to h1':>12}",
    ]
    for name, text in (("frames", "frames"), ("lost", "lost"), ("reordered", "put behind later ones")):
        counts = [figures["switches"][direction][name] for direction in DIRECTIONS]
        lines.append(f"    {text:<32}" + "".join(f"{count:>12,}" for count in counts))
    missed = figures["missed"]
    if sum(missed.values()):
        shown = ", ".join(f"{count:,} at {name}" for name, count in missed.items() if count)
        lines.append(f"    {'not taken from a full ring':<32}  {shown}")
    lines += ["", f"  {'on the hosts':<34}{'h1':>12}{'h2':>12}"]
    for name, text in (
        ("data_frames", "frames with data sent"), ("resent_frames", "of these sent again"),
        ("control_frames", "frames without data sent"), ("lost_frames", "missing, came when sent again"),
        ("late_frames", "missing, came late by themselves"), ("duplicate_frames", "came twice"),
        ("timeouts", "time-outs"),
    ):  # fmt: skip
        lines.append(f"    {text:<32}{h1[name]:>12,}{h2[name]:>12,}")
    if figures["drops"]:
        shown = ", ".join(f"{count:,} {reason}" for reason, count in sorted(figures["drops"].items()))
        lines += ["", f"  the switches dropped: {shown}"]
    return "\n".join(lines)


def main():
    options = arguments()
    return inside(options) if options.inside else outside(options)


if __name__ == "__main__":
    sys.exit(main())
