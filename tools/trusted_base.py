"""`python tools/trusted_base.py`: how many lines of code a guarantee rests on.

They are the lines of `sfumato.private` and of every module of the package that importing it may run: what its
modules import, at the top or inside a function, and the packages that those modules lie in. Blank lines, comments
and docstrings do not count; imports for type checkers alone are not followed.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "src"
START = "sfumato.private"
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class TrustedBase:
    """Lines of code by module: those inside the start package, and those it reaches outside of it."""

    inside: dict[str, int]
    reached: dict[str, int]

    @property
    def private(self) -> int:
        return sum(self.inside.values())

    @property
    def closure(self) -> int:
        return self.private + sum(self.reached.values())

    def table(self) -> str:
        """The modules and the sums as a Markdown table."""
        rows = [f"| `{name}` | {lines:,} |" for part in (self.inside, self.reached) for name, lines in part.items()]
        sums = [f"| **`{START}`** | **{self.private:,}** |", f"| **with all it imports** | **{self.closure:,}** |"]
        return "\n".join(["| module | lines of code |", "|---|---:|", *rows, *sums])


def measure(root: Path = ROOT, start: str = START) -> TrustedBase:
    """Count the package `start` below `root`, and what it imports of its own distribution."""
    modules = {_name(path, root): path for path in sorted(root.rglob("*.py"))}
    reached = closure(modules, start)
    counts = {name: code_lines(modules[name].read_text(encoding="utf-8")) for name in sorted(reached)}
    inside = {name: lines for name, lines in counts.items() if _is_in(name, start)}
    return TrustedBase(inside, {name: lines for name, lines in counts.items() if name not in inside})


def code_lines(source: str) -> int:
    """The lines of a module that hold code."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {line for token in tokens if token.type not in NO_CODE for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - _docstring_lines(ast.parse(source)))


def closure(modules: dict[str, Path], start: str) -> set[str]:
    """The names of the modules of `start` and of all that importing them may run."""
    todo = [name for name in modules if _is_in(name, start)]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in seen and name in modules:
            seen.add(name)
            is_package = modules[name].name == "__init__.py"
            todo += imported(modules[name].read_text(encoding="utf-8"), name, is_package)
            todo += _parents(name)
    return seen


def imported(source: str, name: str, is_package: bool) -> list[str]:
    """What a module asks for, as dotted names; a name taken from a package may be a module of its own."""
    found: list[str] = []
    for node in _running_nodes(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, name, is_package)
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return found


def _running_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker sees."""
    yield node
    if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
        for child in node.orelse:
            yield from _running_nodes(child)
        return
    for child in ast.iter_child_nodes(node):
        yield from _running_nodes(child)


def _base(node: ast.ImportFrom, name: str, is_package: bool) -> str:
    """The absolute name of the module that `from ... import` names."""
    if not node.level:
        return node.module or ""
    parts = name.split(".") if is_package else name.split(".")[:-1]
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, node.module] if node.module else parts)


def _docstring_lines(tree: ast.AST) -> set[int]:
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:size]) for size in range(1, len(parts))]


def _is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


if __name__ == "__main__":
    print(measure(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT).table())
