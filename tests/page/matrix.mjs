// Cells of the matrix: masks, numbers, and sizes on screens, in presentation mode too; pages of
// encoder-decoders.
import {
    LIFE,
    boxOf,
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
                // the share of pixels with the most frequent colour: a hatch has two
                const even = (row, column) =>
                    page.locator('#stage .base').evaluate(
                        (canvas, [r, c]) => {
                            const context = canvas.getContext('2d');
                            const size = canvas.getBoundingClientRect();
                            const side = Number(canvas.dataset.cell);
                            const [x, y] = [Number(canvas.dataset.left), Number(canvas.dataset.top)];
                            const by = canvas.width / size.width;
                            const box = [x + side * c + 3, y + side * r + 3, side - 6, side - 6];
                            const { data } = context.getImageData(...box.map((one) => one * by));
                            const pixels = new Uint32Array(data.buffer);
                            const counts = new Map();
                            for (const one of pixels) counts.set(one, (counts.get(one) || 0) + 1);
                            return Math.max(...counts.values()) / pixels.length;
                        },
                        [row, column],
                    );
                yes(weights[3][2] < 0.005 && (await even(3, 2)) === 1, 'a small weight is hatched');
                yes((await even(6, 2)) < 0.9, 'a key outside of the window is not hatched');
                yes((await even(2, 6)) < 0.9, 'a later key is not hatched');
                const legend = await page.innerText('#legend');
                yes(/masked\s+no number: below 0.005/.test(legend), legend);
                await page.click('.chip[data-at="6"]');
                const even_ = await page.$$eval('#profile-rows .tick', (all) =>
                    all.map((one) => parseFloat(one.style.left).toFixed(1)),
                );
                same('50.0', even_[0]); // one of two visible keys
            },
            { viewport: { width: 1440, height: 900 }, colorScheme },
        );
});
