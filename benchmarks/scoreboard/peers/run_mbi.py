"""AIM and MST on mbi 2.0, which has the inference and not the mechanisms: run_mbi.py FOLDER.

MST is McKenna, Miklau and Sheldon (2021): a third of rho for all columns alone, a third for choosing a spanning tree of
pairs by the exponential mechanism, a third for its tables. AIM is McKenna, Mullins, Sheldon and Miklau (2022): all
pairs are the workload; round by round the table that the model gets most wrong is chosen and measured, and where
nothing new was learned the noise is halved. Values of a column that its noisy table does not show (below three standard
deviations) are merged into one, as MST does. Numbers are in the public bins of the task. Noise is drawn from NumPy.

mbi compiles a program for every table that no clique of its model holds; AIM asks for all of them in every round, so
they are computed here from the model's potentials, exactly, by passing messages in NumPy.
"""

import itertools
import math
import warnings

import numpy as np
from exchange import Task
from scipy.special import logsumexp

warnings.filterwarnings("ignore")

import jax  # noqa: E402

jax.config.update("jax_enable_x64", True)

from mbi import Dataset, Domain, LinearMeasurement, estimation, junction_tree, marginal_oracles  # noqa: E402
from mbi.clique_utils import downward_closure  # noqa: E402

MODEL_MEGABYTES = 80  # of AIM's model at the most, as in the paper's experiments
MOST_CELLS = 10_000  # of a table in AIM's workload
STEPS = {"aim": 250, "mst": 2500}  # of mirror descent, each time
LAST_STEPS = 2500  # when all is measured


def rho_of(epsilon, delta):
    """The zero-concentrated privacy that (epsilon, delta) leaves: Canonne, Kamath and Steinke (2020), Corollary 13."""

    def delta_of(rho):
        orders = 1 + np.geomspace(1e-3, 1e5, 20_000)
        bounds = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
        return math.exp(min(float(bounds.min()), 0.0))

    low, high = 0.0, epsilon + 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) <= delta else (low, middle)
    return low


class Marginals:
    """The private tables, and noisy ones."""

    def __init__(self, codes, sizes, rng):
        self.domain = Domain(list(sizes), list(sizes.values()))
        self.data = Dataset({name: codes[name].to_numpy() for name in sizes}, self.domain)
        self.rng = rng
        self.merged, self.hidden = {}, {}

    def exact(self, clique):
        return np.asarray(self.data.project(clique).datavector(), dtype=float)

    def noisy(self, clique, sigma):
        table = self.exact(clique)
        return LinearMeasurement(table + self.rng.normal(0, sigma, len(table)), clique, sigma)

    def alone(self, sigma):
        """Noisy tables of all columns; what they do not show is merged from here on."""
        measured = [self.noisy((name,), sigma) for name in self.domain.attributes]
        for each in measured:
            counts = np.asarray(each.noisy_measurement)
            shown = counts >= 3 * sigma
            if (~shown).sum() > 1 and shown.any():
                name = each.clique[0]
                self.merged[name] = np.where(shown, np.cumsum(shown) - 1, shown.sum())
                self.hidden[name] = np.flatnonzero(~shown), np.maximum(counts[~shown], 1.0)
        before = self.domain
        self.data = self.data.compress(self.merged)
        self.domain = self.data.domain
        return [each.compress(self.merged, before) for each in measured]

    def split(self, codes):
        """Synthetic rows with merged values drawn by their noisy counts."""
        found = dict(codes)
        for name, places in self.merged.items():
            values, counts = self.hidden[name]
            back = np.append(np.flatnonzero(np.isin(np.arange(len(places)), values, invert=True)), -1)
            drawn = self.rng.choice(values, len(codes[name]), p=counts / counts.sum())
            found[name] = np.where(back[codes[name]] < 0, drawn, back[codes[name]])
        return found

    def chosen(self, scores, epsilon):
        """The exponential mechanism, for scores that a row moves by 1 at most; its rho is epsilon^2 / 8."""
        keys = list(scores)
        values = 0.5 * epsilon * np.array([scores[key] for key in keys])
        chances = np.exp(values - values.max())
        return keys[self.rng.choice(len(keys), p=chances / chances.sum())]


def fitted(marginals, measured, steps, start=None):
    inference = estimation.MirrorDescent(marginal_oracle=marginal_oracles.message_passing_hugin)
    return inference.estimate(marginals.domain, pooled(measured), iters=steps, warm_start=start)


def pooled(measured):
    """One noisy table a clique, each answer by its precision: the same least squares, and no new program to compile
    where a table is asked again."""
    found = {}
    for each in measured:
        found.setdefault(each.clique, []).append(each)
    return [each[0] if len(each) == 1 else _mean(each) for each in found.values()]


def _mean(answers):
    precisions = np.array([each.stddev**-2.0 for each in answers])
    tables = np.array([each.noisy_measurement for each in answers])
    return LinearMeasurement(precisions @ tables / precisions.sum(), answers[0].clique, precisions.sum() ** -0.5)


def table_of(model, clique):
    return np.asarray(model.project(clique).datavector(), dtype=float)


class Tables:
    """All tables of one or two columns of a fitted model."""

    def __init__(self, model):
        self.domain, self.total = model.domain, float(model.total)
        self.tree = junction_tree.make_junction_tree(self.domain, model.potentials.cliques)[0]
        self.beliefs = self._calibrated(model.potentials)
        self.known, self.rows = {}, {}

    def of(self, clique):
        """A table, flat."""
        if len(clique) == 1:
            (name,) = clique
            return self._part(self._home(name), (name,))
        first, second = clique
        if first not in self.rows:
            self.rows[first] = self._pairs(first)
        if second in self.rows[first]:
            return self.rows[first][second].ravel()
        return np.outer(self.of((first,)), self.of((second,))).ravel() / self.total

    def _home(self, name):
        return min((each for each in self.tree if name in each), key=self.domain.size)

    def _calibrated(self, potentials):
        logs = {each: np.zeros([self.domain[name] for name in each]) for each in self.tree}
        for clique in potentials.cliques:
            home = next(each for each in self.tree if set(clique) <= set(each))
            factor = potentials[clique]
            names = list(factor.domain.attributes)
            values = np.asarray(factor.values).transpose([names.index(name) for name in home if name in names])
            logs[home] += values.reshape([self.domain[name] if name in names else 1 for name in home])
        told = {}
        for source, target in junction_tree.message_passing_order(self.tree):
            inside = self._with(logs, told, source, but=target)
            axes = tuple(place for place, name in enumerate(source) if name not in target)
            message = logsumexp(inside, axis=axes)
            told[source, target] = message, [name for name in source if name in target]
        beliefs = {each: self._with(logs, told, each) for each in self.tree}
        beliefs = {each: np.exp(values - values.max()) for each, values in beliefs.items()}
        return {each: values * (self.total / values.sum()) for each, values in beliefs.items()}

    def _with(self, logs, told, node, but=None):
        """A clique's potential and what its neighbours told it."""
        found = logs[node].copy()
        for source in self.tree.neighbors(node):
            if source != but:
                message, names = told[source, node]
                order = [names.index(name) for name in node if name in names]
                found += message.transpose(order).reshape([self.domain[n] if n in names else 1 for n in node])
        return found

    def _part(self, node, names):
        """The table of some columns of a clique."""
        if (node, names) not in self.known:
            self.known[node, names] = contracted(names, (self.beliefs[node], node))
        return self.known[node, names]

    def _pairs(self, name):
        """The tables of a column with every other that the tree joins to it: what a clique tells of it is what its
        separator tells, where the clique does not hold it."""
        found, waiting = {}, [(self._home(name), None, None, ())]
        while waiting:
            node, parent, share, shared = waiting.pop()

            def joint(names, node=node, share=share, shared=shared):
                if name in node:
                    return self._part(node, (name, *names))
                inside = tuple(each for each in node if each in shared or each in names)
                return contracted((name, *names), (share, (name, *shared)), (self._part(node, inside), inside))

            for other in node:
                if other != name and other not in found:
                    found[other] = joint((other,))
            for child in self.tree.neighbors(node):
                if child == parent:
                    continue
                between = tuple(each for each in child if each in node)
                if name in child:
                    waiting.append((child, node, None, between))
                    continue
                alone = self._part(child, between)
                table = joint(between)
                given = np.divide(table, alone, out=np.zeros_like(table), where=alone > 0)
                waiting.append((child, node, given, between))
        return found


def contracted(names, *tables):
    """The sum over all other columns of a product of tables, each with the names of its axes."""
    places = {name: place for place, name in enumerate(dict.fromkeys(each for _, axes in tables for each in axes))}
    parts = [part for values, axes in tables for part in (values, [places[name] for name in axes])]
    return np.einsum(*parts, [places[name] for name in names], optimize=len(tables) > 1)


def mst(marginals, rho):
    names = marginals.domain.attributes
    sigma = math.sqrt(3 * len(names) / (2 * rho))
    measured = marginals.alone(sigma)
    alone = fitted(marginals, measured, STEPS["mst"])
    scores = {
        pair: np.abs(marginals.exact(pair) - table_of(alone, pair)).sum() for pair in itertools.combinations(names, 2)
    }
    epsilon = math.sqrt(8 * rho / 3 / (len(names) - 1))
    tree, part = [], {name: {name} for name in names}
    for _ in range(len(names) - 1):
        open_pairs = {pair: score for pair, score in scores.items() if part[pair[0]] is not part[pair[1]]}
        pair = marginals.chosen(open_pairs, epsilon)
        tree.append(pair)
        joined = part[pair[0]] | part[pair[1]]
        part.update(dict.fromkeys(joined, joined))
    sigma = math.sqrt(3 * len(tree) / (2 * rho))
    measured += [marginals.noisy(pair, sigma) for pair in tree]
    return fitted(marginals, measured, LAST_STEPS)


def aim(marginals, rho):
    names = marginals.domain.attributes
    rounds = 16 * len(names)
    sigma, epsilon = math.sqrt(rounds / (2 * 0.9 * rho)), math.sqrt(8 * 0.1 * rho / rounds)
    measured = marginals.alone(sigma)
    domain = marginals.domain
    workload = [pair for pair in itertools.combinations(names, 2) if domain.size(pair) <= MOST_CELLS]
    weights = {
        clique: sum(len(set(clique) & set(pair)) for pair in workload)
        for clique in downward_closure(workload)
        if clique
    }
    heaviest = max(weights.values())
    spent, last = len(names) / (2 * sigma**2), False
    model = fitted(marginals, measured, STEPS["aim"])
    tables = Tables(model)
    exact = {clique: marginals.exact(clique) for clique in weights}
    while not last:
        if rho - spent < 2 * (1 / (2 * sigma**2) + epsilon**2 / 8):
            left, last = rho - spent, True
            sigma, epsilon = math.sqrt(1 / (2 * 0.9 * left)), math.sqrt(8 * 0.1 * left)
        spent += 1 / (2 * sigma**2) + epsilon**2 / 8
        cliques = [each.clique for each in measured]
        scores = {}
        for clique, weight in weights.items():
            size = junction_tree.hypothetical_model_size(domain, [*cliques, clique])
            if size <= MODEL_MEGABYTES * spent / rho:
                wrong = np.abs(exact[clique] - tables.of(clique)).sum()
                scores[clique] = weight * (wrong - math.sqrt(2 / math.pi) * sigma * len(exact[clique]))
        clique = marginals.chosen({key: score / heaviest for key, score in scores.items()}, epsilon)
        before = tables.of(clique)
        measured.append(marginals.noisy(clique, sigma))
        model = fitted(marginals, measured, LAST_STEPS if last else STEPS["aim"], model)
        tables = Tables(model)
        moved = np.abs(tables.of(clique) - before).sum()
        if moved <= math.sqrt(2 / math.pi) * sigma * len(before):
            sigma, epsilon = sigma / 2, 2 * epsilon
    return model


def main():
    task = Task.of_command()
    rng = np.random.default_rng()
    with task.timed():
        marginals = Marginals(task.codes(), task.sizes, rng)
        model = {"aim": aim, "mst": mst}[task.method](marginals, rho_of(task.epsilon, task.delta))
        made = task.decoded(marginals.split(model.synthetic_data(rows=task.rows).to_dict()), rng)
    task.finish(made, "add-remove", ["mbi", "jax", "numpy"])


if __name__ == "__main__":
    main()
