"""AIM, MST and PrivBayes by dpmm, with its own bins of numbers (PrivTree): run_dpmm.py FOLDER.

A tenth of epsilon goes to the bins and the rest to the model, in dpmm's own proportion; together they are the total.
"""

import pandas as pd
from exchange import Task

BINS_SHARE = 0.1
MODEL_MEGABYTES = 80  # of AIM's model at the most, as in the paper's experiments


def main():
    from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline

    task = Task.of_command()
    kind = {"aim": AIMPipeline, "mst": MSTPipeline, "privbayes": PrivBayesPipeline}[task.method]
    numbers = [name for name, column in task.columns.items() if column["type"] == "number"]
    share = BINS_SHARE if numbers else 0.0
    rows = task.train.copy()
    domain = {}
    for name, column in task.columns.items():
        if column["type"] == "number":
            rows[name] = rows[name].astype(float)
            domain[name] = {"lower": column["min"], "upper": column["max"]}
        else:
            values = column["values"] + ["(missing)"] * column["missing"]
            rows[name] = pd.Categorical(rows[name].astype(object).fillna("(missing)"), categories=values)
            domain[name] = {"categories": values}
    with task.timed():
        pipeline = kind(
            epsilon=task.epsilon * (1 - share),
            delta=task.delta,
            proc_epsilon=task.epsilon * share if numbers else None,
            max_model_size=MODEL_MEGABYTES if task.method == "aim" else None,
            n_jobs=1,
        )
        pipeline.fit(rows, domain)
        made = pipeline.generate(n_records=task.rows)
    for name, column in task.columns.items():
        if column["type"] == "category":
            made[name] = made[name].astype(object).replace("(missing)", None)
    task.finish(made, "add-remove", ["dpmm", "numpy", "pandas"])


if __name__ == "__main__":
    main()
