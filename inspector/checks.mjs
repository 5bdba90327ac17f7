// The checks of the page. Each gets the world: a browser that watches pages, the home folder, and helpers.
import assert from "node:assert/strict";
import { DAMAGED, HOSTILE, MAIN, SUMMARISED } from "./home.mjs";

/** Every view by its address: what the heading says, and what must be there when it is complete. */
export const VIEWS = {
  sessions: { hash: "#/", title: "Sessions", ready: ".sessions .list-row" },
  timeline: { hash: `#/s/${MAIN}`, title: "Timeline", ready: ".turns-table tbody tr" },
  map: { hash: `#/s/${MAIN}/r/8/map`, title: "Map", ready: ".behind tbody tr" },
  text: { hash: `#/s/${MAIN}/r/8`, title: "Request #8 of 10", ready: ".text-block" },
  bytes: { hash: `#/s/${MAIN}/r/8/b/6001`, title: "Request #8 of 10", ready: ".bytes .chosen-row" },
  tree: { hash: `#/s/${MAIN}/r/8/b/6001?read=tree`, title: "Request #8 of 10", ready: ".tree .chosen-row" },
  diff: { hash: `#/s/${MAIN}/r/8/diff`, title: "Diff", ready: ".changes .change" },
  cache: { hash: `#/s/${MAIN}/cache`, title: "Why was this paid for again?", ready: ".explain .changes" },
  calls: { hash: `#/s/${MAIN}/calls`, title: "Calls", ready: ".output pre" },
  files: { hash: `#/s/${MAIN}/calls/call_3_1`, title: "Calls", ready: ".changes .diff-line" },
  compactions: { hash: `#/s/${MAIN}/compactions`, title: "Summaries", ready: ".lost a" },
  undone: { hash: `#/s/${SUMMARISED}/compactions/1`, title: "Summaries", ready: ".notice" },
  cost: { hash: `#/s/${MAIN}/cost?as=ttl%3D1h`, title: "Cost", ready: "td.number strong" },
  proof: { hash: `#/s/${MAIN}/proof`, title: "Proof and export", ready: ".proof .list-row" },
  packs: { hash: "#/packs?message=hi", title: "Packs", ready: "td button" },
  compare: { hash: `#/diff?a=${MAIN}%231&b=${MAIN}%232`, title: "Compare", ready: ".changes .change" },
  search: { hash: "#/search?q=kind", title: "Search for “kind”", ready: ".hits .list-row" },
  damaged: { hash: `#/s/${DAMAGED}/proof`, title: "Proof and export", ready: ".proof .list-row .bad, .proof .list-row .warn" },
};

/** Opens a view by its address and waits until it is complete. */
export async function open(page, world, { hash, title, ready }) {
  await page.goto("about:blank");
  await page.goto(world.address(hash));
  await page.locator(ready).first().waitFor({ state: "attached" });
  assert.equal(await page.locator("h1").first().textContent(), title);
}

const at = (page, hash) => page.waitForFunction((wanted) => location.hash === wanted, hash);
const hashOf = (page) => page.evaluate(() => location.hash);

/** axe has nothing to complain of in a view. */
async function axeFindsNothing(world, name, scheme, width) {
  await world.watched({ width, scheme, isAxe: true }, async (page) => {
    await open(page, world, VIEWS[name]);
    const found = await world.axe(page);
    assert.deepEqual(found, []);
  });
}

/** @type {Record<string, (world: any) => Promise<void>>} */
export const CHECKS = {};

for (const name of Object.keys(VIEWS)) {
  CHECKS[`view ${name}`] = (world) => world.watched({}, (page) => open(page, world, VIEWS[name]));
  for (const scheme of ["light", "dark"]) CHECKS[`axe ${name} ${scheme}`] = (world) => axeFindsNothing(world, name, scheme, 1280);
  CHECKS[`narrow ${name}`] = (world) => world.watched({ width: 320 }, async (page) => {
    await open(page, world, VIEWS[name]);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, "nothing is cut off at 320 pixels, and the page does not scroll sideways");
  });
}

CHECKS["every view by click"] = (world) => world.watched({}, async (page) => {
  await open(page, world, VIEWS.sessions);
  await page.getByRole("link", { name: "kinder-greeting" }).click();
  await at(page, `#/s/${MAIN}`);
  for (const [tab, end] of [["Request", "/r/10"], ["Map", "/r/10/map"], ["Diff", "/r/10/diff"], ["Cache", "/cache"], ["Calls", "/calls"], ["Summaries", "/compactions"], ["Cost", "/cost"], ["Proof", "/proof"]]) {
    await page.locator(".tabs").getByRole("link", { name: tab }).click();
    await at(page, `#/s/${MAIN}${end}`);
    await page.locator(`.tabs a[aria-current=page]`, { hasText: tab }).waitFor();
  }
  await page.locator(".proof .list-row").nth(2).getByRole("link").click();
  await at(page, `#/s/${MAIN}/r/3`);
});

CHECKS["every view by keyboard alone"] = (world) => world.watched({}, async (page) => {
  await open(page, world, VIEWS.sessions);
  await page.locator("virtual-list").focus();
  const rows = await page.locator(".sessions .list-row").allInnerTexts();
  const wanted = rows.findIndex((text) => text.startsWith("kinder-greeting"));
  for (let step = 0; step <= wanted; step++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Home");
  for (let step = 0; step < wanted; step++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator(".stage").waitFor();
  const ends = ["", "/r/10", "/r/10/map", "/r/10/diff", "/cache", "/calls", "/compactions", "/cost", "/proof"];
  for (const [index, end] of [...ends.entries()].reverse()) {
    await page.keyboard.press(String(index + 1));
    await at(page, `#/s/${MAIN}${end}`);
    await page.locator(".tabs a[aria-current=page]").nth(0).and(page.locator(`.tabs a:nth-child(${index + 1})`)).waitFor();
  }
  await page.keyboard.press("2");
  await at(page, `#/s/${MAIN}/r/10`);
  await page.locator(".text-block").first().waitFor();
  await page.keyboard.press("[");
  await page.locator("h1", { hasText: "#9" }).waitFor({ state: "attached" });
  await page.keyboard.press("]");
  await page.locator("h1", { hasText: "#10" }).waitFor({ state: "attached" });
  await page.locator(".text-block").first().waitFor();
  await page.keyboard.press("w");
  await page.locator(".bytes").first().waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

CHECKS["the timeline by keyboard"] = (world) => world.watched({}, async (page) => {
  await open(page, world, VIEWS.timeline);
  await page.locator(".stage").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await page.locator(".chosen .big", { hasText: "#2" }).waitFor();
  await page.waitForFunction(() => document.getElementById("polite").textContent.startsWith("#2: "));
  await page.keyboard.press("Enter");
  await at(page, `#/s/${MAIN}/r/2`);
});

CHECKS["the map by keyboard"] = (world) => world.watched({}, async (page) => {
  await open(page, world, VIEWS.map);
  await page.locator(".stage").focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.getElementById("polite").textContent.includes("exec_command"));
  await page.keyboard.press("Enter");
  await page.locator(".text-block .chosen-row").waitFor();
  assert.match(await hashOf(page), new RegExp(`^#/s/${MAIN}/r/8/b/\\d+`));
});

CHECKS["back and forward"] = (world) => world.watched({}, async (page) => {
  await open(page, world, VIEWS.sessions);
  await page.getByRole("link", { name: "kinder-greeting" }).click();
  await page.locator(".tabs").getByRole("link", { name: "Cache" }).click();
  await page.locator(".cache .list-row").nth(9).click();
  await at(page, `#/s/${MAIN}/cache/10`);
  await page.goBack();
  await at(page, `#/s/${MAIN}/cache`);
  await page.goBack();
  await page.locator(".stage").waitFor();
  await page.goForward();
  await page.goForward();
  await at(page, `#/s/${MAIN}/cache/10`);
  await page.locator(".explain h2", { hasText: "#10" }).waitFor();
});

CHECKS["search finds a line and opens it"] = (world) => world.watched({}, async (page) => {
  await open(page, world, VIEWS.timeline);
  await page.keyboard.press("/");
  await page.keyboard.type("never push");
  await page.keyboard.press("Enter");
  await page.locator(".hits .list-row").first().waitFor();
  assert.equal(await page.locator(".hits mark").first().textContent(), "never push");
  await page.locator("virtual-list").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.locator(".text-block .chosen-row").waitFor();
  assert.match(await page.locator(".chosen-row").innerText(), /never push/);
});

CHECKS["the list of sessions is filtered as one types"] = (world) => world.watched({}, async (page) => {
  await open(page, world, VIEWS.sessions);
  await page.keyboard.press("/");
  await page.keyboard.type("kinder-g");
  await page.waitForFunction(() => document.querySelectorAll(".sessions .list-row").length === 1);
  assert.equal(await hashOf(page), "#/?q=kinder-g");
});

CHECKS["hover and focus show the same of a row"] = (world) => world.watched({}, async (page) => {
  await open(page, world, { ...VIEWS.text, hash: `#/s/${MAIN}/r/8?find=Be+kind+to+readers`, ready: ".text-block .chosen-row" });
  const name = page.locator(".row-name", { hasText: "AGENTS.md" }).first();
  const shown = () => page.locator(".side .detail").first().innerText();
  await page.locator(".text-row", { has: name }).locator("[data-byte]").first().hover();
  await page.locator(".side dd", { hasText: "AGENTS.md" }).waitFor();
  const hovered = await shown();
  await page.mouse.move(5, 5);
  await page.locator(".families").hover();
  await name.focus();
  assert.equal(await shown(), hovered);
});

CHECKS["hostile texts are shown and never run"] = (world) => world.watched({}, async (page) => {
  for (const hash of ["#/", `#/s/${HOSTILE}`, `#/s/${HOSTILE}/r/2`, `#/s/${HOSTILE}/r/2/b/6100`, `#/s/${HOSTILE}/r/2?read=tree`, `#/s/${HOSTILE}/r/2/map`, `#/s/${HOSTILE}/r/2/diff`, `#/s/${HOSTILE}/calls`, `#/s/${HOSTILE}/cache`, `#/s/${SUMMARISED}/compactions`, `#/s/${SUMMARISED}/calls/call_1_1`, "#/search?q=window.hit"]) {
    await page.goto("about:blank");
    await page.goto(world.address(hash));
    await page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector("main[aria-busy]"));
    assert.equal(await page.evaluate(() => "hit" in window), false, hash);
    assert.equal(await page.locator("main script, main img, main svg, main iframe").count(), 0, hash);
    assert.equal(await page.locator("a[href^='javascript']").count(), 0, hash);
  }
  await open(page, world, { hash: `#/s/${HOSTILE}/r/2?find=onerror`, title: "Request #2 of 2", ready: ".text-block .chosen-row" });
  const text = await page.locator(".text-row", { hasText: "onerror" }).first().innerText();
  assert.ok(text.includes("<script>window.hit=1</script><img src=x onerror=window.hit=1>"));
  for (const point of ["U+200B", "U+202E", "U+2066", "U+2028"]) assert.ok(text.includes(point), point);
});

CHECKS["a line of 10 MB and a name of 4 KB hang nothing"] = (world) => world.watched({}, async (page) => {
  const id = "019a9000-7777-7000-8000-000000000007";
  const wide = ["-c", "model_context_window=100000000", "-c", "model_auto_compact_token_limit=100000000"];
  world.home.turn(`\n[[reply]]\nsay = "${"x".repeat(10 << 20)}"\nusage = { input = 3000, cached = 0, output = 5 }\n`, [...wide, "--session-id", id, `${"name ".repeat(800)}`]);
  world.home.turn('\n[[reply]]\nsay = "short"\nusage = { input = 3000, cached = 0, output = 5 }\n', [...wide, "resume", id, "again"]);
  // A task of the page that takes longer than a second is one in which nothing else happens.
  await page.addInitScript(() => {
    window.longest = 0;
    new PerformanceObserver((list) => { for (const it of list.getEntries()) window.longest = Math.max(window.longest, it.duration); }).observe({ type: "longtask", buffered: true });
  });
  for (const [hash, ready] of [["#/", ".sessions .list-row"], [`#/s/${id}`, ".stage"], [`#/s/${id}/r/2?part=model&item=4`, ".text-block"], [`#/s/${id}/r/2/b/8000000`, ".bytes .chosen-row"], [`#/s/${id}/r/2?read=tree`, ".tree li"], [`#/s/${id}/r/2/map`, ".stage"], [`#/s/${id}/proof`, ".proof .list-row"]]) {
    await page.goto("about:blank");
    await page.goto(world.address(hash));
    await page.locator(ready).first().waitFor({ state: "attached" });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const longest = await page.evaluate(() => window.longest);
    assert.ok(longest < 1000, `${hash}: ${Math.round(longest)} ms`);
  }
});

CHECKS["a changed session is called altered"] = (world) => world.watched({}, async (page) => {
  await open(page, world, VIEWS.damaged);
  await page.locator(".view-head .badge", { hasText: "altered" }).waitFor();
  await page.locator(".bar-facts .badge", { hasText: "altered" }).waitFor();
});

CHECKS["live requests arrive and the view does not jump"] = (world) => world.watched({}, async (page) => {
  await open(page, world, { hash: `#/s/${HOSTILE}?n=1`, title: "Timeline", ready: ".turns-table tbody tr" });
  await page.evaluate(() => document.querySelector("main").scrollTo(0, 60));
  const before = await page.evaluate(() => document.querySelector("main").scrollTop);
  world.home.turn('\n[[reply]]\nsay = "A further answer."\nusage = { input = 4100, cached = 4000, output = 9 }\n', ["resume", HOSTILE, "And now?"]);
  await page.locator(".bar-facts dd", { hasText: /^3$/ }).waitFor();
  await page.waitForFunction(() => document.querySelector(".timeline-table").getAttribute("aria-rowcount") === "4");
  assert.equal(await page.locator(".chosen .big").innerText(), "#1");
  assert.equal(await page.evaluate(() => document.querySelector("main").scrollTop), before);
});

CHECKS["the export is a capsule that replays"] = (world) => world.watched({}, async (page) => {
  await open(page, world, VIEWS.proof);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Write the file" }).click()]);
  const file = `${world.folder}/exported.html`;
  await download.saveAs(file);
  assert.match(String(world.home.run(["replay", `file:${file}`])), /equal/);
});

CHECKS["a summary shows what it lost and where that was"] = (world) => world.watched({}, async (page) => {
  await open(page, world, VIEWS.compactions);
  const titles = await page.locator(".halves .panel").evaluateAll((panels) => panels.map((it) => it.getAttribute("aria-label")));
  assert.deepEqual(titles, ["Before", null, "After"]);
  assert.equal(await page.locator(".panel[aria-label=Before] li").count(), 27);
  assert.match(await page.locator(".output pre").innerText(), /Summary: the greeting was made kinder/);
  await page.locator(".lost a", { hasText: "src/main.rs" }).click();
  await page.locator(".text-block .chosen-row").first().waitFor();
  assert.match(await hashOf(page), new RegExp(`^#/s/${MAIN}/r/8/b/\\d+`));
  await open(page, world, VIEWS.undone);
  const facts = await page.locator(".lost li").allInnerTexts();
  assert.ok(facts.includes("lost/&lt.md"), facts.join("\n"));
  assert.match(await page.locator(".notice").innerText(), /undone/);
});

CHECKS["a call shows its files as a diff and its whole output"] = (world) => world.watched({}, async (page) => {
  await open(page, world, VIEWS.files);
  assert.deepEqual(await page.locator(".diff-line.removed, .diff-line.added").allInnerTexts(), ['−\n    println!("hello");', '+\n    println!("hello, reader");']);
  await page.locator(".explain dd a", { hasText: "#3" }).waitFor();
  await open(page, world, { hash: `#/s/${SUMMARISED}/calls/call_1_1`, title: "Calls", ready: ".diff-line.added" });
  assert.ok((await page.locator(".changes").innerText()).includes("<script>window.hit=1</script><img src=x onerror=window.hit=1>"));
  await open(page, world, { hash: `#/s/${HOSTILE}/calls`, title: "Calls", ready: "details summary" });
  await page.locator("details summary").click();
  const more = page.getByRole("button", { name: "show more" });
  while (await more.isVisible()) {
    const before = await page.locator(".unseen-text").evaluate((it) => it.textContent.length);
    await more.click();
    await page.waitForFunction((length) => document.querySelector(".unseen-text").textContent.length > length, before);
  }
  assert.equal(await page.locator(".unseen-text").evaluate((it) => it.textContent.length), 300030);
  assert.match(await page.locator(".unseen-text mark").last().innerText(), /<script>window.hit=1<\/script>\n$/);
  const seen = await page.locator(".unseen-text mark").evaluateAll((marks) => marks.reduce((sum, it) => sum + it.textContent.length, 0));
  assert.ok(seen > 30000 && seen < 50000, `${seen} letters are marked`);
});

CHECKS["a cell of a pack shows its text"] = (world) => world.watched({}, async (page) => {
  await open(page, world, VIEWS.packs);
  await page.locator("tr", { hasText: "AGENTS.md" }).first().locator("button:not(.dim)").first().click();
  assert.match(await page.locator(".panel pre").innerText(), /Be kind to readers\./);
});

CHECKS["a request is forked from the page"] = (world) => world.watched({}, async (page) => {
  await open(page, world, { hash: `#/s/${DAMAGED}/r/1`, title: "Request #1 of 2", ready: ".request-facts button" });
  await page.getByRole("button", { name: "Fork here" }).click();
  await page.waitForFunction((parent) => /^#\/s\/[0-9a-f-]+$/.test(location.hash) && !location.hash.includes(parent), DAMAGED);
  await page.locator(".bar-facts dd", { hasText: /^1$/ }).waitFor();
});

CHECKS["Chinese words"] = (world) => world.watched({ locale: "zh-CN" }, async (page) => {
  await page.goto(world.address(`#/s/${MAIN}/cache`));
  await page.locator("h1", { hasText: "为什么重复付费？" }).waitFor();
  await page.getByRole("button", { name: "English" }).click();
  await page.locator("h1", { hasText: "Why was this paid for again?" }).waitFor();
});

CHECKS["keys of one letter can be switched off"] = (world) => world.watched({}, async (page) => {
  await open(page, world, VIEWS.timeline);
  await page.keyboard.press("?");
  await page.getByLabel("Keys of one letter are on").uncheck();
  await page.getByRole("button", { name: "Close" }).click();
  await page.keyboard.press("5");
  await page.keyboard.press("/");
  assert.equal(await hashOf(page), `#/s/${MAIN}`);
  assert.equal(await page.evaluate(() => document.activeElement?.classList.contains("search")), false);
});

CHECKS["an unknown session is refused in words"] = (world) => world.watched({ isRefused: true }, async (page) => {
  await page.goto(world.address("#/s/ffffffff-0000-7000-8000-000000000000"));
  await page.getByRole("alert").waitFor();
});

/** The names of the checks that CI runs. */
export const SAMPLE = /^(view |axe (sessions|timeline|text|bytes|diff|cache) (light|dark)|narrow (timeline|text|cache)|every view|back|search|hover|hostile|live|a changed|a summary|a call|a request|the copied command prints what (bytes|cache|diff|cost|proof) shows|file (timeline|text|bytes|cache|proof|axe timeline|begins|has|with))/;
