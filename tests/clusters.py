"""Clusters for tests: Spark sessions of all kinds, and fits on them that are disturbed.

`python -m tests.clusters connect` and `... standalone` each have a process of their own, because one holds one kind of
session; they end without an error if all is well.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.private.queries.helpers import told_by

import sfumato as sf
from sfumato.engines.partitions import Task
from sfumato.ledger.account import State
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.base import IntArray, Query
from sfumato.private.source import Source
from sfumato.tables import open_table
from sfumato.whole_numbers import joined

ROOT = Path(__file__).parents[1]
SCHEMA = {
    "label": "ill",
    "unit": {"column": "who", "rows": 2},
    "columns": {
        "age": {"type": "number", "min": 0, "max": 99, "step": 1, "missing": True},
        "town": {"type": "category", "values": ["a", "b", "c"]},
        "ill": {"type": "category", "values": ["yes", "no"]},
    },
}
ROWS_ONLY = {name: value for name, value in SCHEMA.items() if name != "unit"}
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "3",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",  # of what Arrow has without a zone
}

has_java = shutil.which("java") is not None or "JAVA_HOME" in os.environ
needs_java = pytest.mark.skipif(not has_java, reason="Spark needs Java, which is not installed")


def people(rows: int = 3000) -> pa.Table:
    """Units with one row, many rows, and copies of a row; rows without a unit, a label or an age."""
    rng = np.random.default_rng(0)
    who = [f" p{place}" if place % 13 else None for place in rng.integers(0, rows // 4, rows) % (rows // 5)]
    return pa.table(
        {
            "extra": rng.random(rows),
            "age": pa.array(rng.integers(-3, 110, rows), mask=rng.random(rows) < 0.1),
            "town": rng.choice(["a", "b", "c", "d"], rows),
            "ill": rng.choice(["yes", "no", "?"], rows),
            "who": pa.array(who),
        }
    )


def fitted(table: Any, schema: Any = SCHEMA, **options: Any) -> list[np.ndarray]:
    """The noisy answers of a fit, with seeded noise."""
    mechanism = sf.Mixture(pairs=None)
    release = sf.fit(table, schema, epsilon=1, delta=1e-6, mechanism=mechanism, insecure_seed=5, **options)
    return [answer.values for answer in release.answers]


def same(one: list[np.ndarray], two: list[np.ndarray]) -> bool:
    return len(one) == len(two) > 0 and all(map(np.array_equal, one, two))


def set_up() -> None:
    """Workers run this Python, and find the package where this process does; nothing leaves this machine."""
    here = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, here))


def builder(**more: str) -> Any:
    set_up()
    found = pytest.importorskip("pyspark.sql", reason="pyspark is not installed").SparkSession.builder
    for name, value in (QUIET | more).items():
        found = found.config(name, value)
    return found


@cache
def classic() -> Any:
    """The session of this process."""
    session = builder().master("local[2]").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def in_a_process(*arguments: str, folder: Path = ROOT) -> None:
    """Run Python; what it printed is the message if it failed."""
    set_up()
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]


def check_connect() -> None:
    """A Connect session gives what this machine gives."""
    session = builder().remote("local[2]").getOrCreate()
    frame = session.createDataFrame(people())
    assert "connect" in type(frame).__module__
    assert same(fitted(frame.repartition(3)), fitted(people()))
    assert same(fitted(frame, ROWS_ONLY), fitted(people(), ROWS_ONLY))
    session.stop()


def check_standalone() -> None:
    """Two workers, speculative tasks, and an executor that is killed while it reads: nothing changes."""
    from sfumato.engines.spark import SparkEngine

    with tempfile.TemporaryDirectory() as name, standalone(Path(name)) as session:
        mark = Path(name) / "started"
        frame = (
            session.createDataFrame(people())
            .repartition(6)
            .mapInArrow(stalling(str(mark)), "extra double, age long, town string, ill string, who string")
        )
        check_disturbed(SparkEngine, frame, mark, Path(name) / "ledger.db")


@contextmanager
def standalone(folder: Path) -> Iterator[Any]:
    """A session on a master and two workers of one core each."""
    import pyspark

    set_up()
    port = free_port()
    launch = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    address = ["--host", "127.0.0.1", "--webui-port", "0"]
    deploy = "org.apache.spark.deploy"
    env = os.environ | {"SPARK_DAEMON_MEMORY": "256m", "SPARK_NO_DAEMONIZE": "1"}
    with ExitStack() as running, (folder / "log").open("w") as log:
        commands = [[*launch, f"{deploy}.master.Master", *address, "--port", str(port)]]
        own = ["--cores", "1", "--memory", "700m", "--work-dir", str(folder / "work")]
        commands += [[*launch, f"{deploy}.worker.Worker", *address, *own, f"spark://127.0.0.1:{port}"]] * 2
        for command in commands:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=env)
            running.callback(process.wait)
            running.callback(process.kill)
        speculative = {"spark.speculation": "true", "spark.speculation.interval": "100ms"}
        wanted = {"spark.executor.memory": "500m", "spark.scheduler.minRegisteredResourcesRatio": "1.0"}
        session = builder(**speculative, **wanted).master(f"spark://127.0.0.1:{port}").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def stalling(mark: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Passes batches on; the first task of all says which executor it is on, and waits to be killed."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import os
        import time
        from pathlib import Path

        try:
            Path(f"{mark}.first").touch(exist_ok=False)
            daemon = os.getppid()
            Path(f"{mark}.new").write_text(Path(f"/proc/{daemon}/stat").read_text().rsplit(")")[-1].split()[1])
            os.rename(f"{mark}.new", mark)
            time.sleep(60)
        except FileExistsError:
            pass
        yield from batches

    return work


def check_disturbed(engine: Any, frame: Any, mark: Path, ledger: Path) -> None:
    """A fit during which the process that `mark` names is killed: every total is that of this machine's engine, and
    the ledger has one entry, released.
    """
    totals: list[tuple[Task, Query, IntArray]] = []
    add_up = engine.total

    def recorded(self: Any, query: Query) -> IntArray:
        found: IntArray = add_up(self, query)
        totals.append((self._task, query, found))
        return found

    killer = threading.Thread(target=kill, args=(mark,), daemon=True)
    killer.start()
    sf.Ledger(ledger).open("people", 2, 1e-5, unit="who")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "total", recorded)
        mechanism = sf.Mixture(pairs=None)
        sf.fit(frame, SCHEMA, epsilon=1, delta=1e-6, mechanism=mechanism, ledger=ledger, dataset="people")
    killer.join(timeout=1)
    assert not killer.is_alive()
    (account,) = sf.Ledger(ledger).accounts("people")
    assert [entry.state for entry in account.entries] == [State.RELEASED]
    assert totals
    for task, query, found in totals:
        local = LocalEngine(Source(open_table(people()), task.layout, task.units, task.values))
        np.testing.assert_array_equal(joined(query.answer(found)), told_by(local, query))


def kill(mark: Path) -> None:
    """Kill the process that is named in a file, once the file is there."""
    for _ in range(3000):
        if mark.exists():
            os.kill(int(mark.read_text()), signal.SIGKILL)
            return
        time.sleep(0.1)


if __name__ == "__main__":
    {"connect": check_connect, "standalone": check_standalone}[sys.argv[1]]()
