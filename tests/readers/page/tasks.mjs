// Ten tasks of a reader, solved only with the content of a page: a live page of tiny (live.mjs), or
// here, a page without an engine.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
    LIFE,
    attn,
    attnJson,
    bars,
    go,
    json,
    matrix,
    percent,
    pixels,
    plain,
    readTable,
    readout,
    run,
    same,
    scoresOf,
    scratch,
    showHead,
    test,
    withPage,
    writePage,
    yes,
} from './harness.mjs';

const HALF = 'red fox green boat small lamp old';
export const REPEAT = `${HALF} door ${HALF}`;
const WIDE = { viewport: { width: 1440, height: 900 } };
const path = writePage('-s', REPEAT);

// The page's induction score: mean weight on the tokens after earlier occurrences of a word.
function inductionOf(weights, words) {
    let [sum, count] = [0, 0];
    words.forEach((word, query) => {
        const before = words.slice(0, query).flatMap((one, at) => (one === word ? [at + 1] : []));
        if (!query || !before.length) return;
        sum += before.reduce((all, key) => all + weights[query][key], 0);
        count += 1;
    });
    return sum / count;
}

await test('task 1: the sentence names the induction heads, and the matrix outlines them', () =>
    withPage(
        path,
        async (page) => {
            const { tensors } = json('-s', REPEAT);
            const expected = [0, 1].flatMap((layer) =>
                tensors[`h.${layer}.weights`].flatMap((head, at) =>
                    inductionOf(head, REPEAT.split(' ')) >= 0.5 ? [`${layer}.${at}`] : [],
                ),
            );
            await page.click('#scores summary');
            const text = await page.innerText('#roles');
            same(['1.0', '1.1', '1.3'], expected);
            yes(text.startsWith('On this text L1H0, L1H1 and L1H3 are induction heads: they'), text);
            yes(text.includes('L0H1 attends to the previous token.'), text);
            await page.click('#roles button >> text=L1H1');
            same('L1H1 induction head', await page.innerText('#head-title'));
            const legend = await page.innerText('#legend');
            yes(legend.includes('perfect induction'), legend);
            const of = inductionOf(tensors['h.1.weights'][1], REPEAT.split(' '));
            same(`mean ${of.toFixed(2)}`, await page.innerText('#head-score'));
            const framed = await pixels(page);
            await page.click('.thumb[data-head="1.2"]');
            same('L1H2 mixed head', await page.innerText('#head-title'));
            yes(framed !== (await pixels(page)), 'the same picture');
        },
        WIDE,
    ));

await test('task 2: the reason of a weight, opened by mouse and closed by Esc', () =>
    withPage(
        path,
        async (page) => {
            await showHead(page, '1.1');
            await page.click('#why-button');
            const verdict = await page.innerText('#why .verdict');
            same('60.2 % of this query’s attention, the highest of 15 visible keys', verdict);
            const lead = await page.innerText('#why .lead');
            yes(
                lead.startsWith('Its scaled score, 14.19, is 0.51 above “red” 0, the next key'),
                lead,
            );
            // the parts sum to the lead of 0.51
            const parts = await page.$$eval('#why .bar:has(.axis) .value', (all) =>
                all.map((one) => Number(one.textContent.replace('−', '-'))),
            );
            yes(Math.abs(parts.reduce((a, b) => a + b, 0) - 0.51) < 0.05, parts.join());
            const below = page.locator('#why .meter i.below').first();
            same(
                'rgb(214, 95, 0)',
                await below.evaluate((one) => getComputedStyle(one).backgroundColor),
            );
            await page.keyboard.press('Escape');
            await page.locator('#why').waitFor({ state: 'hidden' });
        },
        WIDE,
    ));

await test('task 3: the next tokens, their probabilities and the step that adds them', () =>
    withPage(
        path,
        async (page) => {
            const scored = scoresOf(REPEAT, 10);
            const { tables } = attnJson('lens', '-q', REPEAT, '--top', '3');
            for (const at of [13, 7]) {
                await page.click(`.chip[data-at="${at}"]`);
                same(
                    scored[at + 1].best.map((one) => [
                        one.text.replaceAll(' ', '␣').replace('\n', '↵'),
                        percent(Math.exp(one.logprob)),
                    ]),
                    await bars(page),
                );
                const rows = await page.$$eval('#layer-rows tr', (all) =>
                    all.map((row) =>
                        [...row.querySelectorAll('span')].map((one) => one.textContent),
                    ),
                );
                same(5, rows.length);
                for (const layer of [0, 1]) {
                    const best = tables.best.filter(
                        (one) => one.layer === layer && one.position === at,
                    );
                    same(
                        best.flatMap((one) => [plain(one.text), percent(Math.exp(one.logprob))]),
                        rows[2 + 2 * layer],
                    );
                }
            }
            await page.click('.chip[data-at="14"]');
            const entry = await page.innerText('#entry');
            same('“door” rises most with attention 1: < 0.1 % → 94.1 %.', entry);
        },
        WIDE,
    ));

await test('task 6: two sentences or runs are compared from the largest change', async () => {
    const other = REPEAT.replace('door', 'tree');
    await withPage(
        writePage('-s', REPEAT, '-s', other),
        async (page) => {
            await page.selectOption('#sentence', '1');
            await page.click('.chip[data-at="10"]'); // other queries have larger changes
            await page.selectOption('#compare', '0');
            const [a, b] = [json('-s', REPEAT), json('-s', other)];
            let most = [0];
            for (const layer of [0, 1])
                b.tensors[`h.${layer}.weights`].forEach((head, h) =>
                    head[10].forEach((value, c) => {
                        const by = value - a.tensors[`h.${layer}.weights`][h][10][c];
                        if (Math.abs(by) > Math.abs(most[0])) most = [by, layer, h, 10, c];
                    }),
                );
            same('10', await page.getAttribute('.chip[aria-pressed="true"]', 'data-at'));
            const [by, layer, head, row, column] = most;
            const text = await readout(page);
            yes(text.startsWith(`${by < 0 ? '−' : '+'}${Math.abs(by).toFixed(2)}`), text);
            yes(text.includes(`query ${row}, key ${column}`), text);
            same(`L${layer}H${head} compared with A`, await page.innerText('#head-title'));
            const legend = await page.innerText('#legend');
            yes(/less\s+more than in A/.test(legend), legend);
            same(`A: ${REPEAT}`, await page.innerText('#pinned .pin-name'));
            same(
                Math.fround(by).toFixed(4),
                Number((await readTable(page))[row][column]).toFixed(4),
            );
        },
        WIDE,
    );
    await withPage(
        writePage('-s', REPEAT, '-s', other),
        async (page) => {
            await go(page, 'sentence=1&pin=0&head=0.0&cell=14,7');
            same('−0.0047', await page.innerText('#value')); // not −0.00
            same('old → door/tree', await page.innerText('#pair'));
        },
        WIDE,
    );
    const long = `${REPEAT} door`;
    await withPage(writePage('-s', long, '--ablate', '0.1', '--unedited'), async (page) => {
        await page.setViewportSize({ width: 1024, height: 768 });
        await page.selectOption('#compare', '1');
        yes((await page.innerText('#pinned')).includes('edited'), 'no name of the run');
        yes(await page.isVisible('.disc'), 'no head changed');
        const width = await page.locator('#effect').evaluate((one) => one.offsetWidth);
        yes(width > 400, `the sentence has ${width} pixels`);
        await page.click('.chip[data-at="8"]');
        const names = await page.$$eval('#layer-rows tr:nth-child(4) span:first-child', (all) =>
            all.map((one) => one.textContent),
        );
        same(['fox', 'wolf', 'bell'], names);
    });
    await withPage(writePage('-s', LIFE, '-s', 'Life is'), async (page) => {
        await page.selectOption('#compare', '1');
        // the rows of a text that goes on are the same
        yes(!(await page.innerText('#head-title')).includes('compared'), 'texts of other lengths');
        same(7, (await readTable(page)).length);
        await go(page, 'sentence=1&pin=0&cell=1,0');
        same('Prediction after “is”', await page.innerText('#follows'));
        yes((await readout(page)).includes('query 1, key 0'), await readout(page));
    });
});

await test('models whose heads have other roles are compared in both orders', async () => {
    const words = 'Life is short';
    const models = ['life', 'life-causal'];
    for (const [b, a] of [models, [...models].reverse()])
        await withPage(writePage('-m', b, '-m', a, '-s', words), async (page) => {
            await page.selectOption('#compare', '1');
            const [now, then] = [b, a].map((m) => json('-m', m, '-s', words).tensors['h.0.weights']);
            const cells = now[0].flatMap((row, r) =>
                row.map((value, c) => ({ by: value - (then[0][r][c] ?? 0), r, c })),
            );
            const most = [...cells].sort((x, y) => Math.abs(y.by) - Math.abs(x.by))[0];
            const text = await readout(page);
            const by = `${most.by < 0 ? '−' : '+'}${Math.abs(most.by).toFixed(2)}`;
            yes(text.startsWith(by), `${text} is not ${by}`);
            same('L0H0 compared with A', await page.innerText('#head-title'));
            // a weight that one of the models masks is 0 there
            const shown = (await readTable(page)).flat().map(Number);
            for (const [at, cell] of cells.entries())
                yes(Math.abs(cell.by - shown[at]) < 1e-6, `${cell.r} ${cell.c}: ${shown[at]}`);
            const corner = (await page.innerText('#legend')).includes('corner: masked in A');
            same(b === 'life', corner, 'masked cells');
            await go(page, 'sentence=0&pin=1&cell=0,2');
            yes(/masked in [AB]/.test(await readout(page)), await readout(page));
            const distance = cells.reduce((sum, cell) => sum + Math.abs(cell.by), 0) / 2 / 3;
            same(distance.toFixed(2).slice(1), (await page.innerText('.disc')).trim());
        });
});

await test('a comparison opens on the largest change of all tokens, unless one is selected', async () => {
    const [one, other] = ['The keys to it are on the table', 'The key to it is on the table'];
    const tokens = [one, other].map((text) => json('-s', text).tokens.length);
    same(tokens[0], tokens[1]);
    await withPage(
        writePage('-s', one, '-s', other),
        async (page) => {
            await page.selectOption('#compare', '1');
            const [now, then] = [one, other].map((text) => json('-s', text).tensors);
            let most = [0];
            for (const layer of [0, 1])
                now[`h.${layer}.weights`].forEach((head, h) =>
                    head.forEach((row, r) =>
                        row.forEach((value, c) => {
                            const by = value - then[`h.${layer}.weights`][h][r][c];
                            if (Math.abs(by) > Math.abs(most[0])) most = [by, layer, h, r, c];
                        }),
                    ),
                );
            const [by, layer, head, row, column] = most;
            same(`L${layer}H${head} compared with A`, await page.innerText('#head-title'));
            const text = await readout(page);
            yes(text.startsWith(`${by < 0 ? '−' : '+'}${Math.abs(by).toFixed(2)}`), text);
            yes(text.includes(`query ${row}, key ${column}`), text);
        },
        WIDE,
    );
});

await test('labels are cut at their end, and the legend defines the change', () =>
    withPage(
        writePage('-s', 'The keys to the cabinet', '-s', 'The key to the cabinets'),
        async (page) => {
            // a label that crosses the edge leaves ink there
            const inkAtEdges = () =>
                matrix(page).evaluate((canvas) => {
                    const { width, height } = canvas;
                    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
                    const inkAt = (x) => data.filter((byte, at) => byte && (at >> 2) % width === x);
                    return [0, width - 1].map((x) => inkAt(x).length);
                });
            same([0, 0], await inkAtEdges(), 'one text');
            await page.selectOption('#compare', '1');
            same([0, 0], await inkAtEdges(), 'two texts');
            const legend = await page.innerText('#legend');
            yes(/less\s+more than in A/.test(legend), legend);
        },
        WIDE,
    ));

const ODD_TEXT = `it's "short", $HOME`;

// The file that a button of the dialog downloads.
async function take(page, kind) {
    const coming = page.waitForEvent('download');
    await page.click('#export-button');
    await page.click(`#export-${kind}`);
    const file = join(scratch, `taken.${kind}`);
    await (await coming).saveAs(file);
    return readFileSync(file);
}

await test('task 7: the numbers are exact in the table and in CSV, and the view is a PNG', () =>
    withPage(writePage('-s', ODD_TEXT, '--show', 'weights,masked,context'), async (page) => {
        for (const [tensor, layer, head] of [
            ['weights', 0, 1],
            ['masked', 1, 3],
            ['context', 0, 2],
        ]) {
            await showHead(page, `${layer}.${head}`, tensor);
            const where = ['--show', tensor, '--layer', `${layer}`, '--head', `${head}`];
            const expected = run('-s', ODD_TEXT, ...where, '--format', 'csv').toString();
            same(expected, (await take(page, 'csv')).toString());
        }
        const png = await take(page, 'png');
        same('89504e47', png.subarray(0, 4).toString('hex'));
        const width = await matrix(page).evaluate((one) => one.getBoundingClientRect().width);
        yes(png.readUInt32BE(16) >= 2 * width, `${png.readUInt32BE(16)} pixels`);
    }));

await test('the export of a change has the numbers of the screen', () =>
    withPage(writePage('-s', LIFE, '-s', 'Life is short, eat short first'), async (page) => {
        const head = ['--layer', '1', '--head', '1', '--format', 'csv'];
        const [b, a] = [LIFE, 'Life is short, eat short first'].map((text) =>
            run('-s', text, ...head).toString(),
        );
        await go(page, 'pin=1&head=1.1');
        const coming = page.waitForEvent('download');
        const taken = (await take(page, 'csv')).toString();
        same('weights-1.1-change.csv', (await coming).suggestedFilename());
        await page.click('#command');
        const lines = await page.locator('#export code').allInnerTexts();
        const made = (line) =>
            execFileSync('sh', ['-c', `${line.replace('attn-cli', attn)} --format csv`]).toString();
        same([a, b], lines.map(made), 'change');
        const [before, now, change] = [a, b, taken].map((text) =>
            text.split('\n').map((line) => line.split(',')),
        );
        same('change query\\key', change[0][0]);
        const [was, is, by] = [before, now, change].map((rows) => Number(rows[6][2]));
        yes(by, 'no change');
        same(Math.fround(Math.fround(is) - Math.fround(was)), Math.fround(by), 'change');
    }));

await test('task 8: the command reproduces the head', () =>
    withPage(writePage('-s', ODD_TEXT, '--scale', '0.25', '--ablate', '0.1'), async (page) => {
        await showHead(page, '1.2');
        await page.click('#command');
        const line = await page.innerText('#export code');
        yes(line.includes('--ablate 0.1'), line);
        await page.keyboard.press('Escape');
        const shell = `${line.replace('attn-cli', attn)} --format csv`;
        const made = execFileSync('sh', ['-c', shell]).toString();
        same(made, (await take(page, 'csv')).toString());
    }));

await test('task 10: all parts work by keyboard', () =>
    withPage(
        path,
        async (page) => {
            const press = async (...keys) => {
                for (const key of keys) await page.keyboard.press(key);
            };
            const focused = (selector) =>
                page.evaluate((one) => document.activeElement.matches(one), selector);
            await press('Tab');
            yes(await focused('.skip'), 'no skip link first');
            // all chips are one tab stop; arrow keys move within them
            await page.locator('.chip[tabindex="0"]').focus();
            same(1, await page.locator('.chip[tabindex="0"]').count());
            await press('ArrowLeft', 'Enter');
            yes((await page.innerText('#follows')).includes('lamp'), 'no other token');
            await press('Tab');
            yes(!(await focused('.chip')), 'more than one stop in the chips');
            await page.locator('.thumb[tabindex="0"]').focus();
            await press('ArrowUp', 'ArrowRight', 'Enter');
            yes((await page.innerText('#head-title')).startsWith('L0H1 '), 'another head');
            yes(await focused('.thumb[data-head="0.1"]'), 'the focus is lost');
            await press('m');
            yes(await focused('.over'), 'm does not lead to the matrix');
            await press('ArrowUp', 'ArrowLeft');
            const before = await readout(page);
            await press('Enter');
            yes(await page.isVisible('#why'), 'Enter explains nothing');
            yes(await focused('#why'), 'the panel has no focus');
            await press('Escape');
            await page.locator('#why').waitFor({ state: 'hidden' });
            yes(await focused('.over'), 'Esc does not return to the matrix');
            same(before, await readout(page));
            await press('?');
            yes(await page.isVisible('#keys'), '? opens nothing');
            await press('Escape');
            await press('e');
            yes(await page.isVisible('#export'), 'e opens nothing');
            await press('Escape');
            // numbers, by Tab and Enter
            await page.locator('#numbers summary').focus();
            await press('Enter');
            await page.locator('#numbers table').waitFor();
        },
        WIDE,
    ));

await test('a link restores head, cell, Why and scale, and ignores bad values', async () => {
    let hash = '';
    let said = '';
    await withPage(path, async (page) => {
        same('', await page.evaluate(() => location.hash));
        await showHead(page, '1.0');
        await page.keyboard.press('s');
        await page.keyboard.press('m');
        await page.keyboard.press('ArrowUp');
        await page.keyboard.press('Enter');
        said = await readout(page);
        hash = await page.evaluate(() => location.hash.slice(1));
    });
    await withPage(path, async (page) => {
        await go(page, hash);
        same(said, await readout(page));
        same('L1H0 induction head', await page.innerText('#head-title'));
        yes(await page.isVisible('#why'), 'the cell is not explained');
        await go(page, 'head=7.9&cell=99,99&sentence=9&scale=x&view=y&show=z&pin=5');
        yes(await page.isVisible('#stage .base'), 'nothing is drawn');
        await go(page, hash);
        same(said, await readout(page));
    });
});

await test('a malformed address shows the page', async () => {
    const tour = join(scratch, 'address.html');
    execFileSync(attn, ['lesson', '-o', tour]);
    const numbers = ['0.5', '-1', 'x', '', '1e400', '9,9', '0.5,0.5', '0.0.0', '__proto__'];
    for (const path of [writePage('Life is short'), tour])
        await withPage(path, async (page) => {
            const said = async () => (await page.innerText('main')).length > 300;
            for (const name of ['step', 'sentence', 'cell', 'token', 'head', 'pin', 'show'])
                for (const value of numbers) {
                    await page.evaluate((hash) => (location.hash = hash), `${name}=${value}`);
                    yes(await said(), `nothing is shown at ${name}=${value}`);
                }
            await page.goto(`${pathToFileURL(path).href}#step=x`);
            await page.reload();
            yes(await said(), 'nothing is shown at #step=x');
        });
});

await test('head scores of the page equal those of the command `heads`', () =>
    withPage(path, async (page) => {
        const { heads } = attnJson('heads', '-q', '-s', REPEAT).tables;
        await showHead(page, '1.1');
        await page.click('#scores summary');
        const found = await page.$$eval('#scores dt, #scores dd:not(.highest)', (all) =>
            all.map((one) => one.textContent),
        );
        const mine = heads.find((one) => one.layer === 1 && one.head === 1);
        for (let i = 0; i < found.length; i += 2) {
            const value = mine[found[i]] ?? mine[found[i].replaceAll('-', '_')];
            const text = value === null ? '–' : String(Number(value.toPrecision(4)));
            same(text, found[i + 1].replace('−', '-'), found[i]);
        }
        yes(found.length >= 8, `${found.length} scores`);
    }));
