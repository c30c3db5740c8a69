// Bundles plots.js and code.js, each with its packages, into classic scripts, and writes the licences of those packages.
// node build_bundles.mjs OUTPUT_FOLDER
import { build } from "esbuild";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2] ?? "dist";

const result = await build({
  entryPoints: ["plots.js", "code.js"],
  outdir: folder,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2020",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  nodePaths: [join(process.cwd(), "node_modules")],
});

const packages = new Set();
for (const input of Object.keys(result.metafile.inputs)) {
  const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
  if (found) packages.add(found[1]);
}
let text = "Licences of the packages in plots.js and code.js\n";
for (const name of [...packages].sort()) {
  const about = JSON.parse(readFileSync(join(name, "package.json"), "utf8"));
  text += `\n${"=".repeat(80)}\n${about.name} ${about.version} (${about.license})\n\n`;
  for (const file of readdirSync(name).filter((entry) => /^licen[cs]e/i.test(entry)).sort()) text += readFileSync(join(name, file), "utf8");
}
writeFileSync(join(folder, "licences.txt"), text);
