// Draws the charts of a report when they come into view, and what a reader chooses. Everything that is foreign (names,
// categories) enters the page as text, never as markup.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const PATIENCE = 500; // milliseconds: where a machine is busy, a page may never be idle
const later = window.requestIdleCallback
  ? (work) => window.requestIdleCallback(work, { timeout: PATIENCE })
  : (work) => setTimeout(work, 20);
const OPTIONS = { mode: "vega", ast: true, renderer: "svg", actions: false, logLevel: 1 };
const Z_WORDS = "95 % interval";

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function whole(number) {
  return Math.round(number).toLocaleString("en-US");
}

function percent(share) {
  const clipped = 100 * Math.min(Math.max(share, 0), 1);
  return clipped > 0 && clipped < 0.95 ? clipped.toFixed(2) : clipped.toFixed(1);
}

// --- charts

async function draw(place, kind, rows, change) {
  const spec = structuredClone(data.specs[kind]);
  spec.data.find((each) => each.name === "rows").values = rows;
  spec.width = place.clientWidth;
  for (const axis of spec.axes ?? []) if (axis.scale === "y") axis.labelLimit = 0.4 * place.clientWidth;
  if (change) change(spec);
  place.replaceChildren();
  const { view } = await vegaEmbed(place, spec, OPTIONS);
  place.querySelector("svg").setAttribute("aria-hidden", "true"); // the figure has its words, and its table
  return view;
}

function barRows(figure) {
  return figure.labels.map((label, i) => {
    const low = figure.low[i], high = figure.high[i];
    const known = low !== null;
    return {
      class: label,
      percent: 100 * Math.min(Math.max(figure.share[i] ?? 0, 0), 1),
      low: known ? 100 * Math.max(low, 0) : null,
      high: known ? 100 * Math.min(high, 1) : null,
      lost: figure.pale || (known && !(low > 0)),
      overall: figure.overall === undefined ? null : 100 * figure.overall,
    };
  });
}

const makers = {
  bars: (figure) => barRows(figure),
  dots: (figure) => barRows(figure).filter((row) => row.low !== null),
  power: (figure) => figure.alarms.map((alarms, i) => ({ alarms: 100 * alarms, found: 100 * figure.found[i] })),
  places: (figure) => figure.means.map((mean, i) => ({
    row: Math.floor(i / figure.width), column: i % figure.width, mean,
  })),
  map: (figure) => figure.values.map((association, k) => {
    const n = figure.names.length, i = Math.floor(k / n), j = k % n;
    const bought = figure.bought[k] === 1;
    return {
      other: figure.names[i], one: figure.names[j], i: figure.places[i], j: figure.places[j],
      association: i === j ? 0 : association, bought,
      "rests on": bought ? "a noisy table of the pair" : "the model",
    };
  }),
};

async function drawFigure(place) {
  if (place.dataset.drawn) return;
  place.dataset.drawn = "yes";
  const figure = data.figures[place.dataset.figure];
  const view = await draw(place, figure.kind, makers[figure.kind](figure), (spec) => {
    if (figure.kind === "power" || figure.kind === "places") spec.width = Math.min(place.clientWidth, 380);
  });
  if (figure.kind === "map") {
    view.addEventListener("click", (event, item) => {
      if (item && item.datum && item.datum.i !== undefined && item.datum.i !== item.datum.j) {
        choosePair(item.datum.i, item.datum.j);
        byId("pairs").scrollIntoView();
      }
    });
  }
}

function drawAll() {
  const places = [...document.querySelectorAll("[data-figure]")];
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) drawFigure(entry.target);
  }, { rootMargin: "600px" });
  places.forEach((place) => watch.observe(place));
  const rest = () => {
    const next = places.find((place) => !place.dataset.drawn);
    if (next) drawFigure(next).finally(() => later(rest)); // one that fails holds up no other
    else document.documentElement.dataset.charts = "drawn";
  };
  later(rest);
  window.addEventListener("beforeprint", () => places.forEach(drawFigure));
}

// --- a table of numbers

function numberTable(caption, head, rows) {
  const table = element("table");
  table.append(element("caption", caption));
  const line = (cells, first) => {
    const made = element("tr");
    cells.forEach((cell, i) => {
      const kind = first || i === 0 ? "th" : "td";
      const attributes = kind === "th" ? { scope: first ? "col" : "row" } : {};
      if (i > 0) attributes.class = "number";
      made.append(element(kind, cell, attributes));
    });
    return made;
  };
  const top = element("thead"), body = element("tbody");
  top.append(line(head, true));
  rows.forEach((row) => body.append(line(row, false)));
  table.append(top, body);
  const scroll = element("div", undefined, { class: "scroll", tabindex: "0", role: "region", "aria-label": caption });
  scroll.append(table);
  return scroll;
}

// --- one column, chosen

function fillChoices(select, names, chosen) {
  select.append(...names.map((name, i) => element("option", name, { value: i })));
  select.value = chosen;
}

function showColumn() {
  const at = Number(byId("column-choice").value);
  const figure = data.columns[at];
  draw(byId("column-chart"), "bars", barRows(figure));
  const rows = figure.labels.map((label, i) => [
    label, percent(figure.share[i]),
    figure.low[i] === null ? "–" : `${percent(figure.low[i])} to ${percent(figure.high[i])}`,
  ]);
  byId("column-words").textContent = figure.words;
  byId("column-table").replaceChildren(
    numberTable(`Shares of ${figure.name}`, ["Class", "Percent", Z_WORDS], rows));
}

// --- pairs, chosen

let bytes = null;

function codesOf(column) {
  if (bytes === null) bytes = Uint8Array.from(atob(data.coded.bytes), (letter) => letter.charCodeAt(0));
  return bytes.subarray(column * data.coded.rows, (column + 1) * data.coded.rows);
}

function boughtTable(one, other) {
  const found = data.pairs.find((each) => each.of.includes(one) && each.of.includes(other));
  if (!found) return null;
  const [rows, columns] = found.levels, flipped = found.of[0] !== one;
  const cell = (i, j) => (flipped ? j * columns.length + i : i * columns.length + j);
  const ends = (k) => (found.ends ? found.ends[k] : [found.counts[k] - found.wide, found.counts[k] + found.wide]);
  return {
    levels: flipped ? [columns, rows] : [rows, columns],
    count: (i, j) => found.counts[cell(i, j)],
    ends: (i, j) => ends(cell(i, j)),
    words: `From the noisy answer “${found.source}”: counts of rows with 95 % intervals` +
      (found.ends ? "." : `, each ± ${whole(found.wide)}.`) +
      " Cells marked × cannot be told from empty ones.",
  };
}

function modelTable(one, other) {
  const a = codesOf(one), b = codesOf(other);
  const levels = [data.coded.labels[one], data.coded.labels[other]];
  const counts = new Array(levels[0].length * levels[1].length).fill(0);
  for (let row = 0; row < a.length; row++) counts[a[row] * levels[1].length + b[row]] += 1;
  const scale = (data.total ?? data.coded.rows) / data.coded.rows;
  const of = data.total === null ? "counts of these rows" : "scaled to the number of rows of the table";
  return {
    levels,
    count: (i, j) => scale * counts[i * levels[1].length + j],
    ends: () => null,
    words: `No table of this pair was bought: this is what the model says, from ${whole(data.coded.rows)} rows ` +
      `that it drew, ${of}. There is no interval: how far the model is from the table is not known.`,
  };
}

function pairRows(table, within) {
  const rows = [];
  table.levels[0].forEach((one, i) => {
    const sum = table.levels[1].reduce((total, _, j) => total + Math.max(table.count(i, j), 0), 0);
    table.levels[1].forEach((other, j) => {
      const count = table.count(i, j), ends = table.ends(i, j);
      rows.push({
        one, other, count,
        value: within ? (sum > 0 ? 100 * Math.max(count, 0) / sum : 0) : Math.max(count, 0),
        low: ends && Math.max(ends[0], 0), high: ends && Math.max(ends[1], 0), lost: ends !== null && !(ends[0] > 0),
      });
    });
  });
  return rows;
}

function pairCells(table, within) {
  return table.levels[0].map((one, i) => {
    const counts = table.levels[1].map((_, j) => table.count(i, j));
    const sum = counts.reduce((total, count) => total + Math.max(count, 0), 0);
    return [one, ...counts.map((count, j) => {
      if (within) return sum > 0 ? percent(Math.max(count, 0) / sum) : "–";
      const ends = table.ends(i, j);
      const lost = ends !== null && !(ends[0] > 0) ? " ×" : "";
      return whole(Math.max(count, 0)) + lost;
    })];
  });
}

function showScatter(one, other) {
  const x = data.points[other], y = data.points[one];
  byId("scatter-figure").hidden = !(x && y);
  if (!(x && y)) return;
  const rows = x.map((each, i) => ({ x: each, y: y[i] })).filter((row) => row.x !== null && row.y !== null);
  byId("scatter-caption").textContent =
    `${data.names[one]} (upwards) and ${data.names[other]} (to the right): ${rows.length} rows that the model drew.`;
  draw(byId("scatter-chart"), "scatter", rows, (spec) => {
    for (const axis of spec.axes) if (axis.title) axis.title = data.names[axis.scale === "x" ? other : one];
  });
}

function showPair() {
  const one = Number(byId("pair-one").value), other = Number(byId("pair-other").value);
  if (one === other) {
    byId("pair-words").textContent = "Choose two different columns.";
    return;
  }
  const within = byId("pair-within").checked;
  const table = boughtTable(one, other) ?? modelTable(one, other);
  byId("pair-words").textContent = table.words;
  const room = (0.55 * byId("pair-chart").clientWidth) / table.levels[1].length;
  const upright = table.levels[1].every((label) => 7 * label.length < room);
  draw(byId("pair-chart"), "pair", pairRows(table, within), (spec) => {
    for (const axis of spec.axes) {
      if (axis.scale === "x" && upright) Object.assign(axis, { labelAngle: 0, labelAlign: "center", labelBaseline: "top" });
    }
  });
  const what = within ? `percent within each ${data.names[one]}` : "rows";
  const caption = `${data.names[one]} by ${data.names[other]}, ${what}`;
  byId("pair-table").replaceChildren(numberTable(caption, [data.names[one], ...table.levels[1]], pairCells(table, within)));
  showScatter(one, other);
}

function choosePair(one, other) {
  byId("pair-one").value = one;
  byId("pair-other").value = other;
  showPair();
}

// --- the sample

function download() {
  const address = URL.createObjectURL(new Blob([data.sample.csv], { type: "text/csv" }));
  const link = element("a", undefined, { href: address, download: data.sample.file });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// --- begin

// Do a work when there is time for it, and at the latest before the page is printed.
function soon(work) {
  let done = false;
  const once = () => {
    if (!done) work();
    done = true;
  };
  later(once);
  window.addEventListener("beforeprint", once);
}

drawAll();
if (byId("column-choice")) {
  fillChoices(byId("column-choice"), data.columns.map((each) => each.name), 0);
  byId("column-choice").addEventListener("change", showColumn);
  soon(showColumn);
}
if (byId("pair-one")) {
  fillChoices(byId("pair-one"), data.names, data.first[0]);
  fillChoices(byId("pair-other"), data.names, data.first[1]);
  for (const id of ["pair-one", "pair-other", "pair-within"]) byId(id).addEventListener("change", showPair);
  soon(showPair);
}
byId("download").addEventListener("click", download);
document.documentElement.dataset.ready = Math.round(performance.now()); // milliseconds, for tests
