"""A result folder in pandas: figures of all runs, windows over time, plots.

Open it as a notebook where cells begin with `# %%` (VS Code, PyCharm, Spyder, jupytext), or run it as it is:
`RESULTS=results/restart python results.py`. It needs pandas and Bokeh, nothing of Inflight.
"""

# %% Where the results are
import json
import os
from pathlib import Path

import pandas as pd
from bokeh.io import save
from bokeh.models import DatetimeTickFormatter
from bokeh.plotting import figure
from bokeh.resources import INLINE

FOLDER = Path(os.environ.get("RESULTS", "results"))
experiment = json.loads((FOLDER / "experiment.json").read_text())
print(experiment["says"])

# %% The figures of all runs: a row each
summaries = [json.loads(file.read_text()) for file in sorted(FOLDER.glob("runs/[0-9]*[0-9]/summary.json"))]
runs = pd.json_normalize(summaries).set_index("number")
factors = [column for column in runs if column.startswith("levels.")]
figures = {
    "figures.all.rate_per_second": "rate",
    "figures.all.p50_ns": "p50_ms",
    "figures.all.p99_ns": "p99_ms",
    "figures.all.lost_share": "lost",
}
table = runs[["repetition", *factors, *figures]].rename(columns=figures)
table[["p50_ms", "p99_ms"]] /= 1e6
print(table)

# %% The median of the repetitions, by the levels of the factors
medians = (
    table.groupby(factors)[[*figures.values()]].median() if factors else table[[*figures.values()]].median()
)
print(medians)

# %% All windows of all runs
windows = pd.concat(
    {
        int(file.parent.name): pd.read_parquet(file)
        for file in sorted(FOLDER.glob("runs/[0-9]*[0-9]/windows.parquet"))
    },
    names=["run"],
)
windows["at"] = pd.to_datetime(windows["window_start_ns"])
print(windows.groupby("run")[["sent", "received", "refused", "lost", "unobserved"]].sum())

# %% Latency of the first run over time, a line for each path; in a notebook, `show` instead of `save`
first = windows.loc[windows.index.get_level_values("run").min()]
plot = figure(title="p99 of the first run, ms", x_axis_type="datetime", height=320, width=900)
plot.xaxis.formatter = DatetimeTickFormatter(minutes="%H:%M", seconds="%H:%M:%S")
for path, rows in first.sort_values("at").groupby("path"):
    plot.line(rows["at"], rows["p99_ns"] / 1e6, legend_label=path)
save(plot, FOLDER / "p99.html", resources=INLINE, title="p99")

# %% Every message is in one class: sent is what was received, refused, lost or not observed
classes = windows[["received", "refused", "lost", "unobserved"]].sum(axis=1)
assert (classes == windows["sent"]).all()
