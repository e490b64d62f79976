// Cells of the matrix: masks, numbers, and sizes on screens, in presentation mode too; pages of
// encoder-decoders and masked models.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import {
    LIFE,
    attnJson,
    bars,
    boxOf,
    cellsOf,
    fillsOf,
    go,
    json,
    launch,
    percent,
    plain,
    readTable,
    readout,
    run,
    same,
    scratch,
    test,
    until,
    withPage,
    writePage,
    yes,
} from './harness.mjs';

// Reload the page at `hash` and return the texts that a canvas of the matrix then draws.
async function drawn(page, name, hash) {
    await page.addInitScript(() => {
        window.drawn = [];
        const draw = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function fill(text, ...at) {
            window.drawn.push([this.canvas.className, text, parseFloat(/[\d.]+px/.exec(this.font))]);
            draw.call(this, text, ...at);
        };
    });
    await page.goto(`${page.url().split('#')[0]}#${hash}`);
    await page.reload();
    const all = await page.evaluate(() => window.drawn);
    return all.filter(([canvas]) => canvas === name).map(([, ...text]) => text);
}

await test('cells that any mask hides are hatched, and small weights are blank', async () => {
    const window = ['-s', LIFE, '--attention', 'window:2'];
    const weights = json(...window).tensors['h.1.weights'][1];
    const sees = (row, column) => column <= row && column > row - 2;
    for (const colorScheme of ['light', 'dark'])
        await withPage(
            writePage(...window),
            async (page) => {
                const numbers = (await drawn(page, 'base', 'head=1.1')).map(([text]) => text);
                const expected = weights.flatMap((row, r) =>
                    row.flatMap((value, c) => (sees(r, c) && value >= 0.005 ? [value] : [])),
                );
                same(
                    expected.map((value) =>
                        (value >= 0.995 && value < 0.99995 ? '> .99'
                            : value.toFixed(2).replace(/^0|0$/, ''))),
                    numbers,
                );
                same(
                    weights.map((row, r) => row.map((v, c) => (sees(r, c) ? String(v) : ''))),
                    await readTable(page),
                );
                const cells = await cellsOf(page);
                // the share of pixels with the most frequent colour: a hatch has two
                const shares = await page.locator('#stage .base').evaluate(
                    (canvas, { places, at: [x, y, wide, high] }) => {
                        const { width, height } = canvas;
                        const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
                        const pixels = new Uint32Array(data.buffer);
                        return places.map(([row, column]) => {
                            const counts = new Map();
                            for (let i = 3; i < high - 3; i++)
                                for (let j = 3; j < wide - 3; j++) {
                                    const [top, left] = [y + high * row + i, x + wide * column + j];
                                    const one = pixels[Math.round(top) * width + Math.round(left)];
                                    counts.set(one, (counts.get(one) || 0) + 1);
                                }
                            return Math.max(...counts.values()) / ((high - 6) * (wide - 6));
                        });
                    },
                    { places: [[3, 2], [6, 2], [2, 6]], at: cells },
                );
                yes(weights[3][2] < 0.005 && shares[0] === 1, 'a small weight is hatched');
                yes(shares[1] < 0.9, 'a key outside of the window is not hatched');
                yes(shares[2] < 0.9, 'a later key is not hatched');
                const legend = await page.innerText('#legend');
                yes(/masked\s+no number: below 0.005/.test(legend), legend);
            },
            { viewport: { width: 1440, height: 900 }, colorScheme },
        );
});

const HALF = 'red fox green boat small lamp old';
const REPEAT = `${HALF} door ${HALF}`;
const repeat = writePage('-s', REPEAT);
const PROJECTOR = { viewport: { width: 1280, height: 720 } };

await test('at 1280 × 720 the matrix fills the room that it has', async () => {
    for (const [text, least] of [
        [REPEAT, 220],
        ['The keys to the cabinet', 200],
    ])
        await withPage(
            writePage('-s', text),
            async (page) => {
                const count = text.split(' ').length;
                const [left, , wide, high] = await cellsOf(page);
                const side = high * count;
                yes(side >= least, `the cells have ${side} pixels`);
                const column = await boxOf(page.locator('#middle'));
                yes(left + wide * count > 0.98 * column.width, 'it does not fill its column');
                const { y, height } = await boxOf(page.locator('#readout'));
                yes(y + height <= 720, `the readout ends at ${y + height}`);
                await page.click('.thumb[data-head="1.2"]');
                same(side, (await cellsOf(page))[3] * count);
            },
            PROJECTOR,
        );
});

for (const [width, height, colorScheme] of [
    [1024, 768, 'light'],
    [1280, 720, 'dark'],
    [1440, 900, 'light'],
    [1920, 1080, 'light'],
])
    await test(`a presentation fills a projector of ${width} × ${height} pixels`, () =>
        withPage(
            repeat,
            async (page) => {
                await page.click('#present');
                const cells = (await cellsOf(page))[3] * 15;
                yes(cells > 0.68 * height, `the cells have ${cells} of ${height} pixels`);
                const [[, inCells]] = await drawn(page, 'base', 'present=1');
                const labels = (await drawn(page, 'over', 'present=1')).filter(
                    ([text]) => text === 'lamp',
                );
                yes(inCells >= 0.018 * height, `numbers of ${inCells} pixels`);
                yes(labels[0][1] >= 0.024 * height, `labels of ${labels[0][1]} pixels`);
                const size = await page.$eval('#bars .name', (one) =>
                    parseFloat(getComputedStyle(one).fontSize),
                );
                yes(size >= 0.026 * height, `predictions of ${size} pixels`);
                const [wide, high] = await page.evaluate(() => [
                    document.documentElement.scrollWidth,
                    document.documentElement.scrollHeight,
                ]);
                yes(wide <= width && high <= height, `${wide} × ${high} pixels`);
                for (const part of ['#chips', '#roles', '#grid', '#layers', '#legend', '#export'])
                    yes(!(await page.isVisible(part)), `${part} is visible`);
                const place = page.locator('#plain, #stage .base, #head-title, #bars li >> nth=9');
                for (const part of await place.all()) {
                    const box = await boxOf(part);
                    yes(box.x + box.width <= width, `${part} ends at ${box.x + box.width}`);
                    yes(box.y + box.height <= height, `${part} ends at ${box.y + box.height}`);
                }
            },
            { viewport: { width, height }, colorScheme },
        ));

await test('beside a scroll bar the matrix ends inside its column', async () => {
    const by = await launch({ ignoreDefaultArgs: ['--hide-scrollbars'] });
    for (const [width, height] of [
        [1280, 720],
        [1440, 900],
        [390, 844],
    ])
        await withPage(
            repeat,
            async (page) => {
                const [ends, room, bar] = await page.evaluate(() => [
                    document.querySelector('#stage .sheet').getBoundingClientRect().right,
                    document.querySelector('#middle').getBoundingClientRect().right,
                    window.innerWidth - document.documentElement.clientWidth,
                ]);
                yes(bar > 0, 'no scroll bar');
                yes(ends <= room, `${width}: the matrix ends at ${ends}, its column at ${room}`);
            },
            { viewport: { width, height }, by },
        );
    await by.close();
});

await test('Enter explains the marked cell before anything has the focus', () =>
    withPage(repeat, async (page) => {
        const marked = await page.innerText('#pair');
        await page.keyboard.press('Enter');
        await page.locator('#why.open').waitFor();
        same(marked, await page.innerText('#pair'));
    }));

await test('texts that begin alike have names that differ where a list is narrow', () =>
    withPage(
        writePage(
            ...['-s', 'The dog did not cross the old road because it was too tired'],
            ...['-s', 'The dog did not cross the old road because it was too wide'],
        ),
        async (page) => {
            const names = await page.locator('#sentence option').allInnerTexts();
            same('The dog did… it was too tired, The dog did… it was too wide', names.join(', '));
        },
    ));

await test('a presentation has keys for cells and heads, and its link; p and Esc leave it', () =>
    withPage(
        repeat,
        async (page) => {
            await page.keyboard.press('p');
            const hash = await page.evaluate(() => location.hash);
            same('#present=1', hash);
            const before = await page.innerText('#head-title');
            await page.keyboard.press(']');
            yes(before !== (await page.innerText('#head-title')), 'the same head');
            for (const key of ['ArrowUp', 'ArrowUp', 'ArrowLeft']) await page.keyboard.press(key);
            same('Prediction after “small”', await page.innerText('#follows'));
            same('small', (await page.innerText('#pair')).split(' → ')[0]);
            await page.keyboard.press('Enter');
            await page.locator('#why.open').waitFor();
            for (const key of ['Escape', 'Escape']) await page.keyboard.press(key);
            yes(await page.isVisible('#grid'), 'Esc does not leave it');
            yes((await readout(page)).includes('query 12, key '), 'another cell is selected');
            await page.keyboard.press('p');
            yes(!(await page.isVisible('#grid')), 'p does not enter it');
            await page.keyboard.press('p');
            yes(await page.isVisible('#grid'), 'p does not leave it');
            await page.evaluate(() => (location.hash = 'present=1'));
            await page.locator('#grid').waitFor({ state: 'hidden' });
            await page.setViewportSize({ width: 1280, height: 900 });
            await until(
                async () => (await cellsOf(page))[3] > 36,
                'it follows the height of the window',
            );
        },
        PROJECTOR,
    ));

// --- encoder-decoders ----------------------------------------------------------------------------

const TARGET = '<s> le petit chat noir dort';
const SOURCE = 'the small black cat sleeps';
const both = ['-m', 'translate', '-s', TARGET, '--source', SOURCE];

await test('an encoder-decoder opens on cross-attention, with its source and predictions', () =>
    withPage(
        writePage(...both),
        async (page) => {
            same('cross_weights', await page.inputValue('#tensor'));
            yes((await page.innerText('#head-title')).endsWith(' cross-attention'), 'no name');
            same(`${SOURCE} → ${TARGET}`, await page.innerText('#plain'));
            const chips = (id) => page.locator(`#${id} .chip`).allInnerTexts();
            same(SOURCE.split(' '), await chips('source'));
            same(TARGET.split(' '), await chips('chips'));
            await page.click('#scores summary');
            const sentence = await page.innerText('#roles');
            yes(sentence.startsWith('Each row predicts the word after'), sentence);
            yes(sentence.endsWith(' source. L0H0: layer 0, head 0'), sentence);
            const { cross_weights: weights } = Object.fromEntries(
                Object.entries(json(...both).tensors).map(([name, one]) => [name.slice(4), one[0]]),
            );
            same(
                weights.map((row) => row.map(String)),
                await readTable(page),
            );
            const words = ['score', '-q', '-m', 'translate', `${TARGET} </s>`, '--source', SOURCE];
            const { best } = attnJson(...words, '--top', '10').tables;
            for (const at of [2, 4, 5]) { // a row has the word that it writes
                await page.click(`#chips .chip[data-at="${at}"]`);
                same(
                    best
                        .filter((one) => one.position === at)
                        .map((one) => [plain(one.text), percent(Math.exp(one.logprob))]),
                    await bars(page),
                );
            }
            await page.click('#chips .chip[data-at="3"]');
            same('petit → chat attends to cat', await page.innerText('#pair'));
            same('cat', await page.innerText('#source .chip[aria-pressed="true"]'));
            await page.hover('#source .chip[data-at="1"]');
            same('petit → chat attends to small', await page.innerText('#pair'));
            await page.click('#source .chip[data-at="2"]');
            yes((await readout(page)).includes('query 2, key 2'), await readout(page));
            await page.selectOption('#tensor', 'weights'); // whose tokens are not the encoder's
            await page.selectOption('#tensor', 'enc.weights');
            await page.click('#source .chip[data-at="3"]');
            same('cat', (await page.innerText('#pair')).split(' → ')[0]);
            same(0, await page.locator('#chips .chip[aria-pressed="true"]').count());
            await page.hover('#chips .chip[data-at="0"]'); // it is not in this matrix
            same('cat', (await page.innerText('#pair')).split(' → ')[0]);
        },
        PROJECTOR,
    ));

await test('rows of a page of cross-attention have the names of the figure', async () => {
    const svg = join(scratch, 'cross.svg');
    run(...both, '--show', 'cross_weights', '-o', svg);
    const figure = [...readFileSync(svg, 'utf8').matchAll(/<text[^>]*>([^<]*)/g)].map(([, a]) =>
        a.replaceAll('&lt;', '<').replaceAll('&gt;', '>'),
    );
    for (const viewport of [PROJECTOR.viewport, { width: 390, height: 844 }])
        await withPage(
            writePage(...both),
            async (page) => {
                const drawnRows = await drawn(page, 'over', '');
                const rows = drawnRows.map(([text]) => text).filter((text) => / → /.test(text));
                same(['<s> → le', 'le → petit'], rows.slice(0, 2));
                for (const row of rows) yes(figure.includes(row), `${row}: ${figure}`);
            },
            { viewport, isMobile: viewport.width < 720 },
        );
});

await test('a word that no step makes more likely is not said to rise', async () => {
    const ids = ['--ids', '9,12,9', '--source', '5,11,12,5', '--explain', 'none'];
    await withPage(writePage('-m', 'tests/references/golden-families/marian', ...ids), async (page) => {
        for (const [at, entry] of [
            [0, /^“.*” rises most with layer 1/],
            [2, /^$/],
        ]) {
            await page.click(`#chips .chip[data-at="${at}"]`);
            yes(entry.test(await page.innerText('#entry')), `${at}`);
        }
    });
});

// --- masked models -------------------------------------------------------------------------------

await test('a page of a masked model shows the words of score at the selected or last mask', () => {
    const text = 'The [MASK] sat on the [MASK]';
    return withPage(writePage('-m', 'cloze', text), async (page) => {
        for (const [at, mask] of [
            [6, 6],
            [2, 2],
            [3, 6],
        ]) {
            await page.click(`#chips .chip[data-at="${at}"]`);
            same(fillsOf(text, mask), await bars(page));
            same('Prediction at “[MASK]”', await page.innerText('#follows'));
        }
        await page.click('#language');
        same('“[MASK]”处的预测', await page.innerText('#follows'));
    });
});

await test('a page of a pair fills masks of both, and its command names the second text', () => {
    const pair = ['--pair', 'The [MASK] ran'];
    return withPage(writePage('-m', 'cloze', 'The cat sat', ...pair), async (page) => {
        same(fillsOf('The cat sat', 6, ...pair), await bars(page));
        await page.click('#export-button');
        const line = await page.innerText('#export-command');
        yes(/--pair .The \[MASK\] ran. /.test(line), line);
    });
});

await test('without a mask, a page of a masked model has no predictions', () =>
    withPage(writePage('-m', 'cloze', 'The cat sat'), async (page) => {
        yes(!(await page.isVisible('#right')), await page.innerText('#right'));
    }));

await test('the sink of a head is a last column, no key to explain or to attend to', async () => {
    const model = ['-m', join(process.env.ROOT, 'tests/references/golden-families/gpt_oss'), '--ids', '5,1,12'];
    const { tensors } = attnJson('run', ...model, '--show', 'weights,sink');
    const rows = tensors['h.1.weights'][1].map((row, at) => [
        ...row.map((value, key) => (key <= at ? String(value) : '')),
        String(tensors['h.1.sink'][1][at]),
    ]);
    await withPage(writePage(...model), async (page) => {
        await drawn(page, 'base', 'head=1.1');
        same(rows, await readTable(page));
        await go(page, 'head=1.1&cell=1,3&why=1');
        yes((await readout(page)).includes('sink'), await readout(page));
        same(8, await page.locator('#grid .role:text-is("mixed")').count());
    });
});
