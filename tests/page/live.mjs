// Live pages in headless Chromium: what is typed is looked at anew, with the program's own numbers.
//
// page.mjs imports it.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import {
    LIFE,
    attn,
    counts,
    json,
    same,
    sameAsScore,
    scratch,
    test,
    withPage,
    yes,
} from './harness.mjs';

const MOST_BYTES = 3e6;
const MOST_MILLISECONDS = 150; // on machines that do much else; it is 30 at most on others
const path = join(scratch, 'live.html');

function write() {
    try {
        execFileSync(attn, ['page', '-q', '--live', '-s', LIFE, '-o', path], { stdio: 'pipe' });
        return true;
    } catch (error) {
        if (error.status !== 4) throw error; // it could not be written
        console.log('skipped: live pages: their engine is not compiled (make wasm compiles it)');
        counts.skipped += 1;
        return false;
    }
}

// A text put into the field, and all weights of the page when it has looked at it.
async function type(page, text) {
    await page.fill('#live-text', text);
    await settled(page, text);
    return weights(page);
}

const noted = (page, name, value) =>
    page
        .locator(`#live-note[data-${name}=${JSON.stringify(String(value))}]`)
        .waitFor({ state: 'attached' });
const settled = (page, text) => noted(page, 'text', text);

// Do what makes the page look anew, and wait for that.
async function anew(page, act) {
    const runs = Number(await page.getAttribute('#live-note', 'data-runs'));
    await act();
    await noted(page, 'runs', runs + 1);
}

// The table of a head and a layer, as the page shows it.
async function weights(page, layer = 0, head = 0) {
    await page.selectOption('#layer', String(layer));
    await page.locator(`.head[data-head="${head}"]`).click();
    return page.$$eval('tbody tr', (rows) =>
        rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)),
    );
}

const rowsOf = (matrix) =>
    matrix.map((row, at) => row.map((value, column) => (column > at ? '' : String(value))));

async function started(page) {
    await settled(page, LIFE);
    await page.selectOption('#tensor', 'weights');
    await page.click('#view-table');
}

const WORDS = 'the dog sat on a mat and old man ran to little house life is short'.split(' ');
const SENTENCES = Array.from({ length: 50 }, (_, at) =>
    Array.from({ length: 2 + (at % 9) }, (__, i) => WORDS[(at * 7 + i * i * 3 + i) % 16]).join(' '),
);

if (write()) {
    await test('a live page is no larger than it may be', () => {
        const { size } = statSync(path);
        yes(size <= MOST_BYTES, `expected at most ${MOST_BYTES} bytes, found ${size}`);
        const page = readFileSync(path, 'utf8').replaceAll('"http://www.w3.org/2000/svg"', '');
        yes(!/https?:\/\//.test(page), 'it names an address'); // but for a format's name
    });

    await test('what a live page would not keep is refused', () => {
        const scores = join(scratch, 'scores.csv');
        writeFileSync(scores, execFileSync(attn, ['heads', '-q', '--format', 'csv']));
        const refused = [
            ['found ids', '--ids', '1,2'],
            ['expected no --ablate', '-s', LIFE, '--ablate', '0.1'],
            ['expected no --scores', '-s', LIFE, '--scores', scores],
            ['expected no --source', '-m', 'life-cross', '-s', 'Life', '--source', 'dessert'],
        ];
        for (const [reason, ...args] of refused) {
            const other = join(scratch, 'refused.html');
            const { status, stderr } = spawnSync(attn, ['page', '--live', ...args, '-o', other]);
            same(2, status, args.join(' '));
            yes(stderr.includes('--live: ') && stderr.includes(reason), stderr.toString());
        }
    });

    await test('fifty sentences that are typed have the numbers of run', () =>
        withPage(path, async (page) => {
            await started(page);
            for (const [at, text] of SENTENCES.entries()) {
                const [one] = [json('-s', text)].flat();
                const [layer, head] = [at % 2, at % 4];
                await type(page, text);
                same(
                    rowsOf(one.tensors[`h.${layer}.weights`][head]),
                    await weights(page, layer, head),
                    text,
                );
            }
        }));

    await test('a letter is looked at before the next one is typed', () =>
        withPage(path, async (page) => {
            await started(page);
            await page.click('#view-matrix');
            const took = [];
            for (const letter of ' and then it is gone') {
                const text = (await page.inputValue('#live-text')) + letter;
                await page.locator('#live-text').press('End');
                await page.locator('#live-text').pressSequentially(letter);
                await settled(page, text);
                took.push(parseFloat(await page.innerText('#live-note')));
            }
            took.sort((a, b) => a - b); // what takes longest waited for others of the machine
            const median = took[took.length >> 1];
            console.log(`        a letter that is typed: ${took[0]} ms, median ${median} ms`);
            yes(took[0] <= MOST_MILLISECONDS, `each took ${took[0]} ms or more`);
        }));

    await test('a head that is switched off is one of --ablate, and comes back', () =>
        withPage(path, async (page) => {
            await started(page);
            const before = await weights(page, 1, 2);
            const [one] = [json('-s', LIFE, '--ablate', '0.1')].flat();
            await weights(page, 0, 1);
            await anew(page, () => page.click('#live-head'));
            same('0.1 off', await page.innerText('#live-off'));
            const off = await weights(page, 1, 2);
            same(rowsOf(one.tensors['h.1.weights'][2]), off);
            yes(JSON.stringify(before) !== JSON.stringify(off), 'nothing changed');
            await anew(page, () => page.click('#live-off button'));
            same(before, await weights(page, 1, 2));
        }));

    await test('a temperature is that of --attention-temperature', () =>
        withPage(path, async (page) => {
            await started(page);
            await anew(page, () => page.fill('#live-temperature', '2'));
            const [one] = [json('-s', LIFE, '--attention-temperature', '2')].flat();
            same(rowsOf(one.tensors['h.0.weights'][3]), await weights(page, 0, 3));
        }));

    await test('what comes next is that of the text that was typed', () =>
        withPage(path, async (page) => {
            await started(page);
            await page.click('#view-next');
            const text = 'The old man ran to the little house';
            await page.fill('#live-text', text);
            await settled(page, text);
            await sameAsScore(page, text);
        }));

    await test('two words are swapped', () =>
        withPage(path, async (page) => {
            await started(page);
            await page.selectOption('#live-one', { index: 4 });
            await page.selectOption('#live-other', { index: 0 });
            await page.click('#live-swap');
            const swapped = 'dessert is short, eat Life first';
            same(swapped, await page.inputValue('#live-text'));
            await settled(page, swapped);
            const [one] = [json('-s', swapped)].flat();
            same(rowsOf(one.tensors['h.0.weights'][0]), await weights(page, 0, 0));
        }));

    await test('what cannot be run is said, and what was seen stays', () =>
        withPage(path, async (page) => {
            await started(page);
            const before = await weights(page, 0, 0);
            same(before, await type(page, ''));
            same(
                'the text is empty: expected at least one token',
                await page.innerText('#live-note'),
            );
            same('true', await page.getAttribute('#live-text', 'aria-invalid'));
            same(before, await type(page, LIFE));
        }));
}
