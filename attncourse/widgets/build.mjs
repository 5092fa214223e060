// Makes bundles/: a module and a style sheet for every folder with a widget.mjs, and lib.mjs, all of lib/, for the
// tests. HASHES.json says what each was made of, so that Python can tell without Node whether the committed bundles
// are those of the committed sources (bundle.stale).
//
//   node build.mjs            write bundles/
//   node build.mjs --check    write nothing; fail where bundles/ is not what would be written

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build } from "esbuild";

const OPTIONS = {
  bundle: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  minify: true,
  metafile: true,
  write: false,
  outdir: "bundles",
  outExtension: { ".js": ".mjs" },
};
const TOOLS = ["build.mjs", "package-lock.json"]; // a bundle is made of these, too

process.chdir(import.meta.dirname);

function sha256(...parts) {
  return parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest("hex");
}

// esbuild leaves out functions that nobody calls, but takes the style of every module that is imported
function refuseUnusedStyles({ inputs, outputs }, name) {
  const used = outputs[`bundles/${name}.mjs`].inputs;
  for (const [path, { imports }] of Object.entries(inputs)) {
    const styled = imports.some((each) => each.path.endsWith(".css"));
    if (styled && !used[path]?.bytesInOutput) throw new Error(`${name} gets the style of ${path} and uses none of it`);
  }
}

async function bundle(name, entry) {
  const { outputFiles, metafile } = await build({ ...OPTIONS, ...entry });
  refuseUnusedStyles(metafile, name);
  const sources = [...Object.keys(metafile.inputs).filter((path) => path !== "<stdin>"), ...TOOLS].sort();
  const digest = sha256(...sources.flatMap((path) => [path, "\0", readFileSync(path), "\0"]));
  return { files: Object.fromEntries(outputFiles.map((file) => [basename(file.path), file.text])), sources, digest };
}

async function everything() {
  const made = {};
  const folders = readdirSync(".")
    .sort()
    .filter((folder) => existsSync(`${folder}/widget.mjs`));
  for (const name of folders) made[name] = await bundle(name, { entryPoints: { [name]: `${name}/widget.mjs` } });
  const modules = readdirSync("lib")
    .sort()
    .filter((file) => file.endsWith(".mjs"));
  const contents = modules.map((file) => `export * from "./lib/${file}";`).join("\n");
  made.lib = await bundle("lib", { stdin: { contents, resolveDir: "." }, entryNames: "lib" });
  delete made.lib.files["lib.css"];
  return made;
}

function written(made) {
  const hashed = (files) => Object.fromEntries(Object.entries(files).map(([file, text]) => [file, sha256(text)]));
  const records = Object.entries(made).map(([name, each]) => [name, { ...each, files: hashed(each.files) }]);
  const hashes = `${JSON.stringify(Object.fromEntries(records), null, 2)}\n`;
  return Object.assign({}, ...Object.values(made).map((each) => each.files), { "HASHES.json": hashes });
}

const files = written(await everything());
const present = existsSync("bundles") ? readdirSync("bundles") : [];
if (process.argv.includes("--check")) {
  const differs = (file) => !present.includes(file) || readFileSync(`bundles/${file}`, "utf8") !== files[file];
  const wrong = [...Object.keys(files).filter(differs), ...present.filter((file) => !(file in files))];
  if (wrong.length)
    console.error(`not what the sources give: bundles/${wrong.join(", bundles/")}. Run \`make widgets\`.`);
  process.exitCode = Number(wrong.length > 0);
} else {
  mkdirSync("bundles", { recursive: true });
  for (const file of present.filter((each) => !(each in files))) rmSync(`bundles/${file}`);
  for (const [file, text] of Object.entries(files)) writeFileSync(`bundles/${file}`, text);
  console.log(`${Object.keys(files).length} files in bundles/`);
}
