// Cells of the matrix: masks, numbers, and sizes on screens, in presentation mode too; pages of
// encoder-decoders.
import {
    LIFE,
    boxOf,
    cellsOf,
    json,
    matrix,
    readTable,
    readout,
    same,
    showHead,
    test,
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
                    expected.map((value) => value.toFixed(2).replace(/^0|0$/, '')),
                    numbers,
                );
                same(
                    weights.map((row, r) => row.map((v, c) => (sees(r, c) ? String(v) : ''))),
                    await readTable(page),
                );
                const cells = await cellsOf(page);
                // the share of pixels with the most frequent colour: a hatch has two
                const shares = await page.locator('#stage .base').evaluate(
                    (canvas, { places, at: [x, y, side] }) => {
                        const { width, height } = canvas;
                        const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
                        const pixels = new Uint32Array(data.buffer);
                        return places.map(([row, column]) => {
                            const counts = new Map();
                            for (let i = 3; i < side - 3; i++)
                                for (let j = 3; j < side - 3; j++) {
                                    const [top, left] = [y + side * row + i, x + side * column + j];
                                    const one = pixels[Math.round(top) * width + Math.round(left)];
                                    counts.set(one, (counts.get(one) || 0) + 1);
                                }
                            return Math.max(...counts.values()) / (side - 6) ** 2;
                        });
                    },
                    { places: [[3, 2], [6, 2], [2, 6]], at: cells },
                );
                yes(weights[3][2] < 0.005 && shares[0] === 1, 'a small weight is hatched');
                yes(shares[1] < 0.9, 'a key outside of the window is not hatched');
                yes(shares[2] < 0.9, 'a later key is not hatched');
                const legend = await page.innerText('#legend');
                yes(/masked\s+no number: below 0.005/.test(legend), legend);
                await page.click('.chip[data-at="6"]');
                const ticks = await page.$$eval('#profile-rows .tick', (all) =>
                    all.map((one) => parseFloat(one.style.left).toFixed(1)),
                );
                same('50.0', ticks[0]); // one of two visible keys
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
        [REPEAT, 320],
        ['The keys to the cabinet', 300],
    ])
        await withPage(
            writePage('-s', text),
            async (page) => {
                const side = (await cellsOf(page))[3] * text.split(' ').length;
                yes(side >= least, `the cells have ${side} pixels`);
                const { y, height } = await boxOf(page.locator('#readout'));
                yes(y + height <= 720, `the readout ends at ${y + height}`);
                await page.click('.thumb[data-head="1.2"]');
                same(side, (await cellsOf(page))[3] * text.split(' ').length);
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
            await page.keyboard.press('Enter'); // Why is no part of it
            yes(!(await page.isVisible('#why')), 'Enter explains');
            await page.keyboard.press('Escape');
            yes(await page.isVisible('#grid'), 'Esc does not leave it');
            yes((await readout(page)).includes('query 12, key '), 'another cell is selected');
            await page.keyboard.press('p');
            yes(!(await page.isVisible('#grid')), 'p does not enter it');
            await page.keyboard.press('p');
            yes(await page.isVisible('#grid'), 'p does not leave it');
            await page.evaluate(() => (location.hash = 'present=1'));
            await page.locator('#grid').waitFor({ state: 'hidden' });
            await page.setViewportSize({ width: 1280, height: 900 });
            await page.waitForTimeout(300);
            yes((await cellsOf(page))[3] > 36, 'it does not follow the height of the window');
        },
        PROJECTOR,
    ));
