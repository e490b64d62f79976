// What the tests of pages share: pages that are written, a browser that opens them, and what is read
// of them there. See page.mjs.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

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
export const VIEWS = ['matrix', 'lines', 'model', 'text', 'space', 'table'];
export const ODD = ['我', '🍰', 'مرحبا', '</script><b>', '&', '"', '\u2028', 'Life', 'is'];

export const scratch = mkdtempSync(join(tmpdir(), 'attn-page-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));
// A browser writes to one's home, which may be nobody's.
export const browser = await chromium.launch({
    executablePath,
    args: FLAGS,
    env: { ...process.env, HOME: scratch },
});
export const counts = { passed: 0, failed: 0, skipped: 0 };

// --- the tests' tools ------------------------------------------------------------------------------

export function same(expected, found, what = '') {
    const [a, b] = [JSON.stringify(expected), JSON.stringify(found)];
    if (a === b) return;
    let at = 0; // of long ones, what differs first
    while (a[at] === b[at]) at += 1;
    const part = (text) => text.slice(Math.max(at - 40, 0), at + 160);
    throw new Error(`${what}\n    expected ${part(a)}\n    found    ${part(b)}`);
}

// Where an element stands. Playwright gives null for one that is just being redrawn: try again.
export async function boxOf(locator) {
    for (let tries = 0; tries < 100; tries++) {
        const box = await locator.boundingBox();
        if (box) return box;
        await locator.page().waitForTimeout(50);
    }
    throw new Error(`${locator} is not visible`);
}

export function yes(fact, what) {
    if (!fact) throw new Error(what);
}

// PAGE_ONLY, a pattern of names, leaves out all others.
const only = new RegExp(process.env.PAGE_ONLY || '');

export async function test(name, body) {
    if (!only.test(name)) return;
    try {
        await body();
        counts.passed += 1;
    } catch (error) {
        counts.failed += 1;
        console.log(`failed: ${name}: ${error.message}`);
    }
}

export const run = (...args) => execFileSync(attn, ['run', '-q', ...args], { maxBuffer: 2 ** 30 });
export const json = (...args) => JSON.parse(run(...args, '--format', 'json').toString());
export const attnJson = (...args) =>
    JSON.parse(execFileSync(attn, [...args, '--format', 'json'], { maxBuffer: 2 ** 30 }));
let pages = 0;

export function write(...args) {
    const path = join(scratch, `${pages++}.html`);
    run(...args, '-o', path);
    return path;
}

// A model whose words are those given, all looked at alike; it has no weights but the words' own.
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

// Open a page that must say nothing on the console and ask for nothing but itself.
export async function open(path, options = {}) {
    const context = await browser.newContext({
        viewport: { width: 1200, height: 900 },
        colorScheme: 'light',
        ...options,
    });
    context.setDefaultTimeout(120000); // a machine may be busy
    const page = await context.newPage();
    const faults = [];
    page.on('console', (message) => faults.push(`console: ${message.text()}`));
    page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
    // what the page makes itself, to take away, is no network
    page.on('request', (request) => {
        if (!/^(blob|data):/.test(request.url())) faults.push(request.url());
    });
    await page.goto(pathToFileURL(path).href);
    same(pathToFileURL(path).href, faults.shift(), 'the page itself');
    return {
        page,
        close: async () => {
            await context.close();
            same([], faults, 'what the page said or asked for');
        },
    };
}

export async function withPage(path, body, options) {
    const { page, close } = await open(path, options);
    await body(page);
    await close();
}

export const readout = (page) => page.locator('#readout').innerText();
export const plot = (page, at = 0) => page.locator('.plot canvas').nth(at);

// Point everywhere on a matrix; what the page says of each cell, by "row column".
export async function readMatrix(page, step = 9) {
    const box = await boxOf(plot(page));
    const found = new Map();
    for (let y = box.y + 2; y < Math.min(box.y + box.height, 830); y += step)
        for (let x = box.x + 2; x < Math.min(box.x + box.width, 1190); x += step) {
            await page.mouse.move(x, y);
            const text = await readout(page);
            const parts = /^(\S+) \w+ (\d+)(?: “.*?”)? → \w+ (\d+)/s.exec(text);
            if (parts) found.set(`${parts[2]} ${parts[3]}`, parts[1]);
        }
    return found;
}

// The numbers of a table, '' where there are none.
export const readTable = (page) =>
    page.$$eval('tbody tr', (rows) =>
        rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)),
    );

export const causal = (matrix) =>
    matrix.map((row, at) => row.map((value, column) => (column > at ? '' : String(value))));

// The same by the command `page`.
export function writePage(...args) {
    const path = join(scratch, `${pages++}.html`);
    execFileSync(attn, ['page', '-q', ...args, '-o', path]);
    return path;
}

// --- next tokens -----------------------------------------------------------------------------

export const cards = (page) =>
    page.$$eval('.card', (all) =>
        all.map((card) => ({
            came: card.querySelector('.came').textContent,
            names: [...card.querySelectorAll('li span')].map((one) => one.textContent),
            shares: [...card.querySelectorAll('li b')].map((one) => one.textContent),
            rest: card.querySelector('.rest').textContent,
        })),
    );
export const percent = (share) => (share < 0.00005 ? '< 0.01 %' : `${(100 * share).toFixed(2)} %`);

// The scores of a text's tokens, each with the `count` likeliest tokens in its place as `best`.
export function scoresOf(text, count) {
    const { scores, best } = attnJson('score', '-q', text, '--top', String(count)).tables;
    return scores.map((score) => ({
        ...score,
        best: best.filter((one) => one.position === score.position),
    }));
}

// The ten likeliest after each token that is shown, and the ranks of those that came.
export async function sameAsScore(page, text) {
    const found = await cards(page);
    const scored = scoresOf(text, 10);
    same(scored.length, found.length);
    scored.slice(1).forEach((token, i) => {
        same(`rank ${token.rank} · log p ${token.logprob}`, found[i + 1].came);
        same(
            token.best.map((one) => one.text.replaceAll(' ', '␣').replace('\n', '↵')),
            found[i].names,
        );
        same(
            token.best.map((one) => percent(Math.exp(one.logprob))),
            found[i].shares,
        );
    });
}
