import assert from "node:assert/strict";
import test from "node:test";
import { offers } from "./offers.js";

const words = {
  "": { keys: { name: {}, initial: {}, states: { any: { of: "state" } }, budget: { of: "budget" } } },
  state: { keys: { action: {}, next: {}, terminal: { values: ["false", "true"] }, evaluate: { of: "evaluate" }, route: {} } },
  evaluate: { keys: { type: { values: ["exit_code", "jq"] }, source: {} } },
  budget: { keys: { cost_usd: {} } },
};
const labels = (text, explicit = true) => offers(text.replace("¦", ""), text.indexOf("¦"), explicit, words)?.options.map((o) => o.label).join(" ");
const loop = "name: x\nstates:\n  one:\n    action: echo\n    next: ¦\n  two:\n    terminal: true\n";

test("keys and values are offered where they may stand", () => {
  for (const [text, want] of [
    ["na¦", "name initial states budget"],
    ["¦", "name initial states budget"],
    ["states:\n  one:\n    ac¦", "action next terminal evaluate route"],
    ["states:\n  one:\n    action: |\n      echo\n    te¦", "action next terminal evaluate route"],
    ["states:\n  one:\n    evaluate:\n      type: ¦", "exit_code jq"],
    ["states:\n  one:\n    evaluate:\n      so¦", "type source"],
    ["states:\n  one:\n    terminal: t¦", "false true"],
    ["budget:\n  co¦", "cost_usd"],
    ["states:\n  on¦", undefined],
    ["states:\n  one:\n    action: ec¦", undefined],
    [loop, "one two"],
    ["initial: ¦\nstates:\n  one: {}\n", "one"],
    ["states:\n  one:\n    route:\n      yes: ¦\n  two: {}", "one two"],
    ["# na¦", undefined],
  ]) assert.equal(labels(text), want, text);
  assert.equal(labels("states:\n  one:\n    ¦", false), undefined, "nothing is offered unasked on an empty line");
});
