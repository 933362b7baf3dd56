"""MST, AIM, MWEM and PATE-CTGAN by smartnoise-synth, on the public bins of the task: run_smartnoise.py FOLDER.

Every column is handed over as a category of codes, so that no budget goes to finding bounds. MWEM keeps a histogram of
all columns together, which few tables leave room for.
"""

import math
import warnings

import numpy as np
from exchange import Task

warnings.filterwarnings("ignore")

MOST_CELLS = 10**8  # of a histogram in memory


def main():
    from snsynth import Synthesizer

    task = Task.of_command()
    rng = np.random.default_rng()
    if task.method == "mwem" and (cells := math.prod(task.sizes.values())) > MOST_CELLS:
        raise MemoryError(f"a histogram of all columns together has {cells:.0e} cells")
    with task.timed():
        codes = task.codes()
        names = list(codes.columns)
        options = {"delta": task.delta} if task.method in ("mst", "aim", "patectgan") else {}
        model = Synthesizer.create(task.method, epsilon=task.epsilon, **options)
        model.fit(codes, categorical_columns=names, preprocessor_eps=0.0)
        made = model.sample(task.rows)
        made.columns = names
        made = task.decoded(made.astype(int), rng)
    # The number of rows is taken as public, so two tables are neighbours where a row is replaced; the noise of its
    # tables is that for a row that is added or removed.
    task.finish(made, "add-remove, rows public", ["smartnoise-synth", "numpy", "pandas"])


if __name__ == "__main__":
    main()
