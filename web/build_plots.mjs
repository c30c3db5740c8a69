// Bundles plots.js with all that it needs into one classic script, and writes the licences of what is in it.
// node build_plots.mjs [ENTRY [OUTPUT]]
import { build } from "esbuild";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const entry = process.argv[2] ?? "plots.js";
const output = process.argv[3] ?? "dist/plots.js";

const result = await build({
  entryPoints: [entry],
  outfile: output,
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
let text = "Licences of the packages in plots.js\n";
for (const folder of [...packages].sort()) {
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  text += `\n${"=".repeat(80)}\n${about.name} ${about.version} (${about.license})\n\n`;
  for (const file of readdirSync(folder).filter((name) => /^licen[cs]e/i.test(name)).sort()) {
    if (existsSync(join(folder, file))) text += readFileSync(join(folder, file), "utf8");
  }
}
writeFileSync(join(dirname(output), "plots.licences.txt"), text);
