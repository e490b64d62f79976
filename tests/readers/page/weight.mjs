// Size of a page with 12 layers of 12 heads on 128 tokens, the lens and all scores, and the work that
// it does until its first frame and after it; size of a lesson.
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { attn, quiet, same, scratch, tell, test, withPage, yes } from './harness.mjs';

const MOST_BYTES = 3.5e6;
const WORDS = Array.from({ length: 128 }, (_, i) => `w${i}`).join(' ');

await test('a page of 12 × 12 heads on 128 tokens is small, and draws each matrix once', async () => {
    const model = join(scratch, 'twelve');
    const path = join(scratch, 'twelve.html');
    const sizes = 'n_layer=12,n_head=12,n_embd=48,n_positions=128';
    execFileSync(attn, ['init', '-q', '--shape', 'tiny', '--set', sizes, '-s', WORDS, '-o', model]);
    const words = ['-q', '-m', model, '-s', WORDS, '--lens', '--scores', 'all'];
    execFileSync(attn, ['page', ...words, '-o', path]);
    const { size } = statSync(path);
    yes(size <= MOST_BYTES, `it has ${size} bytes`);
    const look = async (page) => {
        // Before the first frame: the large matrix, the colours of the legend and the heads of four
        // layers; then the others.
        const work = () => page.evaluate(() => ({ ...window.work }));
        const first = await work();
        await quiet(page);
        const all = await work();
        same([4 * 12 + 2, 144 + 2], [first, all].map((one) => one.putImageData), 'matrices');
        same([1, 1], [first, all].map((one) => one.drawImage), 'large matrices');
        same(first.decoded, all.decoded, 'decoded tensors');
        yes(first.made < 1200 && all.made < 1700, `${first.made} and ${all.made} elements`);
        same(128, await page.locator('.chip').count());
        same(144, await page.locator('.thumb').count());
        const [scroll, height] = await page
            .locator('#grid')
            .evaluate((grid) => [grid.scrollHeight, grid.clientHeight]);
        yes(scroll >= height && height <= 400, 'heads do not scroll in a box');
        for (const form of ['maps', 'rows']) {
            await page.click(`#form-${form}`);
            await quiet(page);
            const queries = await page.$$eval('.chip', async (words) => {
                const found = [];
                for (const word of words.filter((_, at) => at % 8 === 7))
                    found.push(
                        await window.workOf(async () => {
                            word.dispatchEvent(new MouseEvent('mouseenter'));
                            await window.clock.drawn();
                        }),
                    );
                return found;
            });
            const most = (name) => Math.max(...queries.map((one) => one[name]));
            yes(most('arrays') <= 300, `${form}: ${most('arrays')} arrays for a query`);
            yes(queries.length === 16 && most('decoded') === 0, `${form}: decoded again`);
            yes(most('putImageData') <= 144, `${form}: ${most('putImageData')} matrices for a query`);
            yes(most('made') <= 2 * 128, `${form}: ${most('made')} elements for a query`);
        }
    };
    await withPage(path, look, { still: true, counted: true });
    await withPage(path, async (page) => {
        let paint; // not waitForFunction: it evaluates a string, which the page's policy forbids
        while (paint === undefined)
            paint = await page.evaluate(
                () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
            );
        tell('a page of 144 heads is painted', paint / (await page.evaluate(() => window.clock.loop())));
        for (const form of ['maps', 'rows']) {
            await page.click(`#form-${form}`);
            const took = await page.$$eval('.chip', (words) =>
                window.clock.ratio(
                    words
                        .filter((_, at) => at % 8 === 7)
                        .map((word) => async () => {
                            word.dispatchEvent(new MouseEvent('mouseenter'));
                            await new Promise(requestAnimationFrame);
                        }),
                ),
            );
            tell(`${form}: another query`, took);
        }
    });
});

// They are one program, in which the last of two functions with one name would replace the other.
await test('files of a page have no two names alike', () => {
    const folder = join(process.env.ROOT, 'lib/draw/page');
    const lists = readFileSync(join(folder, 'embed.sh'), 'utf8').matchAll(/scripts='([^']+)'/g);
    for (const [, list] of lists) {
        const files = list.includes('main.js') ? `${list} engine.js live.js` : list;
        const names = files.split(/\s+/).flatMap((file) => {
            const source = readFileSync(join(folder, file), 'utf8');
            const made = source.matchAll(/^(?:async )?(?:function|class|const|let) ([{[].*?[}\]]|\w+)/gm);
            return [...made].flatMap(([, words]) => words.replace(/\w+: /g, '').match(/\w+/g));
        });
        yes(names.length > 50, `${names.length} names`);
        same([], names.filter((name, at) => names.indexOf(name) !== at));
    }
});

await test('a lesson has at most 1.3 MB', () => {
    const path = join(scratch, 'small.html');
    execFileSync(attn, ['lesson', '-o', path]);
    const { size } = statSync(path);
    yes(size <= 1.3e6, `it has ${size} bytes`);
});
