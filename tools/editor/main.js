// Makes an editor of the text of a loop: completion from the schema of loop files, and what the linter finds, at its lines. The form around
// it works without this script; its text area stays what is sent.
import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, linter, lintKeymap } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { offers } from "./offers.js";

const nonce = document.currentScript.nonce;
const area = document.getElementById("text");
const form = area.form;

const theme = EditorView.theme({
  "&": { border: "1px solid var(--edge)", borderRadius: "7px", backgroundColor: "var(--card)", color: "var(--ink)", fontSize: "12.5px" },
  "&.cm-focused": { outline: "2px solid var(--link)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", maxHeight: "70vh", overflow: "auto", minHeight: "300px" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--soft)", color: "var(--dim)", border: "0" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--soft) 60%, transparent)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { backgroundColor: "var(--runbg)" },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--ink)", border: "1px solid var(--edge)", borderRadius: "7px", maxWidth: "min(60ch, 92vw)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--runbg)", color: "var(--run)" },
  ".cm-completionDetail": { color: "var(--dim)", fontStyle: "normal" },
  ".cm-completionInfo": { fontFamily: "system-ui, sans-serif" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", fontFamily: "system-ui, sans-serif" },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--link)" },
  { tag: tags.comment, color: "var(--dim)", fontStyle: "italic" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--ok)" },
  { tag: [tags.keyword, tags.bool, tags.null, tags.number], color: "var(--wait)" },
  { tag: [tags.labelName, tags.typeName], color: "var(--run)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

// findings asks the server what is wrong with the text.
async function findings(view) {
  const text = view.state.doc;
  const answer = await fetch(form.dataset.check, {
    method: "POST", credentials: "same-origin", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ text: text.toString() }),
  });
  if (!answer.ok) return [];
  return (await answer.json()).filter((f) => f.line > 0).map((f) => {
    const line = text.line(Math.min(f.line, text.lines));
    const from = Math.min(line.from + Math.max(0, f.column - 1), line.to);
    const word = /^[^\s:,\]}]+/.exec(line.text.slice(from - line.from));
    return { from, to: from + (word ? word[0].length : 0), severity: f.severity === "error" ? "error" : "warning", message: f.message, source: f.rule };
  });
}

let words;
async function complete(context) {
  words ??= fetch(form.dataset.words, { credentials: "same-origin" }).then((answer) => answer.json());
  return offers(context.state.doc.toString(), context.pos, context.explicit, await words);
}

const view = new EditorView({
  state: EditorState.create({
    doc: area.value,
    extensions: [
      EditorView.cspNonce.of(nonce), lineNumbers(), foldGutter(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), closeBrackets(),
      indentUnit.of("  "), EditorState.tabSize.of(2), yaml(), syntaxHighlighting(colours), theme, EditorView.lineWrapping,
      autocompletion({ override: [complete] }), lintGutter(), linter(findings, { delay: 400 }),
      EditorView.contentAttributes.of({ "aria-label": area.labels[0].querySelector("span").textContent, tabindex: "0" }),
      keymap.of([{ key: "Mod-s", run: () => { form.requestSubmit(); return true; } }, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
    ],
  }),
});
area.labels[0].hidden = true;
area.labels[0].after(view.dom);

let sent = false;
form.addEventListener("submit", () => { area.value = view.state.doc.toString(); sent = true; });
addEventListener("beforeunload", (e) => { if (!sent && view.state.doc.toString() !== area.defaultValue) e.preventDefault(); });
