// What can be completed at a place of the text of a loop, by the words that the schema has.

const key = /^(\s*(?:- )*)("[^"]*"|'[^']*'|[^\s#:][^:#]*?)\s*:(?:\s|$)/;

// above returns the keys that a line with an indentation stands below, outermost first.
function above(lines, indent) {
  const path = [];
  for (let i = lines.length - 1; i >= 0 && indent > 0; i--) {
    const m = key.exec(lines[i]);
    if (m && m[1].length < indent) {
      path.unshift(m[2].replace(/^["']|["']$/g, ""));
      indent = /- $/.test(m[1]) ? m[1].indexOf("-") + 1 : m[1].length;
    }
  }
  return path;
}

const follow = (word, words) => (word && word.of && words[word.of] ? { ...words[word.of], ...word, of: undefined, keys: { ...words[word.of].keys, ...word.keys }, values: word.values ?? words[word.of].values, any: word.any ?? words[word.of].any } : word);

// at returns the word of a path; undefined where the schema says nothing.
function at(path, words) {
  let word = words[""];
  for (const name of path) {
    word = follow(word, words);
    word = word && (word.keys?.[name] ?? word.any);
    if (!word) return undefined;
  }
  return follow(word, words);
}

// states are the names of the states of a text.
function states(lines) {
  const from = lines.findIndex((line) => /^states:/.test(line));
  const names = [];
  let indent = 0;
  for (const line of from < 0 ? [] : lines.slice(from + 1)) {
    const m = key.exec(line);
    if (/^\S/.test(line) && !line.startsWith("#")) break;
    if (!m) continue;
    indent ||= m[1].length;
    if (m[1].length === indent) names.push(m[2].replace(/^["']|["']$/g, ""));
  }
  return names;
}

const leads = (path) => /^(next|initial|on_[a-z_]+)$/.test(path.at(-1)) && path.at(-1) !== "on_handoff" || path.at(-2) === "route";

export function offers(text, pos, explicit, words) {
  const lines = text.slice(0, pos).split("\n");
  const line = lines.pop();
  const value = key.exec(line + " ");
  if (value && /:\s+\S*$/.test(line)) {
    const name = value[2].replace(/^["']|["']$/g, "");
    const path = [...above(lines, value[1].length), name];
    const list = leads(path) ? states(text.split("\n")) : at(path, words)?.values;
    const from = pos - /\S*$/.exec(line)[0].length;
    return list?.length ? { from, options: list.map((label) => ({ label, type: "constant" })), validFor: /^[\w.-]*$/ } : null;
  }
  const begun = /^(\s*(?:- )*)([\w.-]*)$/.exec(line);
  if (!begun || !begun[2] && !explicit) return null;
  const word = at(above(lines, begun[1].length), words);
  const options = Object.entries(word?.keys ?? {}).map(([label, of]) => ({ label, type: "property", info: of.about, apply: label + ": " }));
  return options.length ? { from: pos - begun[2].length, options, validFor: /^[\w.-]*$/ } : null;
}
