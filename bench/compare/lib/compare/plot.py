"""SVG plots through gnuplot: grouped bars, with the spread of the measurement as error bars."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from compare import places

COLOURS = ["#2166ac", "#b2182b", "#f4a582", "#4d4d4d", "#92c5de"]


def bars(path, title, unit, categories, series, logarithmic=False):
    """`series`: [(name, [(median, least, greatest) or None, one per category])]."""
    if not shutil.which("gnuplot"):
        raise places.Missing("gnuplot is not installed: run 'scripts/setup'; the plots are left out")
    lines = []
    for row, category in enumerate(categories):
        cells = [f'"{category}"']
        for _, values in series:
            cells += [f"{v:.6g}" for v in values[row]] if values[row] else ["NaN"] * 3
        lines.append(" ".join(cells))
    draw = ", ".join(
        f'data using {3 * i + 2}:{3 * i + 3}:{3 * i + 4}:xtic(1) title "{name}"'
        f' linecolor rgb "{COLOURS[i % len(COLOURS)]}"'
        for i, (name, _) in enumerate(series))
    with tempfile.TemporaryDirectory(prefix="tributary-plot-") as folder:
        data = Path(folder) / "data"
        data.write_text("\n".join(lines) + "\n", encoding="utf-8")
        script = f"""
            data = "{data}"
            set terminal svg size 760,360 font "sans-serif,12" background "white" noenhanced
            set output "{path}"
            set title "{title}"
            set ylabel "{unit}"
            {'set logscale y' if logarithmic else 'set yrange [0:*]'}
            set key outside right top
            set grid ytics linecolor rgb "#dddddd"
            {'set xtics rotate by -30' if sum(map(len, categories)) > 34 else ''}
            set style data histograms
            set style histogram errorbars gap 1 linewidth 1
            set style fill solid 0.9 border -1
            set boxwidth 0.9
            plot {draw}
        """
        subprocess.run(["gnuplot"], input=script, text=True, check=True)


def spread(value, scale=1.0):
    """The argument of `bars` for a median with min and max."""
    return (value["median"] * scale, value["min"] * scale, value["max"] * scale) if value else None
