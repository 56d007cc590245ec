// A picture that can be made larger and smaller, moved by hand, by wheel and by keys, and fitted into its frame.
const ZOOMS = [0.25, 0.35, 0.5, 0.7, 0.85, 1, 1.25, 1.5, 2, 3, 4];

function zoomable(label) {
  const frame = el("div", { class: "frame", tabindex: "0", role: "group", "aria-label": `${label} Arrow keys move it, plus and minus zoom, 0 fits it, 1 shows it in its own size.` });
  const shown = el("span", { class: "scale", "aria-hidden": "true" }, "100 %");
  let picture = null, scale = 1, fitted = false;

  function apply(next, at) {
    if (!picture) return;
    const before = scale;
    scale = Math.min(ZOOMS.at(-1), Math.max(ZOOMS[0], next));
    const box = picture.viewBox.baseVal, x = at ? at.x : frame.clientWidth / 2, y = at ? at.y : frame.clientHeight / 2;
    const left = (frame.scrollLeft + x) / before, top = (frame.scrollTop + y) / before;
    picture.setAttribute("width", box.width * scale);
    picture.setAttribute("height", box.height * scale);
    frame.classList.toggle("zoomed", scale !== 1);
    frame.scrollLeft = left * scale - x;
    frame.scrollTop = top * scale - y;
    shown.textContent = `${Math.round(scale * 100)} %`;
  }
  const change = (next, at) => { fitted = false; apply(next, at); };
  const larger = (at) => change(ZOOMS.find((zoom) => zoom > scale * 1.01) ?? scale, at);
  const smaller = (at) => change(ZOOMS.findLast((zoom) => zoom < scale * 0.99) ?? scale, at);
  function fit() {
    if (!picture) return;
    const box = picture.viewBox.baseVal;
    apply(Math.min(1, frame.clientWidth / box.width, Math.max(280, innerHeight * 0.7) / box.height));
    fitted = true;
  }

  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = { "+": () => larger(), "=": () => larger(), "-": () => smaller(), 0: fit, 1: () => change(1) }[event.key];
    if (action) { event.preventDefault(); action(); tell(); }
  });
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;  // the wheel alone scrolls
    event.preventDefault();
    const box = frame.getBoundingClientRect();
    change(scale * Math.exp(-event.deltaY / 300), { x: event.clientX - box.left, y: event.clientY - box.top });
  }, { passive: false });
  let held = null;
  frame.addEventListener("pointerdown", (event) => {
    if (event.button || event.pointerType === "touch" || event.target.closest(".more")) return;
    held = { x: event.clientX, y: event.clientY, left: frame.scrollLeft, top: frame.scrollTop };
    frame.setPointerCapture(event.pointerId);
    frame.classList.add("held");
  });
  frame.addEventListener("pointermove", (event) => {
    if (!held) return;
    frame.scrollLeft = held.left - (event.clientX - held.x);
    frame.scrollTop = held.top - (event.clientY - held.y);
  });
  for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, () => { held = null; frame.classList.remove("held"); });

  const tell = () => say(`The picture has ${shown.textContent} of its size`);
  const button = (text, title, run) => el("button", { type: "button", class: "quiet", "aria-label": title, title, on: { click: () => { run(); tell(); } } }, text);
  const tools = [button("−", "Smaller", () => smaller()), shown, button("+", "Larger", () => larger()), button("Fit", "Fit the picture into its frame", fit), button("1:1", "Its own size", () => change(1))];
  return {
    frame,
    tools,
    show(next) { picture = next; frame.replaceChildren(next); const kept = scale; scale = 1; if (fitted) fit(); else if (kept !== 1) apply(kept); },
  };
}
