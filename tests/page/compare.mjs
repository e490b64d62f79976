// Two heads beside each other: the difference is that of what JSON has.
import {
    LIFE,
    boxOf,
    json,
    plot,
    readout,
    same,
    test,
    withPage,
    writePage,
    yes,
} from './harness.mjs';

// What the difference says of a cell, by the keyboard.
async function cell(page, row, column) {
    await plot(page, 4).focus();
    await page.keyboard.press('ArrowRight');
    for (let i = 0; i < row; i++) await page.keyboard.press('ArrowDown');
    for (let i = 0; i < column; i++) await page.keyboard.press('ArrowRight');
    return Number.parseFloat(await readout(page));
}

const less = (b, a) => Math.fround(Math.fround(b) - Math.fround(a));

await test('heads, layers and texts are compared', () =>
    withPage(writePage('-s', LIFE, '-s', 'Life is long, eat dessert last'), async (page) => {
        const [a, b] = json('-s', LIFE, '-s', 'Life is long, eat dessert last');
        const weights = (one, layer, head) => one.tensors[`h.${layer}.weights`][head];
        await page.keyboard.press('8');
        same(
            less(weights(b, 0, 0)[3][1], weights(a, 0, 0)[3][1]),
            Math.fround(await cell(page, 3, 1)),
        );
        await page.selectOption('#compare-sentence-1', '0');
        await page.selectOption('#compare-layer-1', '1');
        await page.selectOption('#compare-head-1', '2');
        const difference = weights(a, 1, 2).map((row, r) =>
            row.map((value, c) => less(value, weights(a, 0, 0)[r][c])),
        );
        same(difference[5][2], Math.fround(await cell(page, 5, 2)));
        const most = difference.flat().sort((x, y) => Math.abs(y) - Math.abs(x))[0];
        const words = await page.locator('[aria-label="Difference"] p').innerText();
        same(most, Math.fround(Number(/largest (\S+)/.exec(words)[1])));
        const hash = await page.evaluate(() => location.hash);
        yes(decodeURIComponent(hash).includes('sides=0,0,0;0,1,2'), hash);
    }));

await test('an edited run stands beside the unedited one, and models beside each other', async () => {
    const edit = ['--ablate', '0.1'];
    await withPage(writePage('-s', LIFE, ...edit, '--unedited'), async (page) => {
        const texts = await page.$$eval('#sentence option', (all) => all.map((one) => one.text));
        same([`0: ${LIFE} · unedited`, `1: ${LIFE} · edited`], texts);
        const plain = json('-s', LIFE).tensors['h.1.weights'][0];
        const edited = json('-s', LIFE, ...edit).tensors['h.1.weights'][0];
        await page.click('#view-compare');
        for (const side of [0, 1]) await page.selectOption(`#compare-layer-${side}`, '1');
        same(less(edited[4][2], plain[4][2]), Math.fround(await cell(page, 4, 2)));
        yes(edited[4][2] !== plain[4][2], 'the edit changes nothing');
    });
    const two = ['-m', 'life', '-m', 'life-causal', '-s', 'Life is short'];
    await withPage(writePage(...two), async (page) => {
        await page.click('#view-compare');
        const one = json('-m', 'life', '-s', 'Life is short').tensors['h.0.weights'][0];
        const other = json('-m', 'life-causal', '-s', 'Life is short').tensors['h.0.weights'][0];
        same(less(other[2][1], one[2][1]), Math.fround(await cell(page, 2, 1)));
    });
});

// Where the three parts stand, by the width of the window: how many beside each other.
for (const [width, across] of [
    [390, 1],
    [768, 2],
    [1440, 3],
])
    for (const [what, words, chosen] of [
        ['texts', ['-s', LIFE, '-s', 'Life is long, eat dessert last'], { sentence: 1 }],
        ['heads', ['-s', LIFE], { head: 2 }],
        ['layers', ['-s', LIFE], { layer: 1, head: 0 }],
        ['models', ['-m', 'life', '-m', 'life-causal', '-s', 'Life is short eat'], { sentence: 1 }],
        ['runs', ['-s', LIFE, '--ablate', '0.1', '--unedited'], { sentence: 1, layer: 1 }],
    ])
        await test(`two ${what} are compared at ${width} pixels`, () =>
            withPage(
                writePage(...words),
                async (page) => {
                    await page.click('#view-compare');
                    for (const [field, value] of Object.entries({ layer: 0, head: 0, ...chosen }))
                        if (await page.locator(`#compare-${field}-1`).count())
                            await page.selectOption(`#compare-${field}-1`, String(value));
                    const boxes = await Promise.all(
                        (await page.locator('.side').all()).map((one) => boxOf(one)),
                    );
                    const first = boxes.filter((box) => Math.abs(box.y - boxes[0].y) < 1);
                    same([3, across], [boxes.length, first.length]);
                    const tops = await page.$$eval('.side .plot', (all) =>
                        all.map((one) => Math.round(one.getBoundingClientRect().top)),
                    );
                    same(1, new Set(tops.slice(0, across)).size, 'matrices on one line');
                    const wider = await page.evaluate(
                        () => document.documentElement.scrollWidth - window.innerWidth,
                    );
                    yes(wider <= 0, `${wider} pixels too wide`);
                    // what stands in the difference is that of what stands beside it
                    const seen = [];
                    for (const at of [0, 2, 4]) {
                        await plot(page, at).focus();
                        for (const key of ['ArrowRight', 'ArrowDown', 'ArrowDown'])
                            await page.keyboard.press(key);
                        seen.push(Number.parseFloat(await readout(page)));
                    }
                    same(less(seen[1], seen[0]), Math.fround(seen[2]));
                    yes(seen[2] !== 0, 'there is no difference');
                },
                { viewport: { width, height: 850 } },
            ));

await test('a difference names the tokens of both texts', () =>
    withPage(writePage('-s', LIFE, '-s', 'Life is long, eat dessert last'), async (page) => {
        await page.click('#view-compare');
        await cell(page, 6, 2);
        const said = await readout(page);
        yes(said.includes('“␣first / ␣last” → key 2 “␣short / ␣long”'), said);
    }));

await test('texts of other lengths have no difference, and the page says so', () =>
    withPage(writePage('-s', LIFE, '-s', 'Life is'), async (page) => {
        await page.click('#view-compare');
        const words = await page.locator('[aria-label="Difference"]').innerText();
        yes(words.includes('7 × 7 cells, B 2 × 2'), words);
    }));
