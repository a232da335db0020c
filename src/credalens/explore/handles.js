"use strict";
/** Movable points of the ternary plot, by pointer and by keyboard. */
const Handles = (() => {
  const STEP = 0.01;
  const ARROWS = {
    ArrowRight: [-1, 1, 0], ArrowLeft: [1, -1, 0], ArrowUp: [-0.5, -0.5, 1], ArrowDown: [0.5, 0.5, -1],
  };

  /**
   * Keep one element per member in `group`. `actions`: describe(m), select(m), member(m), move(m, p),
   * remove(m), and done() after a movement.
   */
  function update(group, state, actions) {
    if (!group.dataset.connected) connect(group, actions);
    while (group.children.length > state.members.length) group.lastChild.remove();
    while (group.children.length < state.members.length) group.append(create(group.children.length, actions));
    const many = state.members.length > 12;
    state.members.forEach((p, m) => {
      const element = group.children[m], [x, y] = Triangle.toPlane(p);
      element.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
      element.setAttribute("aria-label", actions.describe(m));
      element.classList.toggle("selected", m === state.selected);
      element.classList.toggle("many", many);
      element.lastChild.textContent = many ? "" : m + 1;
    });
  }

  function create(m, actions) {
    const element = Triangle.svg("g", { class: "handle", tabindex: 0, role: "button", "aria-roledescription": "movable point" },
      Triangle.svg("circle", { r: 24, class: "touch" }), Triangle.svg("circle", { r: 11.5, class: "dot" }),
      Triangle.svg("text", { y: 4.5 }));
    element.addEventListener("focus", () => actions.select(m));
    element.addEventListener("keydown", (event) => {
      if (event.key in ARROWS) {
        const step = event.shiftKey ? 10 * STEP : STEP, p = actions.member(m);
        actions.move(m, p.map((value, y) => value + step * ARROWS[event.key][y]));
        actions.done();
      } else if (event.key === "Delete" || event.key === "Backspace") {
        actions.remove(m);
      } else return;
      event.preventDefault();
    });
    return element;
  }

  /** Pointers move the point that is nearest to them, also where the areas of points overlap. */
  function connect(group, actions) {
    group.dataset.connected = "true";
    let dragged = null;
    // The page does not scroll while a point is moved; touch-action does not apply to parts of SVG images.
    group.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    group.addEventListener("pointerdown", (event) => {
      if (event.button || dragged) return;
      const at = Triangle.position(group.ownerSVGElement, event);
      const apart = [...group.children].map((_, m) => {
        const [x, y] = Triangle.toPlane(actions.member(m));
        return Math.hypot(x - at[0], y - at[1]);
      });
      const m = apart.indexOf(Math.min(...apart)), [x, y] = Triangle.toPlane(actions.member(m));
      dragged = { m, pointer: event.pointerId, offset: [x - at[0], y - at[1]] };
      group.setPointerCapture(event.pointerId);
      group.children[m].focus({ preventScroll: true });
      actions.select(m);
      event.preventDefault();
    });
    group.addEventListener("pointermove", (event) => {
      if (dragged?.pointer !== event.pointerId) return;
      const [x, y] = Triangle.position(group.ownerSVGElement, event);
      actions.move(dragged.m, Triangle.toDistribution([x + dragged.offset[0], y + dragged.offset[1]]));
    });
    for (const name of ["pointerup", "pointercancel"]) {
      group.addEventListener(name, (event) => {
        if (dragged?.pointer !== event.pointerId) return;
        dragged = null;
        actions.done();
      });
    }
  }

  return { update };
})();
