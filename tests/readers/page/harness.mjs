// Functions of the page tests: write a page, open it in a browser, read its content. See page.mjs.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { countWork, watchTime } from './clock.mjs';

const { chromium } = createRequire(`${process.env.MODULES}/`)('playwright-core');

export const [attn, executablePath] = process.argv.slice(2);
const FLAGS = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
];
export const LIFE = 'Life is short, eat dessert first';
export const ODD = ['我', '🍰', 'مرحبا', '</script><b>', '&', '"', '\u2028', 'Life', 'is'];

export const scratch = mkdtempSync(join(tmpdir(), 'attn-page-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
// A browser writes to HOME, which may be read-only.
export const launch = (options) =>
    chromium.launch({
        executablePath,
        args: FLAGS,
        env: { ...process.env, HOME: scratch },
        ...options,
    });
export const browser = await launch();
export const counts = { passed: 0, failed: 0, skipped: 0 };

// --- checks --------------------------------------------------------------------------------------

export function same(expected, found, what = '') {
    const [a, b] = [JSON.stringify(expected), JSON.stringify(found)];
    if (a === b) return;
    let at = 0; // the message shows only the part around the first difference
    while (a[at] === b[at]) at += 1;
    const part = (text) => text.slice(Math.max(at - 40, 0), at + 160);
    throw new Error(`${what}\n    expected ${part(a)}\n    found    ${part(b)}`);
}

// Seconds after which something hangs, as in tally.sh; after a failure fewer, so that many
// failures end.
const hang = () => Number(process.env.HANG || 600) / (counts.failed ? 10 : 1);

// Wait until a fact holds.
export async function until(fact, what) {
    const end = Date.now() + 1000 * hang();
    while (!(await fact())) yes(Date.now() < end, `${what}: waited in vain`);
}

// The box of an element. Playwright returns null while the element is redrawn: try again.
export async function boxOf(locator) {
    let box = null;
    await until(async () => {
        await locator.waitFor();
        box = await locator.boundingBox();
        return box;
    }, `${locator} is visible`);
    return box;
}

export function yes(fact, what) {
    if (!fact) throw new Error(what);
}

// A time, as a ratio to a loop of arithmetic (clock.mjs). It decides nothing.
export const tell = (what, ratio) =>
    console.log(`        ${what}: ${ratio.toFixed(2)} of ten million square roots`);

// PAGE_ONLY selects tests by a regular expression on their names, PAGE_SHARE=1/2 every second test.
const only = new RegExp(process.env.PAGE_ONLY || '');
const [share, shares] = (process.env.PAGE_SHARE || '1/1').split('/').map(Number);
let number = 0;

export async function test(name, body) {
    if (!only.test(name)) return;
    number += 1;
    if (number % shares !== share % shares) return;
    try {
        await body();
        counts.passed += 1;
    } catch (error) {
        counts.failed += 1;
        console.log(`failed: ${name}: ${error.message.split('\nCall log')[0]}`);
    }
}

export const run = (...args) => execFileSync(attn, ['run', '-q', ...args], { maxBuffer: 2 ** 30 });
export const json = (...args) => JSON.parse(run(...args, '--format', 'json').toString());
export const attnJson = (...args) =>
    JSON.parse(execFileSync(attn, [...args, '--format', 'json'], { maxBuffer: 2 ** 30 }));

// Points of probability that the most likely token at a row gains without attention to each of some
// keys, by the program.
export function pointsWithout(row, keys, ...words) {
    const sharesOf = (...options) => {
        const logits = json(...words, '--show', 'logits', ...options).tensors.logits.at(row);
        const sum = logits.reduce((all, one) => all + Math.exp(one), 0);
        return logits.map((one) => (100 * Math.exp(one)) / sum);
    };
    const shares = sharesOf();
    const best = shares.indexOf(Math.max(...shares));
    return keys.map((key) => sharesOf(`--knockout=${row}:${key}`)[best] - shares[best]);
}

// The numbers on words, '' if small, against points.
export function samePoints(expected, found) {
    same(expected.length, found.length);
    expected.forEach((by, at) => {
        const number = Number(found[at].replace('−', '-'));
        const rounded = Math.abs(by) < 0.5 ? 0.5 : Math.abs(number) >= 10 ? 0.51 : 0.051;
        yes(Math.abs(by - number) < rounded, `${at}: ${found[at]}, expected ${by}`);
    });
}

let pages = 0;

export function write(...args) {
    const path = join(scratch, `${pages++}.html`);
    run(...args, '-o', path);
    return path;
}

// Write a model without projections, whose only weights are the embeddings of the given words.
export function wordModel(name, words) {
    const folder = join(scratch, name);
    const header = JSON.stringify({
        'wte.weight': {
            dtype: 'F32',
            shape: [words.length, 2],
            data_offsets: [0, 8 * words.length],
        },
    });
    const data = Buffer.alloc(8 + header.length + 8 * words.length);
    data.writeBigUInt64LE(BigInt(header.length));
    data.write(header, 8);
    for (let i = 0; i < 2 * words.length; i++)
        data.writeFloatLE(Math.sin(i + 1), 8 + header.length + 4 * i);
    mkdirSync(folder);
    writeFileSync(join(folder, 'model.safetensors'), data);
    writeFileSync(join(folder, 'vocab.json'), JSON.stringify(words));
    writeFileSync(
        join(folder, 'config.json'),
        JSON.stringify({
            model_type: 'attention',
            vocab_size: words.length,
            n_embd: 2,
            projections: false,
        }),
    );
    return folder;
}

// Open a page at the fragment `hash`, in another browser than usual if `by` is given. The clock of
// a `still` page stands still; `counted`: its work is counted (clock.mjs). `faults` lists script errors, what the page wrote to the
// console and other requests; close() fails if there are any.
export async function open(path, given = {}) {
    const { hash = '', still = false, counted = false, by = browser, ...options } = given;
    const context = await by.newContext({
        viewport: { width: 1200, height: 900 },
        colorScheme: 'light',
        ...options,
    });
    context.setDefaultTimeout(1000 * hang());
    const page = await context.newPage();
    await page.addInitScript(watchTime, still);
    if (counted) await page.addInitScript(countWork);
    const faults = [];
    page.on('console', (message) => faults.push(`console: ${message.text()}`));
    page.on('pageerror', ({ message, stack }) => {
        faults.push(`error: ${message}${/(\n.*){1,6}/.exec(stack || '') || ''}`);
    });
    // blobs and data URLs, made for downloads, use no network
    page.on('request', (request) => {
        const own = request.url().split('?')[0] === pathToFileURL(path).href;
        const heads = new URL('heads/', pathToFileURL(path)).href; // of a large atlas
        if (own || request.url().startsWith(heads)) return;
        if (!/^(blob|data):/.test(request.url())) faults.push(request.url());
    });
    await page.goto(pathToFileURL(path).href + hash);
    return {
        page,
        faults,
        close: async () => {
            await context.close();
            same([], faults, 'console messages and requests of the page');
        },
    };
}

export async function withPage(path, body, options) {
    const { page, close } = await open(path, options);
    await body(page);
    await close();
}

// --- content of a page ---------------------------------------------------------------------------

export const readout = (page) => page.locator('#readout').innerText();
export const matrix = (page) => page.locator('#stage .over');
// Left and top edge of the cells, width and height of a cell.
export const cellsOf = (page) =>
    page.$eval('#stage .sheet', (one) => one.dataset.cells.split(',').map(Number));
export const pixels = (page) =>
    page.locator('#stage .base').evaluate((canvas) => canvas.toDataURL());

// Show a head, or for a tensor without heads, a layer.
export async function showHead(page, name, tensor = '') {
    if (tensor) await page.selectOption('#tensor', tensor);
    await page.click(`.thumb[data-head="${name}"]`);
}

// The numbers of the table, '' for an empty cell.
export async function readTable(page) {
    if (!(await page.locator('#numbers').evaluate((one) => one.open)))
        await page.click('#numbers summary');
    await page.locator('#numbers table').first().waitFor();
    return page.$$eval('#numbers tbody tr', (rows) =>
        rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)),
    );
}

// The result of a promise, unless it hangs.
const inTime = (promise, what) =>
    Promise.race([
        promise,
        new Promise((_, fail) => {
            setTimeout(() => fail(new Error(`${what} hangs`)), 1000 * hang()).unref();
        }),
    ]);

// Functions of clock.mjs.
export const drawn = (page) => inTime(page.evaluate(() => window.clock.drawn()), 'a frame');
export const quiet = (page) => inTime(page.evaluate(() => window.clock.quiet()), 'what waits in the page');
export const pass = (page, ms) => page.evaluate((time) => window.clock.pass(time), ms);

// Change the fragment of the address, as a link does.
export function go(page, hash) {
    const follow = async (words) => {
        const before = location.href;
        location.hash = words;
        if (location.href !== before)
            await new Promise((done) => addEventListener('hashchange', done, { once: true }));
        await window.clock.drawn();
    };
    return inTime(page.evaluate(follow, hash), `#${hash}`);
}

export const percent = (share) => {
    if (share < 0.0005) return '< 0.1 %';
    return share > 0.999 && share < 1 ? '> 99.9 %' : `${(100 * share).toFixed(1)} %`;
};
// A share in the head of the page.
export const roundShare = (share) =>
    share >= 0.995 || share < 0.0095 ? percent(share) : `${(100 * share).toFixed(0)} %`;
export const plain = (text) => {
    const shown = text.replaceAll(' ', '␣').replaceAll('\n', '↵');
    return shown.length > 1 ? shown.replace(/^␣/, '') : shown;
};

// Names and probabilities of the bars.
export const bars = (page) =>
    page.$$eval('#bars li:not([hidden])', (rows) =>
        rows.map((row) => [
            row.querySelector('.name').title,
            row.querySelector('.value').textContent,
        ]),
    );

export const causal = (matrix) =>
    matrix.map((row, at) => row.map((value, column) => (column > at ? '' : String(value))));

// Like write, by the command `page`.
export function writePage(...args) {
    const path = join(scratch, `${pages++}.html`);
    execFileSync(attn, ['page', '-q', ...args, '-o', path]);
    return path;
}

// The words of a masked model at a mask, and their probabilities, as `bars` returns them.
export function fillsOf(text, position, ...options) {
    const words = ['score', '-q', '-m', 'cloze', text, '--top', '10', ...options];
    return attnJson(...words)
        .tables.best.filter((one) => one.position === position)
        .map((one) => [one.text, percent(Math.exp(one.logprob))]);
}

// The scores of the tokens of a text; `best` of each holds the `count` most likely tokens there.
export function scoresOf(text, count) {
    const { scores, best } = attnJson('score', '-q', text, '--top', String(count)).tables;
    return scores.map((score) => ({
        ...score,
        best: best.filter((one) => one.position === score.position),
    }));
}

// A text of each bundled model, with the source of those that read one, as options.
export const TEXT_OF_MODEL = {
    tiny: ['The keys to the cabinet'],
    cloze: ['The keys to the cabinet [MASK] old.'],
    roles: ["The chicken didn't cross the road because it was too tired."],
    recall: ['cat red dog blue cat green cat'],
    translate: ['<s> le petit chat noir', '--source', 'the small black cat'],
    'translate-zh': ['<s> 那只 猫 坐 在 垫子 上', '--source', 'the cat sat on the mat'],
    nlp: ['我爱自然语言处理'],
    life: [LIFE],
    'life-causal': [LIFE],
    'life-4-heads': [LIFE],
    'life-grouped': [LIFE],
    'life-cross': [LIFE, '--source', 'the cat sat on that mat all day'],
    journey: ['Your journey starts with one step'],
    'journey-causal': ['Your journey starts with one step'],
    'journey-seven': ['Your journey starts with one step context'],
};

// Headline and sentence of a page, from the table of `run --show finding`; of a translation and of
// other heads only the part that has numbers.
function toldBy({ tables, tokens }, [model]) {
    const [one] = tables.finding;
    const quoted = (text) => `“${plain(text)}”`;
    const [query, key] = [one.query, one.key].map((name) => name && quoted(/:(.*)/.exec(name)[1]));
    const [at, weight] = [Number(/\d*/.exec(one.query)), roundShare(one.weight)];
    const [says, other] = [one.prediction, one.without].map((text) => text && quoted(text));
    const head = `L${one.layer}H${one.head}`;
    const without = roundShare(one.without_probability);
    const changes = one.D !== null && says !== other;
    if (/^(life|journey|nlp)/.test(model))
        return ['This model is not trained', model === 'life-cross' ? '' : 'The largest weight'];
    if (model.startsWith('translate'))
        return [`To write ${quoted(tokens[at + 1].text)} the model looks at ${key} (${weight})`,
            changes ? `it would write ${other} (${without}).` : ''];
    if (!says && one.head === null) return ['No head stands out here', ''];
    if (!says) return [`${query} looks back at ${key} (${weight})`, `Seen in head ${head}.`];
    const headline = `the model says ${says} ${roundShare(one.probability)}`;
    if (one.head === null) return [headline, 'No head looks more than usual'];
    if (model === 'recall')
        return [headline, `The state of ${head} gives back mostly what it stored at ${key} (${weight} of`];
    const cut = changes ? `the model would say ${other} (${without}).` : `${says} would fall to ${without}.`;
    return [headline, `Head ${head} looks back at ${key} (${weight}). If ${query} could not look at ${key}, ${cut}`];
}

// Fails unless the headline and the sentence of a page have the words and numbers of `run`.
export async function sameFinding(page, ...args) {
    const told = toldBy(json('-m', ...args, '--show', 'finding'), args);
    const found = [await page.innerText('#headline'), await page.innerText('#finding')];
    told.forEach((words, at) => yes(found[at].includes(words), `${args[0]}: ${found[at]}, not ${words}`));
    if (!/would/.test(told[1])) yes(!/would/.test(found[1]), `${args[0]}: ${found[1]}`);
}
