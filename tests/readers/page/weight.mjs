// Size and time to first paint of a page with 12 layers of 12 heads on 128 tokens, the lens and all
// scores; size of a lesson.
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { attn, same, scratch, test, withPage, yes } from './harness.mjs';

const MOST_BYTES = 3.4e6;
const MOST_MILLISECONDS = Number(process.env.PAGE_PAINT || 1000);
const WORDS = Array.from({ length: 128 }, (_, i) => `w${i}`).join(' ');

await test('a page of 12 × 12 heads on 128 tokens is small and painted quickly', async () => {
    const model = join(scratch, 'twelve');
    const path = join(scratch, 'twelve.html');
    const sizes = 'n_layer=12,n_head=12,n_embd=48,n_positions=128';
    execFileSync(attn, ['init', '-q', '--shape', 'tiny', '--set', sizes, '-s', WORDS, '-o', model]);
    const words = ['-q', '-m', model, '-s', WORDS, '--lens', '--scores', 'all'];
    execFileSync(attn, ['page', ...words, '-o', path]);
    const { size } = statSync(path);
    yes(size <= MOST_BYTES, `it has ${size} bytes`);
    await withPage(path, async (page) => {
        // not waitForFunction: it evaluates a string, which the page's policy forbids
        let paint;
        while (paint === undefined)
            paint = await page.evaluate(
                () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
            );
        yes(paint <= MOST_MILLISECONDS, `it is painted after ${paint} ms`);
        same(128, await page.locator('.chip').count());
        same(144, await page.locator('.thumb').count());
        const [scroll, height] = await page
            .locator('#grid')
            .evaluate((grid) => [grid.scrollHeight, grid.clientHeight]);
        yes(scroll >= height && height <= 400, 'heads do not scroll in a box');
        await page.keyboard.press('t');
        for (const light of ['head', 'flow']) {
            await page.click(`#light-${light}`);
            const took = await page.$$eval('#panes button', async (words) => {
                const times = [];
                for (const word of words.filter((_, at) => at % 8 === 7)) {
                    const began = performance.now();
                    word.dispatchEvent(new MouseEvent('mouseenter'));
                    await new Promise(requestAnimationFrame);
                    times.push(performance.now() - began);
                }
                return times.sort((a, b) => a - b)[times.length >> 1];
            });
            yes(took <= MOST_MILLISECONDS / 5, `${light}: another query takes ${took} ms`);
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
