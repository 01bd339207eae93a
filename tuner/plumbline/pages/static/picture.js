// Draws each figure that names a specification, in place of the picture that the server made. Without
// this script, and where it fails, that picture stays.
"use strict";

const LITTLE_ROOM = 640;  // pixels, as in the stylesheet
const LETTER = 6.8;  // pixels of a letter in a label, on average
const LINE = 14;  // pixels from a line of a label to the next
const DARK = matchMedia("(prefers-color-scheme: dark)");
const ON_DARK = {
  "#0072b2": "#6db5ee", "#d55e00": "#f29a52", "#007a5a": "#4cc79e", "#b0508c": "#e394c4",
  "#8a6d00": "#d9b84a", "#3b3b3b": "#c4ccd3", "#1f8fc4": "#8bd0f5", "#a33b00": "#ff9f75",
  "#1b6ca8": "#6db5ee", "#d1761f": "#f29a52", "#b8b8b8": "#5b6670", "#222222": "#d5dbe0",
  "#5b87ad": "#7fa9cd", "#9dbcd6": "#42617c", "#8a3b12": "#f2a57c", "#a33b12": "#ef8a61",
  "#2f6f9f": "#6db5ee", "#555": "#a3adb6",
};

for (const figure of document.querySelectorAll("figure[data-picture]")) {
  const start = () =>
    draw(figure).catch((error) => { figure.dataset.drawn = "no"; console.warn(String(error)); });
  const folded = figure.closest("details:not([open])");
  if (folded) folded.addEventListener("toggle", start, { once: true });  // there it has no width
  else start();
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
// panels of rows are as wide as their place, with the names of rows in as many lines as they need.
function fitted(specification, width) {
  const fit = structuredClone(specification);
  const most = Math.max(280, width);
  const little = most < LITTLE_ROOM;
  if (little && typeof fit.title?.text === "string") fit.title.text = fit.title.text.split(", ");
  if (fit.concat || fit.facet) return inColumns(fit, most);
  if (fit.vconcat?.every((panel) => panel.height?.step)) {
    fit.padding = 5;
    const room = Math.max(...fit.vconcat.map((panel) => roomFor(namesOf(panel), most)));
    fit.vconcat.forEach((panel) => inRows(panel, most, room));
    return fit;
  }
  if (!Number.isInteger(specification.width)) return fit;
  if (Number.isInteger(specification.height)) {
    fit.autosize = { type: "fit", contains: "padding" };
    fit.width = most;
    if (!little) fit.height = Math.round(Math.max(fit.height, most * 0.4));
    const legend = fit.encoding.color.legend;
    legend.labelLimit = most - 60;
    if (little) {
      const texts = fit.encoding.color.scale.domain;
      const lines = inLines(texts, most - 60);
      legend.labelExpr = `(${JSON.stringify(lines)})[datum.label]`;
      const added = texts.map((text) => lines[text].length - 1).reduce((all, each) => all + each, 0);
      fit.height += LINE * added;
      legend.rowPadding = 5;
    }
  } else {
    inRows(fit, most, roomFor(namesOf(fit), most));
  }
  return fit;
}

// The names of the rows of a panel.
function namesOf(panel) {
  return [...new Set(panel.data.values.map((value) => value[panel.encoding.y.field]))];
}

function roomFor(names, most) {
  const longest = Math.max(...names.map((name) => name.length)) * LETTER;
  return Math.min(longest + 20, Math.round(most * (most < LITTLE_ROOM ? 0.5 : 0.4)));
}

// A row for each name, which has `room` pixels of the width.
function inRows(panel, most, room) {
  const names = namesOf(panel);
  const lines = inLines(names, room);
  const deepest = Math.max(...names.map((name) => lines[name].length));
  panel.width = Math.round(most - room - 40);
  panel.encoding.y.axis = { ...panel.encoding.y.axis, labelLimit: room + 20,
                            labelExpr: `(${JSON.stringify(lines)})[datum.label]` };
  const bars = panel.encoding.yOffset ? 2 : 1;
  panel.height.step = Math.max(panel.height.step, Math.ceil((deepest * LINE + 4) / bars));
  const color = panel.encoding.color;
  if (color) color.legend = { ...color.legend, orient: "bottom" };
}

// By text its lines, cut behind ", ", ":" and "_" so that none is longer than so many pixels where
// there is such a place.
function inLines(texts, most) {
  const broken = (text) => {
    const lines = [""];
    for (const part of text.split(/(?<=, |[:_])/)) {
      if (lines.at(-1) && (lines.at(-1) + part.trimEnd()).length * LETTER > most) lines.push("");
      lines[lines.length - 1] += part;
    }
    return lines.map((line) => line.trimEnd());
  };
  return Object.fromEntries(texts.map((text) => [text, broken(text)]));
}

function inColumns(fit, most) {
  const room = Math.max(1, Math.floor(most / 420));
  const columns = Math.min(room, fit.concat?.length ?? room);
  const width = Math.floor(most / columns) - 75;
  if (room === 1) onePerLine(fit);
  if (typeof fit.title?.subtitle === "string") {
    fit.title.subtitle = inLines([fit.title.subtitle], most)[fit.title.subtitle];
  }
  if (fit.facet) {
    fit.columns = columns;
    fit.spec.width = width;
    return fit;
  }
  const rows = [];
  fit.concat.forEach((panel, place) => {
    panel.width = width;
    if (columns < room) panel.height = Math.round(Math.max(panel.height, width * 0.3));
    if (place % columns === 0) rows.push({ hconcat: [] });
    rows.at(-1).hconcat.push(panel);
  });
  delete fit.concat;
  delete fit.columns;
  return { ...fit, vconcat: rows };
}

// Legends in one column, wherever they are in a specification.
function onePerLine(part) {
  if (part.legend) part.legend.columns = 1;
  for (const inner of Object.values(part)) if (inner && typeof inner === "object") onePerLine(inner);
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
    axis: { ...words, labelSeparation: 8, gridColor: line, domainColor: line, tickColor: line },
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

// What was zoomed with the wheel or moved by dragging goes back to where it was.
function addReset(figure, show) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Reset zoom";
  button.addEventListener("click", show);
  figure.querySelector("figcaption").before(button);
}
