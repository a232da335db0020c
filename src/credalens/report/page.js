"use strict";
// Without this script the page lacks only the charts and the table. User text is set by textContent
// only, or drawn by Vega as SVG text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const rows = data.rows, count = rows.r.length;
  const byId = (id) => document.getElementById(id);
  const PAGE = 12;

  // ------------------------------------------------------------ formatting
  const commas = (n) => n.toLocaleString("en-US");
  const digits = data.unit < 1e-3 ? 4 : 3;
  const value = (steps) => (steps * data.unit).toFixed(digits);
  const className = (k) => (data.classes ? data.classes[k] : String(k));
  const idOf = (i) => (rows.id ? rows.id[i] : String(rows.r[i]));
  const interval = (i) => `${value(rows.l[i])} to\u00a0${value(rows.u[i])}`;
  /** User text, isolated from the direction of the surrounding text. */
  const isolated = (text) => {
    const element = document.createElement("bdi");
    element.textContent = text;
    return element;
  };
  /** The votes of row i as text and elements; classes that are not listed are counted. */
  const voteNodes = (i) => {
    const nodes = [];
    let left = data.models;
    for (let j = 0; j < rows.v[i].length; j += 2) {
      const [k, n] = rows.v[i].slice(j, j + 2);
      nodes.push(`${j ? ", " : ""}${n} × `, isolated(className(k)));
      left -= n;
    }
    return left ? [...nodes, ` and ${left} ${left === 1 ? "other" : "others"}`] : nodes;
  };
  const votes = (i) => voteNodes(i).map((node) => node.textContent ?? node).join("");

  // ------------------------------------------------------------ table
  // key: [text, sort value, whether it is a number]
  const columns = {
    id: [idOf, rows.id ? idOf : (i) => rows.r[i], false],
    p: [(i) => className(rows.p[i]), (i) => className(rows.p[i]), false],
    y: [(i) => className(rows.y[i]), (i) => className(rows.y[i]), false],
    v: [votes, (i) => rows.v[i][1], false],
    t: [(i) => value(rows.t[i]), (i) => rows.t[i], true],
    l: [interval, (i) => rows.l[i], true],
    e: [(i) => value(rows.e[i]), (i) => rows.e[i], true],
    q: [(i) => data.kinds[rows.q[i]], (i) => rows.q[i], false],
  };
  const heads = [...document.querySelectorAll("#listing thead th")];
  const keys = heads.map((head) => head.dataset.key);
  const natural = new Intl.Collator("en", { numeric: true });
  let listed = [], shown = PAGE, order = { key: "t", down: true };

  function sortListed() {
    const sortValue = columns[order.key][1], sign = order.down ? -1 : 1;
    // Ties stay in decreasing order of total uncertainty.
    listed.sort((a, b) => {
      const x = sortValue(a), y = sortValue(b);
      const difference = typeof x === "string" ? natural.compare(x, y) : x - y;
      return sign * difference || a - b;
    });
    for (const head of heads) {
      const sorted = head.dataset.key === order.key;
      head.setAttribute("aria-sort", sorted ? (order.down ? "descending" : "ascending") : "none");
    }
  }

  function drawTable() {
    const body = document.createElement("tbody");
    for (const i of listed.slice(0, shown)) {
      const row = body.insertRow();
      for (const key of keys) {
        const cell = row.insertCell();
        if (key === "v") cell.append(...voteNodes(i));
        else cell.append(isolated(columns[key][0](i)));
        if (columns[key][2]) cell.className = "num";
        if (key === "y" && rows.y[i] !== rows.p[i]) {
          cell.className = "wrong";
          cell.prepend("✗ ");
        }
      }
    }
    byId("listing").tBodies[0].replaceWith(body);
    byId("more").hidden = listed.length <= shown;
    byId("export").disabled = listed.length === 0;
  }

  /** List the rows that pass; `exact` is their exact number, `which` describes them. */
  function list(passes, exact, which) {
    listed = [];
    for (let i = 0; i < count; i++) if (passes(i)) listed.push(i);
    shown = PAGE;
    const gap = listed.length < exact ? `; ${commas(listed.length)} of them are listed` : "";
    byId("count").textContent = `${commas(exact)} ${exact === 1 ? "prediction" : "predictions"} ${which}${gap}`;
    sortListed();
    drawTable();
  }

  function listKind(key) {
    for (const button of document.querySelectorAll("[data-filter]")) {
      button.setAttribute("aria-pressed", String(button.dataset.filter === key));
    }
    if (key === "all") list(() => true, data.n, "in total");
    else if (key === "review") list((i) => rows.q[i] > 0, data.n - data.totals[0], "to review");
    else list((i) => rows.q[i] === Number(key), data.totals[key], `of the kind “${data.kinds[key]}”`);
  }

  /** List a range of the map, extended to whole cells, so that the count is exact. */
  function listRange(x0, x1, y0, y1) {
    const [w, h] = data.cell, unit = data.unit;
    const slack = 1e-9;
    const left = Math.max(0, Math.floor(x0 / unit / w + slack)), right = Math.ceil(x1 / unit / w - slack);
    const low = Math.max(0, Math.floor(y0 / unit / h + slack)), high = Math.ceil(y1 / unit / h - slack);
    let exact = 0;
    for (const [i, j, n] of data.cells) if (i >= left && i < right && j >= low && j < high) exact += n;
    for (const button of document.querySelectorAll("[data-filter]")) button.setAttribute("aria-pressed", "false");
    const ends = { x0: left * w * unit, x1: right * w * unit, y0: low * h * unit, y1: high * h * unit };
    for (const name in ends) byId(`from-${name}`).value = Number(ends[name].toPrecision(6));
    list((i) => {
      const a = Math.min(Math.floor(rows.l[i] / w), data.last[0]);
      const b = Math.min(Math.floor(rows.e[i] / h), data.last[1]);
      return a >= left && a < right && b >= low && b < high;
    }, exact, `with aleatoric ${ends.x0.toFixed(2)} to ${ends.x1.toFixed(2)} and epistemic ${ends.y0.toFixed(3)} to ${ends.y1.toFixed(3)}`);
  }

  function csv() {
    // Spreadsheets take text for a formula that begins with one of these.
    const formula = /^[\s\0]*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/u;
    const number = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/iu;
    const safe = (text) => (formula.test(text) && !number.test(text) ? `'${text}` : text);
    const quoted = (text) => `"${safe(String(text)).replaceAll('"', '""')}"`;
    const head = ["row", ...(rows.id ? ["id"] : []), "prediction", ...(rows.y ? ["label"] : []), "votes",
      "total", "aleatoric_lower", "aleatoric_upper", "epistemic", "kind"];
    const lines = listed.map((i) => [rows.r[i], ...(rows.id ? [quoted(idOf(i))] : []),
      quoted(className(rows.p[i])), ...(rows.y ? [quoted(className(rows.y[i]))] : []), quoted(votes(i)),
      value(rows.t[i]), value(rows.l[i]), value(rows.u[i]), value(rows.e[i]), data.kinds[rows.q[i]]].join(","));
    return [head.join(","), ...lines].join("\r\n") + "\r\n";
  }

  function download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", csv()], { type: "text/csv" }));
    link.download = "predictions.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  for (const head of heads) {
    head.classList.toggle("num", columns[head.dataset.key][2]);
    head.firstChild.addEventListener("click", () => {
      const key = head.dataset.key;
      order = { key, down: order.key === key ? !order.down : columns[key][2] };
      sortListed();
      drawTable();
    });
  }
  for (const button of document.querySelectorAll("[data-filter]")) {
    button.addEventListener("click", () => { clearBrush(); listKind(button.dataset.filter); });
  }
  byId("more").addEventListener("click", () => { shown += 10 * PAGE; drawTable(); });
  byId("export").addEventListener("click", download);
  byId("range").addEventListener("submit", (event) => {
    event.preventDefault();
    const end = (name, fallback) => (byId(`from-${name}`).value === "" ? fallback : Number(byId(`from-${name}`).value));
    clearBrush();
    listRange(end("x0", 0), end("x1", 1e9), end("y0", 0), end("y1", 1e9));
  });
  listKind(data.totals[0] < data.n ? "review" : "all");

  // ------------------------------------------------------------ charts
  function marks() {
    return data.drawn.map((i) => ({
      x: rows.l[i] * data.unit, y: rows.e[i] * data.unit, q: rows.q[i], id: idOf(i), p: className(rows.p[i]),
      au: interval(i), eu: value(rows.e[i]), tu: value(rows.t[i]),
      ...(rows.y ? { truth: className(rows.y[i]) } : {}),
    }));
  }

  function cells() {
    const sums = new Map(), [wide, high] = data.coarse;
    for (const [i, j, n] of data.cells) {
      const key = `${Math.floor(i / wide)},${Math.floor(j / high)}`;
      sums.set(key, (sums.get(key) ?? 0) + n);
    }
    const w = data.cell[0] * wide * data.unit, h = data.cell[1] * high * data.unit;
    return [...sums].map(([key, n]) => {
      const [i, j] = key.split(",").map(Number);
      return { x0: i * w, x1: (i + 1) * w, y0: j * h, y1: (j + 1) * h, n };
    });
  }

  let map = null, pending = 0;
  function clearBrush() {
    if (map) map.signal("brush_x", []).signal("brush_y", []).run();
  }

  // Expressions are interpreted (ast), so that the page needs no permission to evaluate text.
  const options = { actions: false, ast: true, renderer: "svg", tooltip: { theme: "custom" } };
  for (const place of document.querySelectorAll("[data-chart]")) {
    const name = place.dataset.chart, spec = data.charts[name];
    if (name === "map") spec.datasets = { marks: marks(), cells: data.dense ? cells() : [] };
    vegaEmbed(place, spec, options).then(({ view }) => {
      if (name !== "map") return;
      map = view;
      view.addSignalListener("brush", (_, brush) => {
        clearTimeout(pending);
        if (!brush.x || !brush.y) return;
        const [x, y] = [brush.x, brush.y].map((ends) => [...ends].sort((a, b) => a - b));
        if (!(x[1] > x[0] && y[1] > y[0])) return; // cleared
        pending = setTimeout(() => listRange(x[0], x[1], y[0], y[1]), 60);
      });
    });
  }

  // ------------------------------------------------------------ explorer
  let explorer = null;
  for (const button of document.querySelectorAll("[data-explore]")) {
    button.addEventListener("click", () => {
      explorer ??= URL.createObjectURL(new Blob([data.explorer], { type: "text/html" }));
      open(`${explorer}#row=${button.dataset.explore}`);
    });
  }

  // ------------------------------------------------------------ theme
  const root = document.documentElement;
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefers.matches);
  const nameTheme = () => { byId("theme-name").textContent = isDark() ? "Light" : "Dark"; };
  byId("theme").addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; nameTheme(); });
  prefers.addEventListener("change", nameTheme);
  nameTheme();
})();
