// Two heads beside each other: the difference is that of what JSON has.
import { LIFE, json, plot, readout, same, test, withPage, writePage, yes } from './harness.mjs';

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
        await page.keyboard.press('9');
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

await test('texts of other lengths have no difference, and the page says so', () =>
    withPage(writePage('-s', LIFE, '-s', 'Life is'), async (page) => {
        await page.click('#view-compare');
        const words = await page.locator('[aria-label="Difference"]').innerText();
        yes(words.includes('7 × 7 cells, B 2 × 2'), words);
    }));
