// Draws each figure that names a specification, in place of the picture that the server made. Without
// this script, and where it fails, that picture stays.
"use strict";

const LITTLE_ROOM = 640;  // pixels, as in the stylesheet

for (const figure of document.querySelectorAll("figure[data-picture]")) {
  draw(figure).catch((error) => { figure.dataset.drawn = "no"; console.warn(String(error)); });
}

async function draw(figure) {
  const specification = await specified(figure);
  const image = figure.querySelector("img");
  const place = document.createElement("div");
  place.className = "sheet";
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", image.alt);
  // Expressions are interpreted: the policy of these pages lets nothing be evaluated.
  const options = { actions: false, ast: true, defaultStyle: false, renderer: "svg",
                    tooltip: { disableDefaultStyle: true } };
  image.before(place);
  const show = () => window.vegaEmbed(place, fitted(specification, place.clientWidth), options);
  try {
    await show();
  } catch (error) {
    place.remove();
    throw error;
  }
  image.remove();
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

// A single picture is as wide as its place; panels of rows are made narrower where there is little
// room; others stay as they are, and are scrolled.
function fitted(specification, width) {
  const fit = structuredClone(specification);
  const most = Math.max(280, Math.min(width, 900));
  if (most < LITTLE_ROOM && fit.vconcat?.every((panel) => panel.height?.step)) {
    fit.padding = 5;
    fit.vconcat.forEach((panel) => narrow(panel, most));
  }
  if (!Number.isInteger(specification.width)) return fit;
  if (Number.isInteger(specification.height)) {
    fit.autosize = { type: "fit", contains: "padding" };
    fit.width = most;
    fit.encoding.color.legend.labelLimit = most - 60;
  } else {  // a row for each name, which takes its part of the width
    fit.width = Math.round(most * 0.55);
    fit.encoding.y.axis.labelLimit = Math.round(most * 0.4);
    if (most < LITTLE_ROOM) fit.title.text = fit.title.text.split(", ");
  }
  return fit;
}

function narrow(panel, most) {
  panel.width = Math.round(most * 0.5);
  panel.encoding.y.axis = { ...panel.encoding.y.axis, labelLimit: Math.round(most * 0.38) };
  const color = panel.encoding.color;
  if (color) color.legend = { ...color.legend, orient: "bottom" };
}

// What was zoomed with the wheel or moved by dragging goes back to where it was.
function addReset(figure, show) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Show all of it";
  button.addEventListener("click", show);
  figure.querySelector("figcaption").before(button);
}
