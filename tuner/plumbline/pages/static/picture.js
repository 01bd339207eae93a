// Draws each figure that names a specification, in place of the picture that the server made. Without
// this script, and where it fails, that picture stays.
"use strict";

const LITTLE_ROOM = 640;  // pixels, as in the stylesheet
const WIDEST = 1000;  // of rows with names
const DARK = matchMedia("(prefers-color-scheme: dark)");
const ON_DARK = {
  "#0072b2": "#6db5ee", "#d55e00": "#f29a52", "#007a5a": "#4cc79e", "#b0508c": "#e394c4",
  "#8a6d00": "#d9b84a", "#3b3b3b": "#c4ccd3", "#1f8fc4": "#8bd0f5", "#a33b00": "#ff9f75",
  "#1b6ca8": "#6db5ee", "#d1761f": "#f29a52", "#b8b8b8": "#5b6670", "#222222": "#d5dbe0",
  "#5b87ad": "#7fa9cd", "#9dbcd6": "#42617c", "#8a3b12": "#f2a57c", "#a33b12": "#ef8a61",
  "#2f6f9f": "#6db5ee", "#555": "#a3adb6",
};

for (const figure of document.querySelectorAll("figure[data-picture]")) {
  draw(figure).catch((error) => { figure.dataset.drawn = "no"; console.warn(String(error)); });
}

async function draw(figure) {
  const specification = await specified(figure);
  const image = figure.querySelector("img");
  const place = document.createElement("div");
  place.className = "drawn";
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", image.alt);
  // Expressions are interpreted: the policy of these pages lets nothing be evaluated.
  const options = { actions: false, ast: true, defaultStyle: false, renderer: "svg",
                    tooltip: { disableDefaultStyle: true } };
  image.before(place);
  const show = () =>
    window.vegaEmbed(place, coloured(fitted(specification, place.clientWidth)), options);
  try {
    await show();
  } catch (error) {
    place.remove();
    throw error;
  }
  image.hidden = true;  // on paper it takes the place of what is drawn
  DARK.addEventListener("change", show);
  if (JSON.stringify(specification).includes('"bind":"scales"')) addReset(figure, show);
  figure.dataset.drawn = "yes";
  if (figure.scrollWidth > figure.clientWidth) figure.tabIndex = 0;  // so that keys scroll it
}

// A file that opens without a server carries the specification itself.
async function specified(figure) {
  const carried = figure.querySelector('script[type="application/json"]');
  if (carried) return JSON.parse(carried.textContent);
  const answer = await fetch(figure.dataset.picture, { credentials: "same-origin" });
  if (!answer.ok) throw new Error(`${figure.dataset.picture}: ${answer.status}`);
  return answer.json();
}

// A single picture is as wide as its place; panels stand in as many columns as there is room for;
// panels of rows are made narrower where there is little room.
function fitted(specification, width) {
  const fit = structuredClone(specification);
  const most = Math.max(280, width);
  if (fit.concat || fit.facet) return inColumns(fit, most);
  if (fit.vconcat?.every((panel) => panel.height?.step)) {
    if (most < LITTLE_ROOM) fit.padding = 5;
    fit.vconcat.forEach((panel) => narrow(panel, Math.min(most, WIDEST)));
  }
  if (!Number.isInteger(specification.width)) return fit;
  if (Number.isInteger(specification.height)) {
    fit.autosize = { type: "fit", contains: "padding" };
    fit.width = most;
    if (most > LITTLE_ROOM) fit.height = Math.round(Math.max(fit.height, most * 0.4));
    fit.encoding.color.legend.labelLimit = most - 60;
  } else {  // a row for each name, which takes its part of the width
    const names = Math.min(400, Math.round(most * 0.4));
    fit.width = Math.round(Math.min(most, WIDEST) - names - 15);
    fit.encoding.y.axis.labelLimit = names;
    if (most < LITTLE_ROOM) fit.title.text = fit.title.text.split(", ");
  }
  return fit;
}

function inColumns(fit, most) {
  const columns = Math.max(1, Math.floor(most / 420));
  const width = Math.floor(most / columns) - 75;
  if (fit.facet) {
    fit.columns = columns;
    fit.spec.width = width;
    return fit;
  }
  const rows = [];
  fit.concat.forEach((panel, place) => {
    panel.width = width;
    if (place % columns === 0) rows.push({ hconcat: [] });
    rows.at(-1).hconcat.push(panel);
  });
  delete fit.concat;
  delete fit.columns;
  return { ...fit, vconcat: rows };
}

// In the colours and letters of the page. Colours that are too dark for a dark page have others there.
function coloured(specification) {
  const named = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const [text, quiet, line] = ["--text", "--quiet", "--line"].map(named);
  const words = { labelColor: quiet, titleColor: quiet, labelFontSize: 12, titleFontSize: 12,
                  titleFontWeight: "normal" };
  const theme = {
    background: "transparent",
    font: getComputedStyle(document.body).fontFamily,
    axis: { ...words, gridColor: line, domainColor: line, tickColor: line },
    legend: words,
    header: { ...words, labelColor: text },
    title: { color: text, subtitleColor: quiet, fontSize: 13, fontWeight: 600, subtitleFontSize: 12 },
    text: { color: text },
  };
  let own = JSON.stringify(specification);
  if (DARK.matches) {
    own = own.replace(/"(#[0-9a-f]{3,6})"/g, (all, colour) => `"${ON_DARK[colour] ?? colour}"`);
  }
  const drawn = JSON.parse(own);
  const view = { ...drawn.config?.view, stroke: "transparent" };
  return { ...drawn, config: { ...drawn.config, ...theme, view } };
}

function narrow(panel, most) {
  panel.width = Math.round(most * (most < LITTLE_ROOM ? 0.5 : 0.62));
  panel.encoding.y.axis = { ...panel.encoding.y.axis, labelLimit: Math.round(most * 0.32) };
  const color = panel.encoding.color;
  if (color) color.legend = { ...color.legend, orient: "bottom" };
}

// What was zoomed with the wheel or moved by dragging goes back to where it was.
function addReset(figure, show) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Reset zoom";
  button.addEventListener("click", show);
  figure.querySelector("figcaption").before(button);
}
