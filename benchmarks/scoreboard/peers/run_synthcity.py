"""PrivBayes, PATE-GAN and DP-GAN by synthcity, with its own encoding of numbers: run_synthcity.py FOLDER.

Its encoders read the range of each number off the rows, which is not charged here either. A table whose numbers may be
missing is handed over in the public bins of the task, as synthcity takes no missing cells.
"""

import os
import secrets
import warnings

import numpy as np
import pandas as pd
from exchange import Task

warnings.filterwarnings("ignore")


def main():
    from synthcity.plugins import Plugins
    from synthcity.plugins.core.dataloader import GenericDataLoader

    task = Task.of_command()
    os.chdir(task.folder)  # synthcity leaves a folder of caches where it runs
    numbers = [name for name, column in task.columns.items() if column["type"] == "number"]
    in_bins = any(task.columns[name]["missing"] for name in numbers)
    codes = task.codes()
    rows = codes if in_bins else codes.assign(**{name: task.train[name].astype(float) for name in numbers})
    rng = np.random.default_rng()
    options = {} if task.method == "privbayes" else {"delta": task.delta}
    with task.timed():
        model = Plugins().get(task.method, epsilon=task.epsilon, random_state=secrets.randbits(31), **options)
        label = {"target_column": task.schema["label"]} if task.schema["label"] else {}
        model.fit(GenericDataLoader(rows, **label))
        made = model.generate(count=task.rows, random_state=secrets.randbits(31)).dataframe()
        made = made.sample(task.rows, replace=len(made) < task.rows).reset_index(drop=True)
        whole = {name: np.clip(made[name].astype(float).round().astype(int), 0, task.sizes[name] - 1) for name in made}
        found = task.decoded(pd.DataFrame(whole), rng)
        if not in_bins:
            found = found.assign(**{name: made[name] for name in numbers})
    task.finish(found, "replace-one" if task.method == "privbayes" else "add-remove", ["synthcity", "torch", "numpy"])


if __name__ == "__main__":
    main()
