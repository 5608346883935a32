// A page that a server gave: it follows the clock of the run that is served, and says when it shows what is no longer so.

import { byId, el, fill } from "./dom.js";
import { counted } from "./format.js";

/** How often the clock is asked, in milliseconds. */
const PERIOD_MS = 1000;

/**
 * Asks the server where time stands, now and then. The page moves along as long as nobody takes the instant in hand.
 * @param {import("./view.js").View} view
 */
export function followServer(view) {
  const line = byId("whatif-server");
  let follows = true;
  /** @type {number | null} How many requests the page knows of */
  let known = null;
  let at = view.time;
  const box = el("input", { type: "checkbox", id: "whatif-follow" });
  box.checked = true;
  box.addEventListener("change", () => { follows = box.checked; });
  view.on("time", () => {
    // Somebody else than this has moved it.
    if (view.time !== at && follows) follows = box.checked = false;
  });
  const text = el("span", { role: "status" });
  const again = el("button", { class: "quiet", hidden: true, onclick: () => location.reload() }, "Show it");
  fill(line, el("label", {}, box, " follow the server"), " ", text, " ", again);
  line.hidden = false;
  const ask = async () => {
    try {
      const answer = await fetch("/kubesquall/v1/clock");
      if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
      const clock = await answer.json();
      known ??= clock.requests;
      const more = clock.requests - Number(known);
      text.textContent = `It stands at ${clock.now}, speed ${clock.speed}${more === 0 ? "" : `; clients have ${more > 0 ? `done ${counted(more, "thing")} more` : "gone back"} since this page was made`}`;
      again.hidden = more === 0;
      if (follows) {
        at = Math.min(view.end, Math.round(clock.nowSeconds * 1000));
        if (at !== view.time) view.seek(at);
      }
    } catch (error) {
      text.textContent = `The server is not heard: ${error instanceof Error ? error.message : String(error)}`;
    }
    setTimeout(ask, PERIOD_MS);
  };
  void ask();
}
