import { html } from "./dom.mjs";
import "./challenge.css";

/** The task with which every explorable begins, from its trait `challenge`: the first thing in it. */
export function challenge(model) {
  const lead = html("b", {}, "Try it:");
  return html("p", { class: "attn-challenge attn-control" }, lead, " ", model.get("challenge"));
}
