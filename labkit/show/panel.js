// The picture of a panel: draws its spec with plotly, and names what a screen reader meets.
//
// plotly's own FigureWidget sends 5 MB of script with every figure, and anywidget gives a script 2 seconds to
// start before it drops all later messages to that widget; on a busy machine figures then stay blank. This file
// starts at once. plotly.js comes once a page, in a message of its own, and is not part of a saved notebook.

const library = (window.labkitPlotly ??= { ready: null, resolve: null });
library.ready ??= new Promise((resolve) => (library.resolve = resolve));

function load(source) {
  if (!library.resolve) return;
  const resolve = library.resolve;
  library.resolve = null;
  const before = window.Plotly;
  const script = document.createElement("script");
  script.src = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  script.onload = () => {
    const loaded = window.Plotly;
    if (before) window.Plotly = before;
    resolve(loaded);
  };
  document.head.appendChild(script);
}

function initialize({ model }) {
  model.on("msg:custom", (message, buffers) => {
    if (message.library) load(buffers[0]);
  });
}

function render({ model, el }) {
  let plotly = null;
  let drawing = Promise.resolve();
  const plot = document.createElement("div");
  plot.style.width = "100%";
  plot.style.height = `${model.get("spec").layout?.height ?? model.get("height")}px`;
  el.style.width = "100%";
  el.appendChild(plot);

  const draw = () => {
    if (!plotly) return;
    const { data, layout } = structuredClone(model.get("spec"));
    const config = { displayModeBar: false, responsive: false, doubleClick: "reset" };
    drawing = drawing.then(() => plotly.react(plot, data, layout, config)).then(listen).catch(console.error);
  };
  // A trace whose meta names controls moves them when one of its points is clicked. The same can be done from the
  // keyboard with the controls themselves.
  let listens = false;
  let clicks = 0;
  const listen = () => {
    if (listens) return;
    listens = true;
    plot.on("plotly_click", (event) => {
      const point = event.points.find((one) => one.data.meta?.controls);
      if (!point) return;
      const values = Object.entries(point.data.meta.controls).map(([control, key]) => [control, point[key]]);
      model.set("clicked", { ...Object.fromEntries(values), "": ++clicks });
      model.save_changes();
    });
  };
  const name = () => {
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", model.get("alt"));
    const panel = el.closest(".labkit-panel");
    if (!panel) return;
    for (const [kind, text] of Object.entries(model.get("labels")))
      for (const handle of panel.querySelectorAll(`.labkit-slider-${kind} .noUi-handle`))
        if (handle.getAttribute("aria-label") !== text) handle.setAttribute("aria-label", text);
    // JupyterLab takes the arrow keys for its cells unless a list asks it not to.
    for (const list of panel.querySelectorAll("select")) list.setAttribute("data-lm-suppress-shortcuts", "true");
    for (const more of panel.querySelectorAll(".labkit-more"))
      more.setAttribute("aria-expanded", more.classList.contains("mod-active"));
    for (const words of panel.querySelectorAll(".labkit-words:not([role])")) {
      words.setAttribute("role", "status");
      words.setAttribute("aria-live", "polite");
    }
  };

  model.on("change:spec", draw);
  model.on("change:alt", name);
  // Sliders under "more" are made later than the figure, so look again while the panel settles.
  const naming = setInterval(name, 500);
  const asking = setTimeout(() => {
    if (library.resolve) model.send({ ask: "library" });
  }, 4000);
  const size = new ResizeObserver(() => {
    if (plotly && plot.offsetWidth && plot.data) plotly.Plots.resize(plot);
  });
  size.observe(el);
  name();
  library.ready.then((loaded) => {
    plotly = loaded;
    draw();
  });
  return () => {
    clearInterval(naming);
    clearTimeout(asking);
    size.disconnect();
    if (plotly) plotly.purge(plot);
  };
}

export default { initialize, render };
