// Writes the editor into ../../internal/web/assets, with the licences of what is in it.
import { build } from "esbuild";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const to = "../../internal/web/assets/";
const made = await build({
  entryPoints: ["main.js"], outfile: to + "editor.js", bundle: true, minify: true, format: "iife", target: "es2022", charset: "utf8", legalComments: "none", metafile: true,
  banner: { js: "// Made by tools/editor (npm ci && npm run build); the licences of what is in it: editor.LICENSE.txt." },
});
const names = new Set();
for (const input of Object.keys(made.metafile.inputs)) {
  const m = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (m) names.add(m[1]);
}
let text = "internal/web/assets/editor.js holds these packages of npm.\n";
for (const name of [...names].sort()) {
  const folder = "node_modules/" + name, about = JSON.parse(readFileSync(folder + "/package.json", "utf8"));
  const file = readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
  if (!file) throw new Error(name + " has no licence");
  text += `\n${"=".repeat(80)}\n${name} ${about.version} (${about.license})\n\n${readFileSync(folder + "/" + file, "utf8").trim()}\n`;
}
writeFileSync(to + "editor.LICENSE.txt", text);
