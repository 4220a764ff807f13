#!/usr/bin/env node
// Counts words, makes tables of contents, extracts tables, finds duplicate lines.

import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const USAGE = "usage: text.mjs stats|toc|tables|twice FILE|- [--json] [--top N]";
const SHORT_WORDS = new Set("a an and are as at be by for from in is it of on or that the to was with".split(" "));

class Problem extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function* linesOf(path) {
  let input = process.stdin;
  if (path !== "-") {
    const handle = await open(path).catch((error) => {
      throw new Problem(1, `cannot read '${path}': ${error.code}`);
    });
    if ((await handle.stat()).isDirectory()) {
      await handle.close();
      throw new Problem(1, `'${path}' is a folder`);
    }
    await handle.close();
    input = createReadStream(path, { encoding: "utf8" });
  }
  yield* createInterface({ input, crlfDelay: Infinity });
}

async function stats(path, { json, top }) {
  const counts = new Map();
  const result = { lines: 0, words: 0, characters: 0, longest: 0 };
  for await (const line of linesOf(path)) {
    const length = [...line].length;
    result.lines += 1;
    result.characters += length;
    result.longest = Math.max(result.longest, length);
    for (const [word] of line.toLowerCase().matchAll(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu)) {
      result.words += 1;
      if (!SHORT_WORDS.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  const byCount = ([a, n], [b, m]) => m - n || (a < b ? -1 : 1);
  result.frequent = [...counts].sort(byCount).slice(0, top).map(([word, count]) => ({ word, count }));
  if (json) return console.log(JSON.stringify(result, null, 2));
  console.log(`lines ${result.lines}, words ${result.words}, characters ${result.characters}, longest line ${result.longest}`);
  for (const { word, count } of result.frequent) console.log(`${String(count).padStart(5)}  ${word}`);
}

/** The lines of a Markdown file that are not in code blocks. */
async function* proseOf(path) {
  let fence = null;
  for await (const line of linesOf(path)) {
    const mark = line.match(/^\s*(```+|~~~+)/)?.[1];
    if (mark && fence === null) fence = mark;
    else if (mark && mark.startsWith(fence)) fence = null;
    else if (fence === null) yield line;
  }
}

function slugOf(title, used) {
  const base = title.toLowerCase().replace(/[^\p{L}\p{N}\s-]/gu, "").trim().replace(/\s+/g, "-");
  const n = used.get(base) ?? 0;
  used.set(base, n + 1);
  return n === 0 ? base : `${base}-${n}`;
}

async function toc(path, { json }) {
  const used = new Map();
  const headings = [];
  for await (const line of proseOf(path)) {
    const found = line.match(/^(#{1,6})\s+(.*?)\s*#*\s*$/);
    if (found) headings.push({ level: found[1].length, title: found[2], slug: slugOf(found[2], used) });
  }
  if (json) return console.log(JSON.stringify(headings, null, 2));
  const least = Math.min(...headings.map(({ level }) => level));
  for (const { level, title, slug } of headings) {
    console.log(`${"  ".repeat(level - least)}- [${title}](#${slug})`);
  }
}

function cellsOf(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

async function tables(path) {
  const all = [];
  let previous = null;
  let current = null;
  for await (const line of proseOf(path)) {
    if (/^\s*\|?[\s:|-]*-[\s:|-]*\|?\s*$/.test(line) && previous?.includes("|")) {
      current = { columns: cellsOf(previous), rows: [] };
      all.push(current);
    } else if (current && line.includes("|")) {
      const cells = cellsOf(line);
      current.rows.push(Object.fromEntries(current.columns.map((name, i) => [name, cells[i] ?? ""])));
    } else {
      current = null;
    }
    previous = line;
  }
  console.log(JSON.stringify(all.map(({ rows }) => rows), null, 2));
}

async function twice(path, { json }) {
  const seen = new Map();
  let number = 0;
  for await (const line of linesOf(path)) {
    number += 1;
    const text = line.trim();
    if (text === "") continue;
    if (!seen.has(text)) seen.set(text, []);
    seen.get(text).push(number);
  }
  const repeated = [...seen].filter(([, lines]) => lines.length > 1).map(([text, lines]) => ({ text, lines }));
  if (json) return console.log(JSON.stringify(repeated, null, 2));
  for (const { text, lines } of repeated) console.log(`${lines.join(",")}: ${text}`);
}

async function main() {
  const commands = { stats, toc, tables, twice };
  const options = { json: { type: "boolean" }, top: { type: "string", default: "5" } };
  let parsed;
  try {
    parsed = parseArgs({ options, allowPositionals: true });
  } catch (error) {
    throw new Problem(2, `${error.message}\n${USAGE}`);
  }
  const [name, path, ...more] = parsed.positionals;
  const top = Number(parsed.values.top);
  if (!Object.hasOwn(commands, name ?? "") || path === undefined || more.length > 0 || !(top >= 0)) {
    throw new Problem(2, USAGE);
  }
  await commands[name](path, { json: parsed.values.json, top });
}

main().catch((error) => {
  console.error(`error: ${error.message}`);
  process.exitCode = error instanceof Problem ? error.code : 1;
});
