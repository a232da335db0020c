"use strict";
/** Connects the state, the numbers and the elements of the page. */
const Explorer = (() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const data = JSON.parse(byId("data").textContent);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let state, found, points, lens = "distances", everyClass = false, alone = null, animation = 0, later = 0;

  const name = (m) => state.names?.[m] ?? `Model ${m + 1}`;

  // ------------------------------------------------------------ changes
  /** Show another state; it is announced and written to the address unless it is `passing`. */
  function show(next, passing = false) {
    state = next;
    points = CredalSets.extremePoints(state.set, state.members, state.radius);
    found = Measures.measure(points, state.set === "hull" ? state.members : null);
    draw();
    clearTimeout(later);
    if (!passing) later = setTimeout(() => { announce(); remember(); }, 300);
  }

  /** The state after a change by hand. */
  const changed = (extra) => ({ ...state, ...extra, moved: true });

  const setMember = (m, p) => show(changed({ members: state.members.with(m, p), selected: m }), true);

  function select(m) {
    if (state.selected !== m) show({ ...state, selected: m }, true);
  }

  function add(p = CredalSets.mean(state.members)) {
    if (state.members.length >= State.MAX_MEMBERS) return;
    const members = [...state.members, CredalSets.rounded(p)];
    show(changed({ members, names: state.names && [...state.names, `Model ${members.length}`], selected: members.length - 1 }));
  }

  function remove(m = state.selected) {
    if (state.members.length === 1) return;
    const kept = (list) => list && list.filter((_, i) => i !== m);
    show(changed({ members: kept(state.members), names: kept(state.names), selected: Math.max(0, Math.min(m, state.members.length - 2)) }));
    byId("handles").children[state.selected]?.focus({ preventScroll: true });
  }

  const actions = {
    name,
    member: (m) => state.members[m],
    describe: (m) => `${name(m)}: ${state.classes.map((label, y) => `${label} ${Words.number(state.members[m][y])}`).join(", ")}. ` +
      "Arrow keys move it, Delete removes it.",
    select,
    move: (m, p) => setMember(m, CredalSets.rounded(p)),
    remove,
    slide: (y, value) => setMember(state.selected, CredalSets.normalized(CredalSets.withClass(state.members[state.selected], y, value))),
    done: () => show(state),
  };

  /** Move to another state, with an animation if both have the same shape. */
  function glide(next) {
    cancelAnimationFrame(animation);
    const before = state, still = !before || calm.matches || before.set !== next.set ||
      before.members.length !== next.members.length || before.classes.length !== next.classes.length;
    if (still) return show(next);
    const start = performance.now();
    const step = (now) => {
      const t = Math.min((now - start) / 350, 1), share = t * t * (3 - 2 * t);
      if (t === 1) return show(next);
      const members = next.members.map((p, m) => p.map((value, y) => (1 - share) * before.members[m][y] + share * value));
      show({ ...next, members }, true);
      animation = requestAnimationFrame(step);
    };
    animation = requestAnimationFrame(step);
  }

  // ------------------------------------------------------------ drawing
  function draw() {
    const ternary = state.classes.length === 3;
    Object.assign(document.body.dataset, { lens, view: ternary ? "triangle" : "bars" });
    byId("triangle").toggleAttribute("hidden", !ternary);
    byId("set-choice").hidden = !ternary;
    drawLegend(ternary);
    if (ternary) {
      byId("layers").replaceChildren(...Triangle.layers(state, found, points, lens));
      byId("vertices").replaceChildren(...Triangle.vertexLabels(state.classes));
      Handles.update(byId("handles"), state, actions);
    }
    Bars.update(byId("bars"), state, found, points, lens, everyClass, actions);
    drawControls(ternary);
    drawNumbers();
    drawDecisions();
    isolate();
  }

  function drawLegend(ternary) {
    const [shown, other] = ternary ? ["legend", "bar-legend"] : ["bar-legend", "legend"];
    const items = Words.LEGENDS[ternary ? "triangle" : "bars"][lens].map(([key, text]) =>
      Bars.element("li", "", Bars.element("i", `swatch ${key}`), Bars.element("span", "", text)));
    byId(shown).replaceChildren(...items);
    byId(other).replaceChildren();
  }

  function drawControls(ternary) {
    const { members, classes, set, radius } = state;
    for (const button of all("[data-example]")) button.setAttribute("aria-pressed", String(!state.moved && button.dataset.example === state.example));
    for (const button of all("[data-lens]")) button.setAttribute("aria-pressed", String(button.dataset.lens === lens));
    byId("models").replaceChildren(...(members.length > 20 ? [modelList()] : members.map((_, m) => modelChip(m))));
    byId("remove").disabled = members.length === 1;
    byId("add").disabled = members.length >= State.MAX_MEMBERS;
    byId("set").value = set;
    const round = ternary && (set === "ball" || set === "contamination");
    byId("radius-choice").hidden = !round;
    byId("radius-name").textContent = set === "ball" ? "Radius" : "Share";
    byId("radius").value = radius;
    byId("radius-value").textContent = radius.toFixed(2);
    byId("hint").replaceChildren("Sliders: ", Bars.isolated(name(state.selected)), ". Ticks: the other models. Bars: smallest to largest probability.");
    byId("class-count").hidden = classes.length > State.MAX_CLASSES;
    byId("n-classes").textContent = classes.length;
    byId("fewer").disabled = classes.length <= 2;
    byId("more").disabled = classes.length >= State.MAX_CLASSES;
    byId("all-classes").hidden = classes.length <= Bars.LISTED;
    byId("all-classes").textContent = everyClass ? `Show ${Bars.LISTED} classes` : `Show all ${classes.length} classes`;
    byId("story").textContent = state.example ? State.EXAMPLES[state.example].text : state.row === null ? "" : rowStory(state.row);
    byId("row").value = state.row ?? "";
    if (document.activeElement !== byId("text")) byId("text").value = State.format(members);
    byId("python").textContent = Words.python(state);
  }

  function modelChip(m) {
    const chip = Bars.element("button", "model", String(m + 1));
    Object.assign(chip, { type: "button", title: name(m) });
    chip.setAttribute("aria-label", name(m));
    chip.setAttribute("aria-pressed", String(m === state.selected));
    chip.addEventListener("click", () => { select(m); byId("models").children[m].focus(); });
    return chip;
  }

  function modelList() {
    const list = Bars.element("select", "", ...state.members.map((_, m) => new Option(name(m), String(m))));
    list.setAttribute("aria-label", "Selected model");
    list.value = state.selected;
    list.addEventListener("change", () => { select(Number(list.value)); byId("models").firstChild.focus(); });
    return list;
  }

  function rowStory(index) {
    const { label } = data.rows[index];
    const models = state.members.length === 1 ? "One model" : `${state.members.length} models`;
    return `${models}, ${state.classes.length} classes${label == null ? "" : `; the label is ${label}`}. Points that are moved do not change your files.`;
  }

  function setNumber(key, value) {
    const output = document.querySelector(`[data-number="${key}"]`);
    output.dataset.value = value ?? "";
    output.textContent = value === null ? "–" : Words.number(value);
  }

  function drawNumbers() {
    const { total, aleatoric, epistemic, upperEntropy, lowerEntropy, hartley, information } = found;
    setNumber("total", total.value);
    setNumber("aleatoric_lower", aleatoric.lower.value);
    setNumber("aleatoric_upper", aleatoric.upper.value);
    setNumber("epistemic", epistemic.value);
    setNumber("upper_entropy", upperEntropy.value);
    setNumber("lower_entropy", lowerEntropy.value);
    setNumber("hartley", hartley);
    setNumber("mutual_information", information && information.mutual);
    document.querySelector('[data-number="hartley"]').title = hartley === null ? `Not computed for more than ${Hartley.MAX_CLASSES} classes` : "";
    document.querySelector('[data-number="mutual_information"]').title = information ? "" : "Defined for the models, not for this set";
    const cards = {
      total: [0, total.value, Words.total(state, found)],
      aleatoric: [aleatoric.lower.value, aleatoric.upper.value, Words.aleatoric(found)],
      epistemic: [0, epistemic.value, Words.epistemic(state, found, name)],
    };
    for (const key in cards) {
      const [from, to, text] = cards[key], card = document.querySelector(`[data-card="${key}"]`);
      const bar = card.querySelector(".axis i");
      bar.style.left = Bars.percent(from);
      bar.style.width = Bars.percent(to - from);
      card.querySelector("p").replaceChildren(...text);
    }
    const kind = Words.verdict(found, data, points.length === 1);
    const label = Bars.element("strong", `kind ${kind.name}`, kind.name);
    byId("verdict").replaceChildren(label, ` ${kind.text[0].toUpperCase()}${kind.text.slice(1)}`);
  }

  function drawDecisions() {
    const { minimax, admissible, maximal } = found.decisions;
    const chip = (y) => Bars.element("span", state.classes.length === 3 ? `label c${y}` : "label", Bars.isolated(state.classes[y]));
    const shown = (classes) => [...classes.slice(0, 12).map(chip), ...(classes.length > 12 ? [`and ${classes.length - 12} more`] : [])];
    byId("minimax").replaceChildren(chip(minimax));
    byId("admissible").replaceChildren(...shown(admissible));
    byId("maximal").replaceChildren(...shown(maximal));
    for (const [key, classes] of Object.entries({ minimax: [minimax], admissible, maximal })) byId(key).dataset.value = JSON.stringify(classes);
  }

  /** Emphasise one measure: that of the pressed card, or of the one under the pointer. */
  function isolate(hovered = null) {
    const one = hovered ?? alone;
    for (const part of all("[data-measure]")) part.classList.toggle("faint", one !== null && part.dataset.measure !== one);
    for (const card of all(".card")) {
      card.classList.toggle("active", card.dataset.card === one);
      card.querySelector("button").setAttribute("aria-pressed", String(card.dataset.card === alone));
    }
  }

  function setLens(next) {
    lens = next;
    alone = null;
    draw();
  }

  // ------------------------------------------------------------ address and announcements
  function announce() {
    byId("live").textContent = Words.announcement(state, found, name);
  }

  function remember() {
    try {
      history.replaceState(null, "", `#${State.toFragment(state)}`);
    } catch {
      // Some browsers do not allow it for pages without an address of their own.
    }
  }

  function restore() {
    const problem = byId("problem");
    problem.hidden = true;
    try {
      const given = State.fromFragment(location.hash.slice(1), data);
      if (given) return given;
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
    return data.rows.length ? State.fromRow(data, 0) : State.fromExample("mixed");
  }

  // ------------------------------------------------------------ controls
  function connect() {
    byId("triangle").setAttribute("viewBox", `0 0 ${Triangle.WIDTH} ${Triangle.HEIGHT}`);
    for (const [key, { name: text }] of Object.entries(State.EXAMPLES)) {
      const button = Bars.element("button", "", text);
      button.type = "button";
      button.dataset.example = key;
      button.addEventListener("click", () => glide(State.fromExample(key)));
      byId("examples").append(button);
    }
    for (const [key, text] of Object.entries(CredalSets.KINDS)) byId("set").append(new Option(text, key));
    byId("set").addEventListener("change", (event) => show(changed({ set: event.target.value })));
    byId("radius").addEventListener("input", (event) => show(changed({ radius: Number(event.target.value) })));
    for (const button of all("[data-lens]")) button.addEventListener("click", () => setLens(button.dataset.lens));
    byId("add").addEventListener("click", () => add());
    byId("remove").addEventListener("click", () => remove());
    byId("triangle").addEventListener("dblclick", (event) => {
      if (event.target.closest("#handles")) return;
      add(Triangle.toDistribution(Triangle.position(byId("triangle"), event)));
    });
    byId("fewer").addEventListener("click", () => show(State.withClasses(state, state.classes.length - 1)));
    byId("more").addEventListener("click", () => show(State.withClasses(state, state.classes.length + 1)));
    byId("all-classes").addEventListener("click", () => { everyClass = !everyClass; draw(); });
    byId("edit").addEventListener("submit", edit);
    for (const card of all("[data-card]")) {
      card.addEventListener("pointerenter", () => isolate(card.dataset.card));
      card.addEventListener("pointerleave", () => isolate());
      card.querySelector("button")?.addEventListener("click", () => {
        const key = alone === card.dataset.card ? null : card.dataset.card;
        if (lens !== "distances") setLens("distances");
        alone = key;
        isolate();
      });
    }
    addEventListener("hashchange", () => show(restore(), true));
    connectRows();
    connectTheme();
  }

  function edit(event) {
    event.preventDefault();
    const problem = byId("problem");
    try {
      const members = State.parse(byId("text").value), K = members[0].length;
      const classes = K === state.classes.length ? state.classes : members[0].map((_, y) => String(y));
      byId("text").blur();
      show(State.make(members, classes, { set: K === 3 ? state.set : "hull", radius: state.radius, moved: true }));
      problem.hidden = true;
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  }

  function connectRows() {
    const { rows } = data;
    byId("rows").hidden = !rows.length;
    if (!rows.length) return;
    const choice = byId("row");
    choice.append(new Option("Choose a row", ""));
    rows.forEach(({ id }, i) => choice.append(new Option(id, String(i))));
    const open = (i) => glide(State.fromRow(data, (i + rows.length) % rows.length));
    choice.addEventListener("change", () => open(Number(choice.value)));
    byId("previous").addEventListener("click", () => open((state.row ?? 0) - 1));
    byId("next").addEventListener("click", () => open((state.row ?? -1) + 1));
  }

  function connectTheme() {
    const root = document.documentElement, prefers = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefers.matches);
    const update = (theme) => {
      if (theme) root.dataset.theme = theme;
      byId("theme-name").textContent = isDark() ? "Light" : "Dark";
    };
    byId("theme").addEventListener("click", () => update(isDark() ? "light" : "dark"));
    prefers.addEventListener("change", () => update());
    // A page that shows the explorer in a frame sends its own theme.
    addEventListener("message", ({ data: sent }) => { if (["light", "dark"].includes(sent?.theme)) update(sent.theme); });
    update();
  }

  /** In the frame of another page: without headings, and with a height that the page can set. */
  function connectFrame() {
    if (window.parent === window) return;
    document.body.classList.add("framed");
    new ResizeObserver(([{ target }]) => parent.postMessage({ height: target.offsetHeight }, "*")).observe(document.body);
  }

  connectFrame();
  connect();
  show(restore(), true); // nothing changed that is to be announced
  setLens("distances");
  return { show: (members, classes = null, extra = {}) => show(State.make(members, classes ?? members[0].map((_, y) => String(y)), extra)) };
})();
