"""Make src/sfumato/data/adult.parquet from the copy of UCI Adult inside the PyPI package transparentai 0.2.2.

Run once, by hand: pip download --no-deps transparentai==0.2.2, then
    python tools/make_adult.py transparentai-0.2.2.tar.gz
The CSV there has no header; its first 16,281 rows are UCI's test split in order, the rest its train split.
"""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

TEST_ROWS = 16_281
NAMES = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
]
TARGET = Path(__file__).parents[1] / "src/sfumato/data/adult.parquet"


def main(source: str) -> None:
    with tarfile.open(source) as archive:
        member = next(name for name in archive.getnames() if name.endswith("datasets/data/adult.csv"))
        table = pd.read_csv(
            archive.extractfile(member),
            header=None,
            names=NAMES,
            skipinitialspace=True,
            keep_default_na=False,
        )
    table["income"] = table["income"].str.rstrip(".")
    table["split"] = ["test"] * TEST_ROWS + ["train"] * (len(table) - TEST_ROWS)
    arrow = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(arrow, TARGET, compression="zstd", compression_level=19)


if __name__ == "__main__":
    main(sys.argv[1])
