// Messages at the foot of the page.
import {h, button} from "./html.js";

/** Said at the foot of the page for a while; errors until they are closed. */
export function say(text, kind = "note") {
  const toast = h("div", {class: `toast ${kind}`, role: kind === "error" ? "alert" : null}, h("span", null, text),
    button("×", () => toast.remove(), {"aria-label": "Close the message", class: "plain"}));
  document.getElementById("toasts").append(toast);
  if (kind !== "error")
    setTimeout(() => toast.remove(), 6000);
}
