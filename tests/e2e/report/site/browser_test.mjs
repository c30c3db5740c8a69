// The pages in a browser: no message on the console, no request but for the site's own files, plots are drawn, sorting and filtering
// do what they say, light and dark, narrow and wide. Writes screenshots to OUT/screenshots.
//
//   node browser_test.mjs FABRICBENCH RUN OUT WEB      WEB: the folder with node_modules
//
// $FABRICBENCH_CHROMIUM names another browser than the system's.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [tool, run, out, web] = process.argv.slice(2).map((argument) => resolve(argument));
const { chromium } = createRequire(join(web, "package.json"))("playwright-core");
const executablePath = [process.env.FABRICBENCH_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => path && existsSync(path));
if (!executablePath) {
  console.error("FAILED: no Chromium; install it (apt-get install chromium) or set FABRICBENCH_CHROMIUM");
  process.exit(1);
}

const site = join(out, "site"), screenshots = join(out, "screenshots");
rmSync(site, { recursive: true, force: true });
rmSync(screenshots, { recursive: true, force: true });
mkdirSync(screenshots, { recursive: true });
execFileSync(tool, ["report", run, "--html", site], { timeout: 60000 });
assert(existsSync(join(site, "assets/plots.js")), "the build has bundles, and the site has not");

const kWide = { width: 1440, height: 900 }, kNarrow = { width: 390, height: 844 };
const root = process.getuid?.() === 0;
const browser = await chromium.launch({ executablePath, args: root ? ["--no-sandbox"] : [] });
const trouble = [];

// A page in which everything that must not happen is noted.
const open = async (address, { viewport = kWide, colorScheme = "light" } = {}) => {
  const context = await browser.newContext({ viewport, colorScheme });
  const page = await context.newPage();
  const note = (what) => trouble.push(`${address} (${viewport.width}, ${colorScheme}): ${what}`);
  page.on("console", (message) => note(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => note(error.message));
  page.on("requestfailed", (request) => note(`failed: ${request.url()}`));
  const allowed = pathToFileURL(site).href;
  page.on("request", (request) => { if (!request.url().startsWith(allowed) && !request.url().startsWith("data:")) note(`asks for ${request.url()}`); });
  await page.goto(`${allowed}/${address}`);
  // Plots are drawn later; each says when.
  await page.waitForFunction(() => [...document.querySelectorAll("[data-plot]")].every((plot) => plot.dataset.drawn), null, { timeout: 30000 });
  if (await page.locator("script[src$='code.js']").count() > 0) await page.waitForFunction(() => document.documentElement.dataset.coloured);
  return { page, done: () => context.close() };
};

const checks = [];
const check = (name, body) => checks.push([name, body]);

// A second round of three that the judge has named lines of, with other code than the first.
const failedAttempt = (() => {
  for (const model of readdirSync(join(run, "samples")).sort()) {
    for (const problem of readdirSync(join(run, "samples", model)).sort()) {
      const rounds = join(run, "samples", model, problem, "1");
      if (problem === "push_copy" || !existsSync(join(rounds, "3.attempt.json"))) continue;
      const { verdict } = JSON.parse(readFileSync(join(rounds, "2.attempt.json"), "utf8"));
      const answers = [1, 2].map((round) => join(rounds, `${round}.answer.md`));
      if (verdict?.class !== "deadlock" || !answers.every(existsSync)) continue;
      const [before, after] = answers.map((file) => readFileSync(file, "utf8").split("```")[1]);
      if (before !== after) return `attempts/${model}/${problem}/s1r2.html`;
    }
  }
  throw new Error("the sample run has no second round that ended in a deadlock");
})();
const hostileAttempt = "attempts/made-up-large/push_copy/s1r1.html";
// A pass whose verdict says where the time goes.
const profiledAttempt = (() => {
  for (const problem of readdirSync(join(run, "samples", "made-up-large")).sort()) {
    const file = join(run, "samples", "made-up-large", problem, "1", "1.attempt.json");
    if (problem !== "push_copy" && JSON.parse(readFileSync(file, "utf8")).verdict?.profile) return `attempts/made-up-large/${problem}/s1r1.html`;
  }
  throw new Error("the sample run has no pass with a profile");
})();
// A problem of track kernel: times are beside a baseline, and operations below the roofs.
const computes = "tp_rms_norm";
const passedAttempt = (() => {
  for (const model of readdirSync(join(run, "samples")).sort()) {
    for (const round of [1, 2, 3]) {
      const file = join(run, "samples", model, computes, "1", `${round}.attempt.json`);
      if (existsSync(file) && JSON.parse(readFileSync(file, "utf8")).verdict?.class === "pass") return `attempts/${model}/${computes}/s1r${round}.html`;
    }
  }
  throw new Error(`the sample run has no pass of ${computes}`);
})();
const kPages = { index: "index.html", problem: "problems/push_copy.html", kernel: `problems/${computes}.html`, attempt: failedAttempt, profile: profiledAttempt, pass: passedAttempt };

for (const [name, address] of Object.entries(kPages)) {
  for (const colorScheme of ["light", "dark"]) {
    for (const viewport of [kWide, kNarrow]) {
      const width = viewport === kWide ? "wide" : "narrow";
      check(`${name} fits, ${colorScheme} and ${width}`, async () => {
        const { page, done } = await open(address, { viewport, colorScheme });
        const [wide, visible] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert(wide <= visible, `the page is ${wide} wide on a screen of ${visible}`);
        const [red, green, blue] = (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).match(/\d+/g).map(Number);
        assert((red + green + blue) / 3 > 128 === (colorScheme === "light"), "the background is not that of the theme");
        await page.screenshot({ path: join(screenshots, `${name}_${colorScheme}_${width}.png`), fullPage: true });
        await done();
      });
    }
  }
}

const column = (page, selector) => page.$$eval(selector, (cells) => cells.map((cell) => cell.dataset.v ?? cell.textContent));
const visibleModels = (page) => page.$$eval("#board tbody:not([hidden]) tr:not([hidden])", (rows) => rows.map((row) => row.dataset.name));
const sorted = (values, sign) => [...values].sort((a, b) => sign * (a - b));

check("plots are drawn", async () => {
  const { page, done } = await open("index.html");
  for (const kind of ["rounds", "cost"]) {
    const marks = await page.$$eval(`[data-plot=${kind}] svg .mark-symbol path`, (paths) => paths.length);
    assert(marks >= 3, `${kind} has ${marks} points`);
  }
  await done();
  const problem = await open("problems/push_copy.html");
  assert.equal(await problem.page.locator("[data-plot] svg.marks").count(), 2);
  await problem.done();
  const kernel = await open(`problems/${computes}.html`);
  assert.equal(await kernel.page.locator("[data-plot] svg.marks").count(), 3);
  // Limit, reference, baseline and at least a model, at two sizes.
  const points = await kernel.page.$$eval("[data-plot=intensity] svg .mark-symbol path", (paths) => paths.length);
  assert(points >= 8, `the roofline has ${points} points`);
  await kernel.done();
  const attempt = await open(passedAttempt);
  assert.equal(await attempt.page.locator("[data-plot=intensity] svg.marks").count(), 1);
  await attempt.done();
});

check("the leaderboard sorts by every column, by mouse and by keyboard", async () => {
  const { page, done } = await open("index.html");
  assert.deepEqual(await visibleModels(page), ["made-up-large", "made-up-small", "made-up-open-70b"]);
  const headers = page.locator("#board thead button");
  const count = await headers.count();
  assert.equal(count, 9);
  for (let i = 0; i < count; ++i) {
    for (const how of ["click", "keyboard"]) {
      if (how === "click") await headers.nth(i).click();
      else { await headers.nth(i).focus(); await page.keyboard.press("Enter"); }
      const direction = await page.locator("#board thead th").nth(i).getAttribute("aria-sort");
      const values = await column(page, `#board tbody:not([hidden]) tr > :nth-child(${i + 1})`);
      const sign = direction === "ascending" ? 1 : -1;
      if (i === 1) assert.deepEqual(values, sign === 1 ? ["made-up-large", "made-up-open-70b", "made-up-small"] : ["made-up-small", "made-up-open-70b", "made-up-large"]);
      else assert.deepEqual(values.map(Number), sorted(values.map(Number), sign), `column ${i}, ${direction}`);
    }
    assert.equal(await page.locator("#board thead [aria-sort]").count(), 1);
  }
  // Cheapest first, and once more: dearest first.
  await headers.nth(7).click();
  const cheap = await visibleModels(page);
  await headers.nth(7).click();
  assert.deepEqual(await visibleModels(page), cheap.reverse());
  await done();
});

check("filters narrow models and problems", async () => {
  const { page, done } = await open("index.html");
  await page.fill("#find-model", "SMALL");
  assert.deepEqual(await visibleModels(page), ["made-up-small"]);
  await page.fill("#find-model", "no such model");
  assert.deepEqual(await visibleModels(page), []);
  assert(await page.getByText("No match.").first().isVisible());
  await page.fill("#find-model", "");
  assert.equal((await visibleModels(page)).length, 3);

  const problems = () => page.$$eval("#heat tbody tr:not([hidden])", (rows) => rows.map((row) => [row.dataset.level, row.dataset.category, row.dataset.name.split(" ")[0]]));
  const all = (await problems()).length;
  assert(all >= 24);
  const pass = () => column(page, "#board tbody:not([hidden]) tr:first-child td[data-label=Pass]");
  const everywhere = await pass();
  await page.selectOption("#scope", "level:3");
  const hard = await problems();
  assert(hard.length > 0 && hard.every(([level]) => level === "3"));
  assert.notDeepEqual(await pass(), everywhere, "figures are those of level 3");
  await page.selectOption("#scope", "category:p2p");
  assert((await problems()).every(([, category]) => category === "p2p"));
  await page.fill("#find-problem", "push");
  const found = (await problems()).map(([, , name]) => name);
  assert(found.includes("push_copy") && found.every((name) => name.includes("push")));
  await page.selectOption("#scope", "all");
  await page.fill("#find-problem", "");
  assert.equal((await problems()).length, all);
  await done();
});

check("the table of models and problems sorts and leads to attempts", async () => {
  const { page, done } = await open("index.html");
  await page.locator("#heat thead button").nth(2).click();
  const values = (await column(page, "#heat tbody tr > :nth-child(3)")).map(Number);
  assert.deepEqual(values, sorted(values, -1));
  await page.locator("#heat tbody td a").first().click();
  await page.waitForURL(/attempts\/made-up-large\/.*\.html$/);
  assert.equal(await page.locator(".verdict").count(), 1);
  await page.locator(".trail a").last().click();
  await page.waitForURL(/problems\/.*\.html$/);
  await done();
});

check("narrow screens sort by a list", async () => {
  const { page, done } = await open("index.html", { viewport: kNarrow });
  assert(await page.locator("#sort-by").isVisible());
  await page.selectOption("#sort-by", { label: "Model" });
  assert.deepEqual(await visibleModels(page), ["made-up-large", "made-up-open-70b", "made-up-small"]);
  await done();
});

check("the theme changes, plots follow, and the choice is kept", async () => {
  const { page, done } = await open("index.html");
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const ink = () => page.locator("[data-plot=rounds] svg .role-axis-label text").first().getAttribute("fill");
  const [light, lightInk] = [await background(), await ink()];
  await page.click("button.theme");
  assert.notEqual(await background(), light);
  await page.waitForFunction((before) => document.querySelector("[data-plot=rounds] svg .role-axis-label text")?.getAttribute("fill") !== before, lightInk);
  await page.goto(page.url().replace("index.html", "problems/push_copy.html"));
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.click("button.theme");
  assert.equal(await background(), light);
  await done();
});

check("a verdict's lines are marked in the code, and linked", async () => {
  const { page, done } = await open(failedAttempt);
  const link = page.locator(".verdict a[href^='#L']").first();
  const line = (await link.getAttribute("href")).slice(1);
  assert(await page.locator(`#${line}.hit`).count() === 1);
  await link.click();
  // Scrolls smoothly: a busy computer takes its time.
  await page.waitForFunction((id) => { const { top } = document.getElementById(id).getBoundingClientRect(); return top > 0 && top < innerHeight; }, line);
  assert(await page.locator(".diff .add").count() > 0);
  assert.equal(await page.locator(".timeline li").count(), 3);
  await done();
});

check("a profile's lines lead to the code, which has their shares", async () => {
  const { page, done } = await open(profiledAttempt);
  const row = page.locator("table.profile tbody tr", { has: page.locator("a[href^='#L']") }).first();
  const line = (await row.locator("a").getAttribute("href")).slice(1);
  const code = await page.locator(`#${line} > span`).innerText();
  assert.equal((await row.locator("code").innerText()).trim(), code.trim());
  const share = await page.locator(`#${line} .share`).getAttribute("data-t");
  assert((await row.locator("td.num").innerText()).startsWith(share), "the same share in both places");
  const colours = await row.locator(".causes i").evaluateAll((parts) => parts.map((part) => [getComputedStyle(part).backgroundColor, part.getBoundingClientRect().width]));
  assert(colours.length > 0 && colours.every(([colour, width]) => colour !== "rgba(0, 0, 0, 0)" && width > 0), `causes have no colours: ${colours}`);
  await done();
});

check("code is coloured, and stays the same text", async () => {
  const { page, done } = await open(failedAttempt);
  const plain = readFileSync(join(site, failedAttempt), "utf8");
  // A diff may be of a few lines.
  for (const [view, words] of [["#code .code", ["keyword", "comment", "type"]], ["#diff .diff", ["comment"]]]) {
    for (const word of words) assert(await page.locator(`${view} .hljs-${word}`).count() > 0, `${view} has no ${word}`);
  }
  assert(await page.locator(".diff .del span span[class^=hljs]").count() > 0, "removed lines have no colours");
  const texts = await page.$$eval(".code .l", (lines) => lines.map((line) => line.lastElementChild.textContent));
  const context = await browser.newContext({ javaScriptEnabled: false });
  const without = await context.newPage();
  await without.goto(pathToFileURL(join(site, failedAttempt)).href);
  assert.deepEqual(texts, await without.$$eval(".code .l", (lines) => lines.map((line) => line.lastElementChild.textContent)));
  assert(!plain.includes("hljs"));
  await context.close();
  await done();
});

check("what a model wrote stays text", async () => {
  for (const address of [hostileAttempt, "index.html", "problems/push_copy.html"]) {
    const { page, done } = await open(address);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    if (address === hostileAttempt) assert((await page.locator("#code").innerText()).includes("<script>window.hacked = 1</script>"));
    await done();
  }
});

check("paper gets a light page", async () => {
  const { page, done } = await open("index.html", { colorScheme: "dark" });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.equal(await page.locator("form.filters").first().isVisible(), false);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  await done();
});

let failed = 0;
for (const [name, body] of checks) {
  try {
    await body();
    console.log(`ok      ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAILED  ${name}: ${error.message}`);
  }
}
await browser.close();
for (const line of trouble) console.log(`FAILED  ${line}`);
console.log(`${checks.length} checks, ${failed} failed, ${trouble.length} messages or requests; screenshots in ${screenshots}`);
process.exit(failed + trouble.length > 0 ? 1 : 0);
